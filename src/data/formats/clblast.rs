//! Results of CLBlast's tuners: a JSON file for each size. The forms in which CLBlast takes parameters are in `tables`.
//!
//! A file names its kernel family, the arguments as texts, the device, and every config that passed with its best time in milliseconds.

mod tables;

pub use tables::{ClblastTable, MARK, PredictedConfig, whole_tiles, write_database, write_header};

use crate::bad_rows::{BadRows, Twice};
use crate::dataset::{Dataset, Header};
use crate::formats::listed::{self, CUT, Listed};
use crate::formats::opened::OpenedText;
use crate::formats::origins::Origins;
use crate::formats::values::{self, NamedValue};
use crate::recipe::Provenance;
use crate::record::{Measurement, Outcome, Record};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::limits::SAMPLE_US;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Limits, Problem};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// Result of an import.
pub struct ImportedClblast {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of configs in the files.
    pub rows: usize,
    /// Configs of a problem that an earlier row has.
    pub twice: Twice,
    /// Number of configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Configs of files that differ in what the kernel has no field for, or of another program.
    pub unsaid: BadRows,
    /// Rows whose problem or config is none of the kernel's, or whose time cannot be.
    pub bad: BadRows,
}

/// Parameters that are no choice of a tuner.
const FIXED: [&str; 1] = ["PRECISION"];

/// Least time that the tuners tell, in milliseconds: they write three decimals.
const STEP: f64 = 1e-3;

/// Steps of a file's least time up to which a time of 0 is one below the step.
const FEW: f64 = 5.0;

/// Kernel family of a file, as `xgemm_direct`, without the number of the tuner's part.
///
/// # Errors
/// [`Error::Input`] where the text is no result of a tuner.
pub fn family(text: &str) -> Result<String> {
    Ok(bare(&read(text)?))
}

fn bare(file: &Listed) -> String {
    let name = word(file, "kernel_family");
    name.rsplit_once('_').filter(|(_, part)| part.parse::<u32>().is_ok()).map_or(name, |(bare, _)| bare).to_string()
}

/// A text of a file; empty where it has none of this name.
fn word<'f>(file: &'f Listed, key: &str) -> &'f str {
    file.members.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Device of a file as it tells of it: name, compute units, clock, and whether it is a CPU.
///
/// # Errors
/// [`Error::Input`] where the text is no result of a tuner.
pub fn device(text: &str) -> Result<Device> {
    let file = read(text)?;
    let word = |key: &str| word(&file, key).to_string();
    let number = |key: &str| word(key).parse::<f64>().ok().filter(|x| *x > 0.0);
    let is_cpu = word("device_type") == "CPU";
    let limits = Limits {
        compute_units: number("device_compute_units"),
        clock_mhz: number("device_core_clock"),
        is_cpu: Some(is_cpu as u8 as f64),
        ..Limits::default()
    };
    let device = Device {
        aliases: Vec::new(),
        name: word("device"),
        vendor: word("device_vendor"),
        architecture: if is_cpu { "cpu".into() } else { word("clblast_device_architecture") },
        driver: word("platform_version").split(',').next().unwrap_or_default().trim().to_string(),
        source: "told by CLBlast's tuner".into(),
        limits,
    };
    device.check()?;
    Ok(device)
}

fn read(text: &str) -> Result<Listed> {
    let no = |why: &str| Error::Input(format!("is no result of a tuner of CLBlast: {why}"));
    let file = listed::read(text, "results").map_err(|e| no(&e.to_string()))?;
    match file.members.get("kernel_family").is_some_and(Value::is_string) {
        true => Ok(file),
        false => Err(no("it has no kernel_family")),
    }
}

