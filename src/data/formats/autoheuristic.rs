//! Measurements of PyTorch's AutoHeuristic: a line of JSON metadata, then CSV with a row per config and run.
//!
//! The columns before `choice` are the problem. `choice` is a Triton config (`type=triton_BLOCK-M=64_…`) or a kernel of the vendor's
//! library (`extern_…`). `feedback` is the time in milliseconds.

use crate::bad_rows::BadRows;
use crate::dataset::{Dataset, Header};
use crate::formats::opened::OpenedText;
use crate::formats::values::FieldSource;
use crate::observed::Observed;
use crate::recipe::Provenance;
use crate::record::{InvalidityKind, Measurement, Outcome, Record};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::limits::SAMPLE_US;
use seqtune_kernel::{Device, Kernel};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Metadata in the first line of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Head {
    /// Most shared memory of a work-group in bytes.
    shared_memory: f64,
    /// Compute capability.
    device_capa: (u32, u32),
    /// Name of the kernel.
    name: String,
}

/// Result of an import.
pub struct ImportedAutoHeuristic {
    /// Kernel of the records.
    pub kernel: Kernel,
    /// Imported records.
    pub dataset: Dataset,
    /// Number of rows in the files.
    pub rows: usize,
    /// Number of rows identical to an earlier row, which are skipped.
    pub repeated: usize,
    /// Number of configs without a finite time.
    pub failed: usize,
    /// Number of problems with a time of the vendor's library.
    pub references: usize,
    /// Number of rows with configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Rows that cannot be read, or whose problem or config is none of the kernel's.
    pub bad: BadRows,
}

/// What an import is asked for beside the files.
#[derive(Default)]
pub struct AutoHeuristicOptions {
    /// Device that was measured on; the metadata has to identify one of the described devices without it.
    pub device: Option<Device>,
    /// Fields that the files have no column for, each with a column or a value.
    pub set: Vec<FieldSource>,
    /// Command line, kept with the dataset.
    pub command: String,
}

/// Times of one problem.
#[derive(Default)]
struct Measured {
    /// Configs as text with times in milliseconds, in order of appearance.
    configs: Vec<(String, Vec<f64>)>,
    /// Times of the vendor's library in milliseconds.
    library: Vec<f64>,
}

/// Rows of all files.
#[derive(Default)]
struct FileRows {
    head: Option<Head>,
    columns: String,
    /// Problems as text, in order of appearance.
    order: Vec<String>,
    measured: HashMap<String, Measured>,
    rows: usize,
    repeated: usize,
    bad: BadRows,
}

/// The metadata and the line of columns that a file begins with.
fn head(text: &str) -> Result<(Head, &str)> {
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(|e| {
        let what = "is no file of AutoHeuristic: its first line is not the JSON it begins with";
        Error::Input(format!("{what} ({e})"))
    })?;
    let columns = lines.next().unwrap_or_default();
    match columns.ends_with(",choice,feedback") {
        true => Ok((head, columns)),
        false => input("line 2: the last columns are not choice and feedback"),
    }
}

/// Refuses a text that is no file of AutoHeuristic.
///
/// # Errors
/// [`Error::Input`] with what it does not begin with.
pub fn check(text: &str) -> Result<()> {
    head(text).map(drop)
}

