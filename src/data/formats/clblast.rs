//! Results of CLBlast's tuners: a JSON file for each size. The forms in which CLBlast takes parameters are in `tables`.
//!
//! A file names its kernel family, the arguments as texts, the device, and every config that passed with its best time in milliseconds.

mod tables;

pub use tables::{Choice, MARK, Table, whole_tiles, write_database, write_header};

use crate::bad_rows::BadRows;
use crate::dataset::{Dataset, Header};
use crate::recipe::Provenance;
use crate::record::{Measurement, Outcome, Record};
use seqtune_predict::error::{Error, Result, input, quoted};
use seqtune_predict::kernel::{Config, ConfigSpace, Device, Kernel, Limits, Problem};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Result of an import.
pub struct Imported {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of configs in the files.
    pub rows: usize,
    /// Number of configs of a problem that was there before, which are skipped.
    pub repeated: usize,
    /// Number of configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Rows whose problem or config is none of the kernel's.
    pub bad: BadRows,
}

/// Parameters that are no choice of a tuner.
const FIXED: [&str; 1] = ["PRECISION"];

/// Least time that the tuners tell, in milliseconds: they write three decimals.
const STEP: f64 = 1e-3;

/// Kernel family of a file, as `xgemm_direct`, without the number of the tuner's part.
///
/// # Errors
/// [`Error::Input`] where the text is no result of a tuner.
pub fn family(text: &str) -> Result<String> {
    let file = read(text)?;
    let name = file["kernel_family"].as_str().unwrap_or_default();
    let bare = name.rsplit_once('_').filter(|(_, part)| part.parse::<u32>().is_ok()).map_or(name, |(bare, _)| bare);
    Ok(bare.to_string())
}

/// Device of a file as it tells of it: name, compute units, clock, and whether it is a CPU.
///
/// # Errors
/// [`Error::Input`] where the text is no result of a tuner.
pub fn device(text: &str) -> Result<Device> {
    let file = read(text)?;
    let word = |key: &str| file[key].as_str().unwrap_or_default().to_string();
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

fn read(text: &str) -> Result<Value> {
    let file: Value = serde_json::from_str(text).map_err(|e| Error::Input(format!("is no JSON: {e}")))?;
    match file["kernel_family"].is_string() && file["results"].is_array() {
        true => Ok(file),
        false => input("is no result of a tuner of CLBlast: it has no kernel_family and results"),
    }
}

/// Imports files of one kernel and device, given as pairs of path and text.
///
/// # Errors
/// [`Error::Input`] where a file is of another kind, kernel family or device.
pub fn import(kernel: &Kernel, device: &Device, files: &[(String, String)], command: String) -> Result<Imported> {
    let tool = "CLBlast's tuner: the best of its runs, in steps of 1 us".into();
    let places = files.iter().map(|(place, _)| place.clone()).collect();
    let header = Header::new(kernel, device, 0, Provenance::Imported { tool, files: places }, command);
    let mut imported = Imported {
        dataset: Dataset { header, records: Vec::new() },
        rows: 0,
        repeated: 0,
        left_out: BTreeMap::new(),
        bad: BadRows::default(),
    };
    let mut seen: HashSet<(String, String)> = HashSet::new();
    for (place, text) in files {
        one(kernel, device, (place, text), &mut imported, &mut seen).map_err(|e| e.at(place))?;
    }
    Ok(imported)
}

fn one(
    kernel: &Kernel,
    device: &Device,
    (place, text): (&str, &str),
    imported: &mut Imported,
    seen: &mut HashSet<(String, String)>,
) -> Result<()> {
    let (file, family) = (read(text)?, family(text)?);
    if family != kernel.name {
        return input(format!("is of the tuner {}, not of {}", quoted(&family), kernel.name));
    }
    let problem = problem(kernel, &file)?;
    let space = ConfigSpace::new(kernel, &problem, device);
    let shown = kernel.show_problem(&problem);
    for row in file["results"].as_array().into_iter().flatten() {
        imported.rows += 1;
        let (config, ms) = match (config(kernel, &row["parameters"]), row["time"].as_f64()) {
            (Ok(config), Some(ms)) if ms >= 0.0 => (config, ms.max(STEP / 2.0)),
            (Err(e), _) => {
                imported.bad.add(&e.to_string(), place);
                continue;
            }
            _ => {
                imported.bad.add("a time is not 0 or more", place);
                continue;
            }
        };
        if let Some(reason) = space.violation(&config) {
            *imported.left_out.entry(reason).or_default() += 1;
            continue;
        }
        let text = kernel.show_config(&config);
        if !seen.insert((shown.clone(), text.clone())) {
            imported.repeated += 1;
            continue;
        }
        let outcome = Outcome::Measured(Measurement { samples_us: vec![(ms * 1e3) as f32], energy: None });
        let (problem, config) = (shown.as_str().into(), text.into());
        imported.dataset.records.push(Record { problem, config, outcome, observed: Default::default() });
    }
    Ok(())
}

/// The problem of a file: `arg_m` and so on, where the kernel has a field of that name, and its precision.
fn problem(kernel: &Kernel, file: &Value) -> Result<Problem> {
    let mut pairs = Vec::new();
    for field in &kernel.fields {
        let key =
            if field.name == "precision" { "precision".into() } else { format!("arg_{}", field.name.to_lowercase()) };
        if let Some(value) = file[&key].as_str() {
            pairs.push(format!("{}={value}", field.name));
        }
    }
    kernel.problem(&pairs.join(","))
}

fn config(kernel: &Kernel, parameters: &Value) -> Result<Config> {
    let Some(named) = parameters.as_object() else { return input("a result has no parameters") };
    let pairs = named.iter().filter(|(name, _)| !FIXED.contains(&name.as_str()));
    kernel.config(&pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(","))
}