/// What files tell of themselves, the first that cannot be read left out unless there is no other: whose kernel family and whose device they are.
///
/// # Errors
/// [`Error::Input`] where files are of two families or two devices, or none can be read.
pub fn origins(files: &[OpenedText]) -> Result<Origins> {
    let (mut origins, mut first) = (Origins::default(), None);
    for OpenedText { place, text } in files {
        match read(text) {
            Ok(file) => {
                let device = Some(word(&file, "device")).filter(|name| !name.is_empty());
                origins.add(place, Some(&bare(&file)), device)?;
            }
            Err(e) => first = first.or(Some(e.at_place(place))),
        }
    }
    match (origins.kernel().is_some(), first) {
        (false, Some(e)) => Err(e),
        _ => Ok(origins),
    }
}

/// Imports files of one kernel and device. A file that cannot be read is left out and counted.
///
/// # Errors
/// [`Error::Input`] where a file is of another kernel family.
pub fn import(kernel: &Kernel, device: &Device, files: &[OpenedText], command: String) -> Result<ImportedClblast> {
    let tool = "CLBlast's tuner: the best of its runs, in steps of 1 us".into();
    let places = files.iter().map(|file| file.place.clone()).collect();
    let header = Header::new(kernel, device, 0, Provenance::Imported { tool, files: places }, command);
    let imported = ImportedClblast {
        dataset: Dataset { header, records: Vec::new() },
        rows: 0,
        twice: Twice::default(),
        left_out: BTreeMap::new(),
        unsaid: BadRows::default(),
        bad: BadRows::default(),
    };
    let mut importer =
        ClblastImporter { kernel, device, places: HashMap::new(), first: Map::new(), program: None, imported };
    for OpenedText { place, text } in files {
        match read(text) {
            Ok(file) => importer.add(place, &file).map_err(|e| e.at_place(place))?,
            Err(e) => importer.bad_row(&e.to_string(), place),
        }
    }
    Ok(importer.imported)
}

/// An import while it runs.
struct ClblastImporter<'k> {
    kernel: &'k Kernel,
    device: &'k Device,
    /// Where in the records a problem and config stand.
    places: HashMap<(String, String), usize>,
    /// Arguments of the first file that are no field of the kernel.
    first: Map<String, Value>,
    /// Name of the first program.
    program: Option<String>,
    imported: ImportedClblast,
}