impl FileRows {
    /// Adds the rows of a file; `seen` holds those of all files so far.
    fn read<'t>(&mut self, file: &'t OpenedText, set: &[FieldSource], seen: &mut HashSet<&'t str>) -> Result<()> {
        let OpenedText { place, text } = file;
        let (head, columns) = head(text).map_err(|e| e.at_place(place))?;
        match &self.head {
            None => (self.head, self.columns) = (Some(head), columns.into()),
            Some(first) if *first != head => {
                return input(format!(
                    "{place}: holds {} of another device or kernel than the files before",
                    head.name
                ));
            }
            Some(_) if self.columns != columns => {
                return input(format!("{place}, line 2: the columns are not those of the files before"));
            }
            Some(_) => {}
        }
        let fields: Vec<&str> = columns.split(',').collect();
        let rest = text.splitn(3, '\n').nth(2).unwrap_or_default();
        // a quotation mark is a character like others: one that is never closed would take all rows behind it
        let mut reader =
            csv::ReaderBuilder::new().quoting(false).has_headers(false).flexible(true).from_reader(rest.as_bytes());
        let mut record = csv::StringRecord::new();
        loop {
            let begin = reader.position().byte() as usize;
            if !reader.read_record(&mut record).map_err(|e| Error::Input(format!("{place}: {e}")))? {
                return Ok(());
            }
            self.rows += 1;
            let row = &rest[begin..reader.position().byte() as usize];
            let breaks = ['\r', '\n'];
            // counted for errors alone; empty lines stand before the row
            let line = || 3 + rest[..begin].matches('\n').count() + leading_breaks(row);
            if !seen.insert(row.trim_matches(breaks)) {
                self.repeated += 1;
            } else if let Err(e) = self.add(&fields, set, &record) {
                self.bad.add(&e.to_string(), &format!("{place}, line {}", line()));
            }
        }
    }

    fn add(&mut self, fields: &[&str], set: &[FieldSource], record: &csv::StringRecord) -> Result<()> {
        let cells: Vec<&str> = record.iter().collect();
        let [problem @ .., choice, feedback] = &cells[..] else { return input("has too few columns") };
        if cells.len() != fields.len() {
            return input(format!("has {} columns, not {}", cells.len(), fields.len()));
        }
        let milliseconds: f64 = feedback.parse().map_err(|_| Error::Input(format!("`{feedback}` is no time")))?;
        let stored = (milliseconds * 1e3) as f32;
        // inf is what a config that failed takes
        if !(milliseconds == f64::INFINITY || stored.is_normal() && stored > 0.0) {
            return input(format!("`{feedback}` is no time above 0"));
        }
        if milliseconds.is_finite() && milliseconds * 1e3 > SAMPLE_US {
            return input(format!("a time of `{feedback}` ms is over thirty days"));
        }
        let pair = |(field, value): (&&str, &&str)| format!("{field}={}", value.trim_start_matches("torch."));
        let column = |name: &str| fields.iter().position(|f| *f == name).and_then(|at| problem.get(at));
        let more = set
            .iter()
            .map(|FieldSource { field, from }| format!("{field}={}", column(from).map_or(from.as_str(), |v| v)));
        let problem = fields.iter().zip(problem).map(pair).chain(more).collect::<Vec<_>>().join(",");
        let entry = self.measured.entry(problem.clone()).or_insert_with(|| {
            self.order.push(problem);
            Measured::default()
        });
        if choice.starts_with("extern_") {
            entry.library.push(milliseconds);
            return Ok(());
        }
        let Some(config) = config(choice) else { return input(format!("`{choice}` is no config")) };
        match entry.configs.iter_mut().find(|(c, _)| *c == config) {
            Some((_, times)) => times.push(milliseconds),
            None => entry.configs.push((config, vec![milliseconds])),
        }
        Ok(())
    }
}

impl FileRows {
    /// Refuses files that lack a field of the kernel.
    fn check_columns(&self, kernel: &Kernel, set: &[FieldSource]) -> Result<()> {
        let columns: Vec<&str> = self.columns.split(',').collect();
        let is_there = |name: &str| columns.contains(&name) || set.iter().any(|source| source.field == name);
        match kernel.fields.iter().find(|f| f.default.is_none() && !is_there(&f.name)) {
            Some(field) => input(format!(
                "the files have no column `{0}`, which kernel {1} needs; name the column that holds it, or its value, with --set {0}=COLUMN (there \
                 are {2})",
                field.name, kernel.name, self.columns
            )),
            None => Ok(()),
        }
    }
}

