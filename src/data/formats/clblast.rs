//! Results of CLBlast's tuners: a JSON file for each size, and the forms in which CLBlast takes parameters.
//!
//! A file names its kernel family, the arguments as texts, the device, and every config that passed with its best time in milliseconds.

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

/// A predicted config of a problem, with its predicted time in microseconds where the model knows times.
pub struct Choice {
    /// Problem.
    pub problem: Problem,
    /// Config.
    pub config: Config,
    /// Predicted microseconds.
    pub time_us: Option<f64>,
}

/// First line of a header, by which one is known again.
pub const MARK: &str = "/* Parameters of CLBlast, predicted by seqtune";

/// Name of the kernel in calls of CLBlast's interface: `xgemm_direct` is `XgemmDirect` there.
fn called(kernel: &Kernel) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    kernel.name.split('_').filter(|part| !part.is_empty()).map(capital).collect()
}

/// Sizes of a problem, in the order M, N, K.
fn sizes(kernel: &Kernel, problem: &Problem) -> Result<[u64; 3]> {
    let at = |name: &str| match kernel.fields.iter().position(|f| f.name == name) {
        Some(at) => Ok(problem.values[at] as u64),
        None => {
            input(format!("kernel {} has no field {name}; a matrix product of CLBlast has M, N and K", kernel.name))
        }
    };
    Ok([at("M")?, at("N")?, at("K")?])
}

/// Precision of the choices, one of CLBlast's numbers.
fn precision(kernel: &Kernel, choices: &[Choice]) -> Result<String> {
    let at = kernel.fields.iter().position(|f| f.name == "precision");
    let of = |choice: &Choice| at.map_or("32".into(), |at| kernel.fields[at].show(choice.problem.values[at]));
    let first = choices.first().map(of).unwrap_or_default();
    match choices.iter().all(|choice| of(choice) == first) {
        true => Ok(first),
        false => input("the problems are of several precisions; write a file for each"),
    }
}

/// A C header with a table by size, and a function that looks a product up and overrides the parameters of CLBlast.
///
/// # Errors
/// [`Error::Input`] where the kernel is no matrix product, or problems are of several precisions.
pub fn write_header(kernel: &Kernel, choices: &[Choice], about: &str) -> Result<String> {
    let name = called(kernel);
    let precision = precision(kernel, choices)?;
    let parameters = &kernel.parameters;
    let mut rows = String::new();
    for choice in choices {
        let [m, n, k] = sizes(kernel, &choice.problem)?;
        let values = parameters.iter().zip(&choice.config.0).map(|(p, c)| p.values[*c as usize].to_string());
        rows += &format!("    {{ {m}, {n}, {k}, {{ {} }} }},\n", values.collect::<Vec<_>>().join(", "));
    }
    let names = parameters.iter().map(|p| format!("\"{}\"", p.name)).collect::<Vec<_>>().join(", ");
    let count = parameters.len();
    Ok(format!(
        "{MARK}: {about}.\n   A new vector of parameters makes CLBlast compile its program anew; one that was there before costs nothing. */\n\
         #pragma once\n#include <clblast_c.h>\n\n\
         typedef struct {{ size_t m, n, k; size_t values[{count}]; }} seqtune_{kernel}_row;\n\n\
         static const char* const seqtune_{kernel}_names[{count}] = {{ {names} }};\n\n\
         static const seqtune_{kernel}_row seqtune_{kernel}_rows[{rows_count}] = {{\n{rows}}};\n\n\
         /* Parameters of a product, or NULL where the table has not its sizes. */\n\
         static inline const size_t* seqtune_{kernel}_find(size_t m, size_t n, size_t k) {{\n\
         \x20   for (size_t at = 0; at < {rows_count}; at++) {{\n\
         \x20       const seqtune_{kernel}_row* row = &seqtune_{kernel}_rows[at];\n\
         \x20       if (row->m == m && row->n == n && row->k == k) return row->values;\n    }}\n    return NULL;\n}}\n\n\
         /* Makes CLBlast use the predicted parameters for a product on a device, before the call that computes it. Products that the table\n\
         \x20  has not keep the parameters of before. Not to be called while another thread computes. */\n\
         static inline CLBlastStatusCode seqtune_{kernel}_use(cl_device_id device, size_t m, size_t n, size_t k) {{\n\
         \x20   const size_t* values = seqtune_{kernel}_find(m, n, k);\n    if (!values) return CLBlastSuccess;\n\
         \x20   return CLBlastOverrideParameters(device, \"{name}\", (CLBlastPrecision){precision}, {count},\n\
         \x20                                    (const char**)seqtune_{kernel}_names, values);\n}}\n",
        kernel = kernel.name,
        rows_count = choices.len(),
    ))
}

/// The choices as CLBlast's database script takes results of tuners: a list of sections, one for each size.
///
/// # Errors
/// [`Error::Input`] where the kernel is no matrix product, or problems are of several precisions.
pub fn write_database(kernel: &Kernel, device: &Device, choices: &[Choice]) -> Result<String> {
    let precision = precision(kernel, choices)?;
    let mut sections = Vec::new();
    for choice in choices {
        let [m, n, k] = sizes(kernel, &choice.problem)?;
        let chosen = kernel.parameters.iter().zip(&choice.config.0);
        let mut parameters: serde_json::Map<String, Value> =
            chosen.map(|(p, c)| (p.name.clone(), p.json(*c as usize))).collect();
        parameters.insert("PRECISION".into(), precision.parse::<u64>().unwrap_or(32).into());
        let kind = if device.limits.is_cpu == Some(1.0) { "CPU" } else { "GPU" };
        sections.push(serde_json::json!({
            "kernel_family": kernel.name, "precision": precision,
            "clblast_device_type": kind, "clblast_device_vendor": device.vendor,
            "clblast_device_architecture": if kind == "CPU" { "" } else { &device.architecture },
            "clblast_device_name": device.name, "device": device.name,
            "arg_m": m.to_string(), "arg_n": n.to_string(), "arg_k": k.to_string(),
            "results": [{ "kernel": called(kernel), "time": choice.time_us.map(|us| us / 1e3), "parameters": parameters }],
        }));
    }
    let file = serde_json::json!({ "sections": sections });
    serde_json::to_string_pretty(&file).map_err(|e| Error::Failed(format!("writing JSON: {e}")))
}
