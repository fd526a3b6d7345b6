//! Databases' rows as datasets: one per device and solver.

use crate::bad_rows::{BadRows, Counts};
use crate::dataset::{Dataset, Header};
use crate::formats::miopen::convolution::{Convolution, FLAT};
use crate::formats::miopen::names::Named;
use crate::formats::miopen::params::Columns;
use crate::formats::miopen::rows::{Row, SolverName, Times};
use crate::recipe::Provenance;
use crate::record::{Outcome, Record, Tuned};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Checker, Config, Device, Kernel, Problem};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What to import and how.
pub struct MiopenOptions<'a> {
    /// Solvers wanted, without arguments; all that have a kernel where empty.
    pub solvers: &'a [String],
    /// By the name of the device that they were measured on.
    pub times: &'a BTreeMap<String, Times>,
    /// Whether it is counted how many records keep each rule.
    pub rules: bool,
    /// Command line, kept with the datasets.
    pub command: String,
}

/// The rows of a database.
#[derive(Clone, Debug)]
pub struct NamedRows {
    /// Its name in messages.
    pub place: String,
    /// Device that it was tuned on.
    pub device: Device,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// The datasets, and what became of the rows.
#[derive(Default)]
pub struct ImportedMiopen {
    /// By device and solver.
    pub datasets: BTreeMap<(String, String), Dataset>,
    /// Rows read.
    pub rows: usize,
    /// Records that carry a time.
    pub timed: usize,
    /// Rows that one of a later file for the same problem on the same device took the place of.
    pub replaced: usize,
    /// Rows behind an earlier line of their key or an earlier entry of their solver, which MIOpen does not read, unless they say the same.
    pub hidden: usize,
    /// Rows that say what an earlier one says.
    pub repeated: usize,
    /// By device and solver, the last of the replaced and hidden results of each problem: the same problems, tuned another time.
    pub again: BTreeMap<(String, String), Dataset>,
    /// Rows left out, by solver and reason.
    pub left_out: BTreeMap<(String, String), Counts>,
    /// Times that cannot be stored.
    pub bad: BadRows,
    /// By device and solver, its rules and constraints; empty unless they were asked for.
    pub rules: BTreeMap<(String, String), Vec<Kept>>,
}

/// A rule or a constraint of a solver, and how many records of a device keep it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Kept {
    /// Its expression, and why it is there.
    pub rule: String,
    /// Records that keep it.
    pub kept: usize,
    /// Records whose problem and config can be read.
    pub records: usize,
}

impl ImportedMiopen {
    fn count(&mut self, solver: &Solver, row: &Row, argument: Option<&str>, device: &Device) {
        let Some(kept) = solver.rules_kept(row, argument, device) else { return };
        let new = || {
            let rules = solver.kernel.rules.iter().chain(&solver.kernel.constraints);
            rules.map(|rule| Kept { rule: rule.to_string(), kept: 0, records: 0 }).collect()
        };
        let counts: &mut Vec<Kept> =
            self.rules.entry((device.name.clone(), solver.kernel.name.clone())).or_insert_with(new);
        for (count, kept) in counts.iter_mut().zip(kept) {
            count.records += 1;
            count.kept += usize::from(kept);
        }
    }
}

struct Solver<'k> {
    kernel: &'k Kernel,
    columns: Columns<'k>,
    checker: Checker,
}

/// Milliseconds by what SQLite tells of a convolution; `None` where several outputs' sizes share it.
fn by_input(times: &Times) -> HashMap<(Convolution, &str), Option<f64>> {
    let mut known: HashMap<(Convolution, &str), Option<f64>> = HashMap::new();
    for ((convolution, solver), ms) in times {
        known.entry((convolution.without_output(), solver.as_str())).and_modify(|ms| *ms = None).or_insert(Some(*ms));
    }
    known
}