/// Imports files of one kernel. Rows that cannot be read are left out and counted.
///
/// # Errors
/// [`Error::Input`] where a file is of another kind, no kernel or device fits, or a field of the kernel has no column.
pub fn import(files: &[OpenedText], ask: AutoHeuristicOptions) -> Result<ImportedAutoHeuristic> {
    let (mut read, mut seen) = (FileRows::default(), HashSet::new());
    for file in files {
        read.read(file, &ask.set, &mut seen)?;
    }
    let Some(head) = &read.head else { return input("there is no file to import") };
    let kernel = Kernel::find(&format!("triton_{}", quote(&head.name)))?.ok_or_else(|| {
        Error::Input(format!("there is no kernel triton_{}: write a kernel.toml of its space", quote(&head.name)))
    })?;
    read.check_columns(&kernel, &ask.set)?;
    let AutoHeuristicOptions { device, command, .. } = ask;
    let device = match device {
        Some(device) => fits(head, &device).map(|()| device)?,
        None => device_of(head)?,
    };
    let places = files.iter().map(|file| file.place.clone()).collect();
    let provenance = Provenance::Imported { tool: "PyTorch's AutoHeuristic".into(), files: places };
    let header = Header::new(&kernel, &device, 0, provenance, command);
    let mut imported = ImportedAutoHeuristic {
        kernel,
        dataset: Dataset { header, records: Vec::new() },
        rows: read.rows,
        repeated: read.repeated,
        failed: 0,
        references: 0,
        left_out: BTreeMap::new(),
        bad: read.bad,
    };
    for problem in &read.order {
        imported.add(problem, &read.measured[problem]);
    }
    Ok(imported)
}

impl ImportedAutoHeuristic {
    /// Adds the records of a problem.
    fn add(&mut self, problem: &str, measured: &Measured) {
        let kernel = &self.kernel;
        let place = |config: &str| format!("{problem} {config}");
        let read = match kernel.problem(problem) {
            Ok(read) => read,
            Err(e) => {
                let rows = measured.configs.iter().flat_map(|(config, times)| times.iter().map(move |_| config));
                rows.for_each(|config| self.bad.add(&e.to_string(), &place(config)));
                return;
            }
        };
        let space = seqtune_kernel::ConfigSpace::new(kernel, &read, &self.dataset.header.device);
        let shown = kernel.show_problem(&read);
        let library_us = least(&measured.library).map(|milliseconds| (milliseconds * 1e3) as f32);
        self.references += library_us.is_some() as usize;
        for (config, times) in &measured.configs {
            let config = match kernel.config(config) {
                Ok(config) => config,
                Err(e) => {
                    times.iter().for_each(|_| self.bad.add(&e.to_string(), &place(config)));
                    continue;
                }
            };
            if let Some(rule) = space.broken(&config) {
                *self.left_out.entry(rule.to_string()).or_insert(0) += times.len();
                continue;
            }
            let finite = times.iter().filter(|t| t.is_finite());
            let samples_us: Vec<f32> = finite.map(|milliseconds| (milliseconds * 1e3) as f32).collect();
            let outcome = match samples_us.is_empty() {
                true => {
                    self.failed += 1;
                    Outcome::invalid(InvalidityKind::Runtime, "recorded as taking for ever")
                }
                false => Outcome::Measured(Measurement { samples_us, energy: None }),
            };
            let observed = Observed { library_us, ..Observed::default() };
            let (problem, config) = (shown.clone(), kernel.show_config(&config));
            self.dataset.records.push(Record { problem: problem.into(), config: config.into(), outcome, observed });
        }
    }
}

/// Line breaks before the first character of a row.
fn leading_breaks(row: &str) -> usize {
    let text = row.trim_start_matches(['\r', '\n']);
    row[..row.len() - text.len()].matches('\n').count()
}

/// Parses `type=triton_BLOCK-M=16_BLOCK-K=-1_numwarps=2` into `name=value` pairs, without parameters of value -1.
fn config(choice: &str) -> Option<String> {
    let pairs = choice.strip_prefix("type=triton_")?.split('_').map(|pair| pair.split_once('='));
    let pairs: Vec<(&str, &str)> = pairs.collect::<Option<_>>()?;
    let own = pairs.into_iter().filter(|(_, value)| *value != "-1");
    Some(own.map(|(name, value)| format!("{}={value}", name.replace('-', "_"))).collect::<Vec<_>>().join(","))
}

/// Refuses a device that cannot be the one of the metadata. Files that are made of a log, by scripts/integrations/inductor_log.py, tell none.
fn fits(head: &Head, device: &Device) -> Result<()> {
    if head.device_capa == (0, 0) {
        return Ok(());
    }
    let architecture = format!("sm_{}{}", head.device_capa.0, head.device_capa.1);
    let other = device.architecture.starts_with("sm_") && device.architecture != architecture;
    match other || device.limits.local_memory_opt_in.is_some_and(|bytes| bytes != head.shared_memory) {
        true => input(format!(
            "the files tell a device of {architecture} with {} bytes, and --device names {}, which is none",
            head.shared_memory, device.name
        )),
        false => Ok(()),
    }
}

