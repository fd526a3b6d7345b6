//! Rows of AITER's tables as records.

use super::{GemmRow, GemmTable, SPLIT, configs_of, instances, problem};
use crate::bad_rows::{BadRows, Twice};
use crate::dataset::{Dataset, Header};
use crate::formats::opened::OpenedText;
use crate::recipe::Provenance;
use crate::record::{Outcome, Record, Tuned};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel};
use std::collections::{BTreeMap, HashMap};

/// Result of an import.
pub struct ImportedGemms {
    /// Imported records.
    pub dataset: Dataset,
    /// Rows of all tables.
    pub rows: usize,
    /// Rows of a problem that an earlier row has.
    pub twice: Twice,
    /// Rows of other devices, of kernels that the description lacks, and of configs outside its space.
    pub left_out: BTreeMap<String, usize>,
    /// Rows that cannot be read.
    pub bad: BadRows,
}

/// Imports the rows of tables that are for a device.
///
/// # Errors
/// As [`GemmTable::read`] and [`instances`]; [`Error::Input`] where the device's compute units are not described.
pub fn import(kernel: &Kernel, files: &[OpenedText], device: &Device, command: &str) -> Result<ImportedGemms> {
    instances(kernel)?;
    kernel.check_device(device)?;
    if device.limits.compute_units.is_none() {
        return input(format!(
            "the compute units of {} are not described, by which AITER's tables tell GPUs apart",
            device.name
        ));
    }
    let places = files.iter().map(|file| file.place.clone()).collect();
    let provenance = Provenance::Imported { tool: "tuned tables of AITER".into(), files: places };
    let header = Header::new(kernel, device, 0, provenance, command.into());
    let mut found = ImportedGemms {
        dataset: Dataset { header, records: Vec::new() },
        rows: 0,
        twice: Twice::default(),
        left_out: BTreeMap::new(),
        bad: BadRows::default(),
    };
    let mut known: HashMap<String, usize> = HashMap::new();
    for file in files {
        let table = GemmTable::read(file)?;
        for (number, row) in table.rows().enumerate() {
            found.rows += 1;
            match record(kernel, device, row) {
                Ok(record) => add(&mut found, &mut known, record),
                Err(Fault::LeftOut(reason)) => *found.left_out.entry(reason).or_insert(0) += 1,
                Err(Fault::Bad(reason)) => found.bad.add(&reason, &format!("{}, row {}", file.place, number + 1)),
            }
        }
    }
    Ok(found)
}

fn add(found: &mut ImportedGemms, known: &mut HashMap<String, usize>, record: Record) {
    let records = &mut found.dataset.records;
    match known.get(record.problem.as_ref()) {
        Some(at) if records[*at].config == record.config => found.twice.same += 1,
        Some(_) => found.twice.again += 1,
        None => {
            known.insert(record.problem.to_string(), records.len());
            records.push(record);
        }
    }
}

/// Why a row is no record.
enum Fault {
    LeftOut(String),
    Bad(String),
}

fn record(kernel: &Kernel, device: &Device, row: GemmRow) -> std::result::Result<Record, Fault> {
    let bad = |e: Error| Fault::Bad(e.to_string());
    if row.cells.len() != row.table.columns.len() {
        return Err(Fault::Bad(format!(
            "has {} cells, and there are {} columns",
            row.cells.len(),
            row.table.columns.len()
        )));
    }
    if !row.is_of(device) {
        return Err(Fault::LeftOut(format!(
            "of GPUs with other compute units than the {} of {}",
            device.limits.compute_units.unwrap_or_default(),
            device.name
        )));
    }
    let problem = problem(kernel, &row.fields()).map_err(bad)?;
    let split = row.cell(SPLIT).unwrap_or("0");
    let configs = configs_of(kernel, row.cell("kernelName").unwrap_or_default()).map_err(bad)?;
    if configs.is_empty() {
        return Err(Fault::LeftOut(format!("kernel {} describes no kernel of that name", kernel.name)));
    }
    let has_split = |config: &&Config| kernel.value(config, SPLIT).unwrap_or(0).to_string() == split;
    let Some(config) = configs.iter().find(has_split) else {
        return Err(Fault::LeftOut(format!("{SPLIT} is no value of kernel {}", kernel.name)));
    };
    if let Some(rule) = ConfigSpace::new(kernel, &problem, device).broken(config) {
        return Err(Fault::LeftOut(rule.to_string()));
    }
    // rows that were predicted have no time
    let time_us = row.cell("us").and_then(|cell| cell.parse::<f32>().ok()).filter(|us| *us > 0.0);
    let outcome = Outcome::Tuned(Tuned { time_us });
    match outcome.fault() {
        Some(fault) => Err(Fault::Bad(fault.into())),
        None => Ok(Record {
            problem: kernel.show_problem(&problem).into(),
            config: kernel.show_config(config).into(),
            outcome,
            observed: Default::default(),
        }),
    }
}