/// Reads databases into datasets. A row that no kernel describes, or that
/// breaks a rule of its kernel, is left out and counted. Of several rows for one problem on one device the first of a file stays, as in MIOpen
/// itself, and of several files the last.
///
/// # Errors
/// [`Error::Kernel`](seqtune_predict::Error::Kernel) where a solver's kernel cannot be read.
pub fn import(databases: &[NamedRows], ask: &MiopenOptions, progress: &mut dyn FnMut(usize)) -> Result<ImportedMiopen> {
    let kernels = kernels(databases)?;
    let mut solvers: HashMap<&str, Solver> = HashMap::new();
    for (name, kernel) in &kernels {
        let solver = Solver { kernel, columns: Columns::new(kernel)?, checker: Checker::new(kernel) };
        solvers.insert(name, solver);
    }
    let mut importer = MiopenImporter {
        ask,
        solvers,
        places: HashMap::new(),
        again: BTreeMap::new(),
        imported: ImportedMiopen::default(),
    };
    let none = Times::new();
    for NamedRows { place, device, rows } in databases {
        let times = ask.times.get(&device.name).unwrap_or(&none);
        let database = Database { place, device, times, by_input: by_input(times) };
        for row in rows {
            importer.add(&database, row);
            let rows = importer.imported.rows;
            if rows.is_multiple_of(5_000) && rows > 0 {
                progress(rows);
            }
        }
    }
    let mut imported = importer.imported;
    for ((device, solver, _), record) in importer.again {
        let of = (device, solver);
        let Some(kept) = imported.datasets.get(&of) else { continue };
        let new = || Dataset { header: kept.header.clone(), records: Vec::new() };
        imported.again.entry(of).or_insert_with(new).records.push(record);
    }
    let records = imported.datasets.values().flat_map(|d| &d.records);
    imported.timed = records.filter(|r| r.outcome.time_us().is_some()).count();
    Ok(imported)
}

/// The kernels that describe any of the rows' solvers.
fn kernels(databases: &[NamedRows]) -> Result<BTreeMap<String, Kernel>> {
    let rows = databases.iter().flat_map(|database| &database.rows);
    let names: BTreeSet<&str> = rows.map(|row| SolverName::read(&row.solver).name).collect();
    let found = names.into_iter().map(|name| Ok((name.to_string(), Kernel::find(name)?)));
    let found: Vec<(String, Option<Kernel>)> = found.collect::<Result<_>>()?;
    Ok(found.into_iter().filter_map(|(name, kernel)| Some((name, kernel?))).collect())
}

/// Where rows come from.
struct Database<'a> {
    place: &'a str,
    device: &'a Device,
    /// Milliseconds by convolution and solver.
    times: &'a Times,
    by_input: HashMap<(Convolution, &'a str), Option<f64>>,
}

impl Database<'_> {
    /// Milliseconds of a row's config, where the find database knows them.
    fn ms(&self, row: &Row) -> Option<f64> {
        match row.convolution.output {
            Some(_) => self.times.get(&(row.convolution.clone(), row.solver.clone())).copied(),
            None => self.by_input.get(&(row.convolution.clone(), row.solver.as_str())).copied().flatten(),
        }
    }
}

/// The datasets while they are filled.
struct MiopenImporter<'a> {
    ask: &'a MiopenOptions<'a>,
    solvers: HashMap<&'a str, Solver<'a>>,
    /// By device, solver and problem, the place in its dataset.
    places: HashMap<(String, String, String), usize>,
    /// By device, solver and place, another result of that problem.
    again: BTreeMap<(String, String, usize), Record>,
    imported: ImportedMiopen,
}