/// Finds the described device with the architecture and shared memory of the metadata.
fn device_of(head: &Head) -> Result<Device> {
    let architecture = format!("sm_{}{}", head.device_capa.0, head.device_capa.1);
    let fits = |d: &Device| d.architecture == architecture && d.limits.local_memory_opt_in == Some(head.shared_memory);
    let mut fitting: Vec<Device> = Device::all_shipped()?.into_iter().filter(fits).collect();
    match (fitting.pop(), fitting.is_empty()) {
        (Some(device), true) => Ok(device),
        (None, _) => input(format!(
            "no described device is {architecture} with {} bytes; name it with --device",
            head.shared_memory
        )),
        (Some(_), false) => {
            input(format!("several devices are {architecture}; say with --device which it was measured on"))
        }
    }
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|v| v.is_finite()).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"shared_memory": 166912, "device_capa": [8, 0], "name": "mm", "numerical_features": []}
m,k,n,mat1_dtype,mat2_dtype,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_iscontig,mat2_iscontig,using_tf32,choice,feedback
"#;
    const PROBLEM: &str = "64,32,48,torch.float16,torch.float16,32,1,48,1,True,True,not_float_32";

    fn read(rows: &[&str]) -> Result<ImportedAutoHeuristic> {
        let rows: String = rows.iter().map(|row| format!("{PROBLEM},{row}\n")).collect();
        import(&[OpenedText { place: "a.txt".into(), text: format!("{HEAD}{rows}") }], AutoHeuristicOptions::default())
    }

    #[test]
    fn rows_become_records_with_their_repeats_and_the_librarys_time_beside() {
        let config = "type=triton_BLOCK-M=16_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2";
        let other = "type=triton_BLOCK-M=64_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2";
        let big = "type=triton_BLOCK-M=128_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2";
        let rows = [
            "extern_mm,0.01".to_string(),
            format!("{config},0.02"),
            format!("{config},0.02"),
            format!("{config},0.03"),
            format!("{other},inf"),
            format!("{big},0.5"),
        ];
        let imported = read(&rows.each_ref().map(String::as_str)).unwrap();
        assert_eq!((imported.rows, imported.repeated, imported.failed, imported.references), (6, 1, 1, 1));
        assert_eq!(imported.left_out.values().sum::<usize>(), 1, "{:?}", imported.left_out);
        assert_eq!(imported.dataset.header.device.name, "A100");
        let records = &imported.dataset.records;
        assert_eq!(records.len(), 2);
        let Outcome::Measured(m) = &records[0].outcome else { panic!("{:?}", records[0]) };
        assert_eq!((m.samples_us.as_slice(), records[0].observed.library_us), (&[20.0, 30.0][..], Some(10.0)));
        assert!(records[0].config.starts_with("BLOCK_M=16,BLOCK_N=32,BLOCK_K=32,numstages=2,numwarps=2"));
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        let wrong = |text: &str| match import(
            &[OpenedText { place: "a.txt".into(), text: text.into() }],
            AutoHeuristicOptions::default(),
        ) {
            Err(e) => e.to_string(),
            Ok(imported) => imported.bad.check(imported.rows, false).unwrap_err().to_string(),
        };
        assert!(wrong("m,k\n1,2\n").contains("a.txt: is no file of AutoHeuristic"));
        assert!(wrong(&format!("{HEAD}1,2,3\n")).contains("such as a.txt, line 3: has 3 columns, not 14"));
        let fewer = HEAD.replace("using_tf32,", "").replace("m,k,n,", "m,k,");
        assert!(wrong(&fewer).contains("no column `n`, which kernel triton_mm needs"), "{}", wrong(&fewer));
        let row = |tail: &str| format!("{HEAD}{PROBLEM},{tail}\n");
        assert!(wrong(&row("extern_mm,soon")).contains("`soon` is no time"));
        assert!(wrong(&row("whatever,0.1")).contains("`whatever` is no config"));
        assert!(wrong(&HEAD.replace("[8, 0]", "[5, 0]")).contains("no described device is sm_50"));
        assert!(wrong(&HEAD.replace("\"mm\"", "\"pad_mm\"")).contains("no kernel triton_pad_mm"));
    }
}