impl ClblastImporter<'_> {
    fn bad_row(&mut self, reason: &str, place: &str) {
        self.imported.rows += 1;
        self.imported.bad.add(reason, place);
    }

    /// Adds a file.
    fn add(&mut self, place: &str, file: &Listed) -> Result<()> {
        let family = bare(file);
        if family != self.kernel.name {
            return input(format!("is of the tuner {}, not of {}", quote(&family), self.kernel.name));
        }
        if file.is_cut {
            self.bad_row(CUT, &format!("{place}, result {}", file.rows.len() + 1));
        }
        self.imported.rows += file.rows.len();
        if let Some(reason) = self.differs(file) {
            file.rows.iter().for_each(|_| self.imported.unsaid.add(&reason, place));
            return Ok(());
        }
        match problem(self.kernel, file) {
            Ok(problem) => self.add_rows(place, &problem, &file.rows),
            Err(e) => file.rows.iter().for_each(|_| self.imported.bad.add(&e.to_string(), place)),
        }
        Ok(())
    }

    /// An argument of a file that is another than that of the first, where the kernel has no field for it.
    fn differs(&mut self, file: &Listed) -> Option<String> {
        let is_field = |key: &str| self.kernel.fields.iter().any(|field| key_of(&field.name) == key);
        let own = file.members.iter().filter(|(key, _)| key.starts_with("arg_") && !is_field(key));
        let own: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        if self.first.is_empty() {
            self.first = own;
            return None;
        }
        let other = own.iter().find(|(key, value)| self.first.get(*key).is_some_and(|first| first != *value));
        let (key, value) = other?;
        let (key, value, first) = (quote(key), quote(&value.to_string()), quote(&self.first[key].to_string()));
        Some(format!("{key} is `{value}` and not {first} as in the first file, and the kernel has no field for it"))
    }

    /// Adds the rows of a problem.
    fn add_rows(&mut self, place: &str, problem: &Problem, rows: &[Value]) {
        let space = ConfigSpace::new(self.kernel, problem, self.device);
        let shown = self.kernel.show_problem(problem);
        let above = rows.iter().filter_map(ms).filter(|ms| *ms > 0.0);
        let least = above.fold(f64::INFINITY, f64::min);
        for (at, row) in rows.iter().enumerate() {
            let place = format!("{place}, result {}", at + 1);
            let program = row["kernel"].as_str().unwrap_or_default();
            let first = self.program.get_or_insert_with(|| program.into());
            if first != program {
                let reason = format!("it is of the program `{}`, not of {}", quote(program), quote(first));
                self.imported.unsaid.add(&reason, &place);
                continue;
            }
            let read = config(self.kernel, &row["parameters"]).and_then(|config| Ok((config, time_us(row, least)?)));
            match read {
                Ok((config, us)) => match space.violation(&config) {
                    Some(reason) => *self.imported.left_out.entry(reason).or_default() += 1,
                    None => self.book(&shown, self.kernel.show_config(&config), us),
                },
                Err(e) => self.imported.bad.add(&e.to_string(), &place),
            }
        }
    }

    /// Adds a record, or a sample to that of the same problem and config.
    fn book(&mut self, problem: &str, config: String, us: f32) {
        let records = &mut self.imported.dataset.records;
        let at = *self.places.entry((problem.into(), config.clone())).or_insert(records.len());
        if let Some(Outcome::Measured(known)) = records.get_mut(at).map(|record| &mut record.outcome) {
            match known.samples_us.contains(&us) {
                true => self.imported.twice.same += 1,
                false => {
                    known.samples_us.push(us);
                    self.imported.twice.again += 1;
                }
            }
            return;
        }
        let outcome = Outcome::Measured(Measurement { samples_us: vec![us], energy: None });
        let (problem, config) = (problem.into(), config.into());
        records.push(Record { problem, config, outcome, observed: Default::default() });
    }
}

/// Milliseconds of a row.
fn ms(row: &Value) -> Option<f64> {
    row["time"].as_f64().or_else(|| row["time"].as_str()?.trim().parse().ok())
}

/// Microseconds of a row of a file whose least time above 0 is `least` milliseconds.
fn time_us(row: &Value, least: f64) -> Result<f32> {
    match ms(row) {
        Some(0.0) if least <= FEW * STEP => Ok((STEP / 2.0 * 1e3) as f32),
        Some(0.0) => input("its time is 0 beside others of many steps of the clock"),
        Some(ms) if ms * 1e3 > SAMPLE_US => input(format!("its time is `{ms:e}` ms, over thirty days")),
        Some(ms) if ms > 0.0 => Ok((ms * 1e3) as f32),
        _ => input("its time is no number of 0 or more"),
    }
}

/// What a file calls a field: `arg_m` and so on, and its precision.
fn key_of(field: &str) -> String {
    if field == "precision" { "precision".into() } else { format!("arg_{}", field.to_lowercase()) }
}

/// The problem of a file.
fn problem(kernel: &Kernel, file: &Listed) -> Result<Problem> {
    let told = |name: &str| file.members.get(&key_of(name));
    let fields = kernel.fields.iter().filter_map(|field| Some((field, told(&field.name)?)));
    // as JSON, where a text is a value and never another field
    let pairs: Map<String, Value> =
        fields.map(|(field, value)| (field.name.clone(), values::field(field, value).into())).collect();
    kernel.problem(&Value::Object(pairs).to_string())
}

fn config(kernel: &Kernel, parameters: &Value) -> Result<Config> {
    let Some(named) = parameters.as_object() else { return input("a result has no parameters") };
    let named = named.iter().filter(|(name, _)| !FIXED.contains(&name.as_str()));
    values::config(kernel, named.map(|(name, value)| NamedValue { name, value }))
}