impl MiopenImporter<'_> {
    /// Adds a row to its dataset, or counts why it is left out.
    fn add(&mut self, database: &Database, row: &Row) {
        let SolverName { name, argument } = SolverName::read(&row.solver);
        let MiopenImporter { ask, solvers, imported, .. } = self;
        if !ask.solvers.is_empty() && !ask.solvers.iter().any(|s| s == name) {
            return;
        }
        imported.rows += 1;
        if let (true, Some(solver)) = (ask.rules, solvers.get(name)) {
            imported.count(solver, row, argument, database.device);
        }
        let of_another = row.of.as_ref().filter(|(architecture, units)| {
            !Named { architecture: architecture.clone(), units: *units }.is(database.device)
        });
        let found = match solvers.get(name) {
            _ if of_another.is_some() => {
                let (architecture, units) = row.of.clone().unwrap_or_default();
                Err(format!("it is of another device, {architecture} with {units} compute units"))
            }
            Some(solver) => solver.read(row, argument, database.device).map(|found| (solver.kernel, found)),
            None => Err("no kernel describes this solver".into()),
        };
        match found {
            Ok((kernel, (problem, config))) => {
                let time_us = database.ms(row).map(|ms| (ms * 1e3) as f32);
                // what is finite in double precision may be 0 or infinite in single
                let time_us = time_us.filter(|us| us.is_normal() && *us > 0.0).or_else(|| {
                    let ms = database.ms(row)?;
                    imported.bad.add(&format!("its time of `{ms}` ms is beyond single precision"), database.place);
                    None
                });
                let record = Record {
                    problem: kernel.show_problem(&problem).into(),
                    config: kernel.show_config(&config).into(),
                    outcome: Outcome::Tuned(Tuned { time_us }),
                    observed: Default::default(),
                };
                self.record(database, kernel, name, row.is_hidden, record);
            }
            Err(reason) => {
                imported.left_out.entry((name.into(), reason)).or_default().add(|| {
                    let Convolution { direction, dtype, dimensions, sizes, .. } = &row.convolution;
                    let sizes = if *dimensions == 3 { &sizes[..] } else { &sizes[..FLAT] };
                    let (place, params) = (database.place, &row.params);
                    format!("{place}: {direction} {dtype} {sizes:?} {}:{params}", row.solver)
                });
            }
        }
    }

    /// Adds a record; it takes the place of an earlier one of the same problem, unless it is hidden behind that.
    fn record(&mut self, database: &Database, kernel: &Kernel, solver: &str, is_hidden: bool, record: Record) {
        let device = &database.device.name;
        let new = || Dataset { header: header(kernel, database.device, database.place, self.ask), records: Vec::new() };
        let dataset = self.imported.datasets.entry((device.clone(), solver.to_string())).or_insert_with(new);
        if let Provenance::Imported { files, .. } = &mut dataset.header.provenance
            && !files.iter().any(|file| file == database.place)
        {
            files.push(database.place.into());
        }
        match self.places.entry((device.clone(), solver.to_string(), record.problem.to_string())) {
            Entry::Occupied(at) if dataset.records[*at.get()] == record => {
                self.imported.repeated += 1;
                if is_hidden {
                    // tuned twice, to the same config
                    self.again.entry((device.clone(), solver.to_string(), *at.get())).or_insert(record);
                }
            }
            Entry::Occupied(at) => {
                let other = match is_hidden {
                    true => record,
                    false => std::mem::replace(&mut dataset.records[*at.get()], record),
                };
                *(if is_hidden { &mut self.imported.hidden } else { &mut self.imported.replaced }) += 1;
                self.again.insert((device.clone(), solver.to_string(), *at.get()), other);
            }
            // the one that MIOpen reads is no config of the kernel
            Entry::Vacant(_) if is_hidden => self.imported.hidden += 1,
            Entry::Vacant(at) => {
                at.insert(dataset.records.len());
                dataset.records.push(record);
            }
        }
    }
}

fn header(kernel: &Kernel, device: &Device, place: &str, ask: &MiopenOptions) -> Header {
    let tool = "MIOpen's search: the best config that it found".into();
    let provenance = Provenance::Imported { tool, files: vec![place.into()] };
    Header::new(kernel, device, 0, provenance, ask.command.clone())
}

impl Solver<'_> {
    /// Problem and config of a row, or the rule that it breaks.
    fn read(
        &self,
        row: &Row,
        argument: Option<&str>,
        device: &Device,
    ) -> std::result::Result<(Problem, Config), String> {
        if !row.convolution.beyond.is_empty() {
            return Err(format!("a convolution with {}", row.convolution.beyond));
        }
        self.kernel.check_device(device).map_err(|e| e.to_string())?;
        let problem = row.convolution.problem(self.kernel, argument).map_err(|e| e.to_string())?;
        if let Some(rule) = self.checker.broken_rule(&self.kernel.env(&problem, None)) {
            return Err(rule.to_string());
        }
        let config = self.columns.read(&problem, &row.params).map_err(|e| e.to_string())?;
        match self.checker.broken_constraint(&self.kernel.env_of(&problem, Some(device), &config)) {
            Some(constraint) => Err(constraint.to_string()),
            None => Ok((problem, config)),
        }
    }

    /// Whether each rule and each constraint is kept by a row whose problem and config can be read; `None` of another row.
    fn rules_kept(&self, row: &Row, argument: Option<&str>, device: &Device) -> Option<Vec<bool>> {
        let problem = row.convolution.problem(self.kernel, argument).ok()?;
        let config = self.columns.read(&problem, &row.params).ok()?;
        let envs = [self.kernel.env(&problem, None), self.kernel.env_of(&problem, Some(device), &config)];
        Some(self.checker.rules_kept(&envs[0], &envs[1]))
    }
}
