//! Sweeps in the auto-tuning community's formats: cache files of Kernel Tuner, and T4 results ("Towards a Benchmarking Suite for
//! Kernel Tuners", Torring et al. 2023).

use crate::bad_rows::BadRows;
use crate::dataset::{Dataset, Header};
use crate::recipe::Provenance;
use crate::record::{InvalidityKind, Measurement, Outcome, Record};
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::spec::FieldKind;
use seqtune_predict::kernel::{ConfigSpace, Device, Kernel};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Config with its outcome.
struct Tried {
    /// Config as `name=value` pairs.
    config: String,
    outcome: Outcome,
}

/// Content of a file.
pub struct Sweep {
    /// Name of the device, where the file has one.
    pub device: Option<String>,
    /// Sizes of the problem; empty where the file has none.
    pub sizes: Vec<u64>,
    tried: Vec<Tried>,
    /// Entries that cannot be read.
    bad: BadRows,
}

/// Result of an import.
pub struct Imported {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of failed configs.
    pub failed: usize,
    /// Number of configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Entries that cannot be read, or whose config is none of the kernel's.
    pub bad: BadRows,
    /// Entries in all.
    pub entries: usize,
}

impl Imported {
    /// Adds what another file of the same kernel holds.
    ///
    /// # Errors
    /// [`Error::Input`] where it was measured on another device.
    pub fn join(&mut self, more: Imported) -> Result<()> {
        let (header, other) = (&mut self.dataset.header, more.dataset.header);
        if header.device != other.device {
            return input(format!(
                "was measured on {}, the files before it on {}",
                other.device.name, header.device.name
            ));
        }
        if let (Provenance::Imported { files, .. }, Provenance::Imported { files: others, .. }) =
            (&mut header.provenance, other.provenance)
        {
            files.extend(others);
        }
        self.dataset.records.extend(more.dataset.records);
        self.failed += more.failed;
        self.entries += more.entries;
        more.left_out.into_iter().for_each(|(rule, configs)| *self.left_out.entry(rule).or_insert(0) += configs);
        self.bad.extend(more.bad);
        Ok(())
    }
}

/// Parses a cache file of Kernel Tuner, also one that an interrupted run left incomplete.
///
/// # Errors
/// [`Error::Input`] where the text is not a cache file.
pub fn read_cache(text: &str) -> Result<Sweep> {
    let closed = || format!("{}}}}}", text.trim_end().trim_end_matches(','));
    let file: Value = serde_json::from_str(text)
        .or_else(|e| serde_json::from_str(&closed()).map_err(|_| e))
        .map_err(|e| Error::Input(format!("is no cache file of Kernel Tuner's: {e}")))?;
    let (Some(names), Some(cache)) = (file["tune_params_keys"].as_array(), file["cache"].as_object()) else {
        return input("is no cache file of Kernel Tuner's: it has no tune_params_keys or no cache");
    };
    let read = |entry: &Value| -> std::result::Result<Tried, &str> {
        let pair = |name: &Value| {
            let name = name.as_str()?;
            Some(format!("{name}={}", entry.get(name)?))
        };
        let config: Option<Vec<String>> = names.iter().map(pair).collect();
        let config = config.ok_or("lacks a parameter")?.join(",");
        // version 1.5 names the failure beside the time, older ones in its place
        let failure = Some(&entry["__error__"]).filter(|error| error.is_string());
        let outcome = match failure.unwrap_or(&entry["time"]) {
            Value::String(failure) => Outcome::invalid(kind(failure), failure.as_str()),
            // of versions that write a number where a config failed
            Value::Number(time) if entry["times"].is_null() && time.as_f64().is_some_and(|ms| ms >= FAILED_MS) => {
                Outcome::invalid(InvalidityKind::Runtime, "recorded as taking for ever")
            }
            _ => measured(&entry["times"]).ok_or("has no times")?,
        };
        Ok(Tried { config, outcome })
    };
    let (tried, bad) = sorted(cache.iter().map(|(key, entry)| (format!("entry {key}"), read(entry))));
    let sizes = match &file["problem_size"] {
        Value::Array(sizes) => sizes.iter().filter_map(Value::as_u64).collect(),
        one => one.as_u64().into_iter().collect(),
    };
    let device = file["device_name"].as_str().map(String::from);
    Ok(Sweep { device, sizes, tried, bad })
}

/// What a time in milliseconds is at least that stands for a failure.
const FAILED_MS: f64 = 1e20;

/// Entries that can be read, and the others by reason. A time that a dataset cannot hold is none.
fn sorted<'e>(entries: impl Iterator<Item = (String, std::result::Result<Tried, &'e str>)>) -> (Vec<Tried>, BadRows) {
    let (mut tried, mut bad) = (Vec::new(), BadRows::default());
    for (place, entry) in entries {
        match entry.and_then(|entry| entry.outcome.fault().map_or(Ok(entry), Err)) {
            Ok(entry) => tried.push(entry),
            Err(reason) => bad.add(reason, &place),
        }
    }
    (tried, bad)
}

/// Parses results in the T4 format, which names neither device nor problem.
///
/// # Errors
/// [`Error::Input`] where the text is not a T4 file.
pub fn read_t4(text: &str) -> Result<Sweep> {
    let file: Value = serde_json::from_str(text).map_err(|e| Error::Input(format!("is no file of T4 results: {e}")))?;
    let Some(results) = file["results"].as_array() else { return input("is no file of T4 results: it has no results") };
    let read = |result: &Value| -> std::result::Result<Tried, &str> {
        let config = result["configuration"].as_object().ok_or("has no configuration")?;
        let config = config.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",");
        let outcome = match result["invalidity"].as_str() {
            Some("correct") => measured(&result["times"]["runtimes"]).ok_or("has no runtimes")?,
            Some(failure) => Outcome::invalid(kind(failure), failure),
            None => return Err("has no invalidity"),
        };
        Ok(Tried { config, outcome })
    };
    let (tried, bad) =
        sorted(results.iter().enumerate().map(|(i, result)| (format!("result {}", i + 1), read(result))));
    Ok(Sweep { device: None, sizes: Vec::new(), tried, bad })
}

/// Converts times in milliseconds, without the first of several, which is cold.
fn measured(times: &Value) -> Option<Outcome> {
    let times: Vec<f32> = times.as_array()?.iter().map(|t| Some((t.as_f64()? * 1e3) as f32)).collect::<Option<_>>()?;
    let samples_us = if times.len() > 1 { times[1..].to_vec() } else { times };
    (!samples_us.is_empty()).then_some(Outcome::Measured(Measurement { samples_us, energy: None }))
}

/// Category of a failure, by its name in either format.
fn kind(failure: &str) -> InvalidityKind {
    match failure.to_lowercase() {
        f if f.contains("compil") => InvalidityKind::Compile,
        f if f.contains("correct") || f.contains("verif") => InvalidityKind::Correctness,
        f if f.contains("timeout") => InvalidityKind::Timeout,
        f if f.contains("constraint") || f.contains("invalid") => InvalidityKind::Constraints,
        _ => InvalidityKind::Runtime,
    }
}

impl Sweep {
    /// Problem of the kernel with the file's sizes, in the order of its size fields.
    ///
    /// # Errors
    /// [`Error::Input`] where the file and the kernel differ in their number of sizes, or have none.
    pub fn problem(&self, kernel: &Kernel) -> Result<String> {
        let fields: Vec<&str> =
            kernel.fields.iter().filter(|f| f.kind == FieldKind::Size).map(|f| f.name.as_str()).collect();
        match fields.len() == self.sizes.len() && !fields.is_empty() {
            true => Ok(fields.iter().zip(&self.sizes).map(|(f, s)| format!("{f}={s}")).collect::<Vec<_>>().join(",")),
            false => input(format!(
                "tells {} sizes, kernel {} has {} ({}); say with --problem what was measured",
                self.sizes.len(),
                kernel.name,
                fields.len(),
                fields.join(", ")
            )),
        }
    }

    /// Converts the content into a dataset of `problem` on `device`.
    ///
    /// # Errors
    /// [`Error::Problem`] where the kernel rejects the problem.
    pub fn dataset(
        self,
        kernel: &Kernel,
        problem: &str,
        device: Device,
        (place, command): (&str, String),
    ) -> Result<Imported> {
        let problem = kernel.problem(problem)?;
        let space = ConfigSpace::new(kernel, &problem, &device);
        let shown: Arc<str> = kernel.show_problem(&problem).into();
        let (mut records, mut failed, mut left_out) = (Vec::new(), 0, BTreeMap::new());
        let (mut bad, entries) = (self.bad.clone(), self.tried.len() + self.bad.rows());
        for Tried { config, outcome } in self.tried {
            let config = match kernel.config(&config) {
                Ok(read) => read,
                Err(e) => {
                    bad.add(&e.to_string(), "a config");
                    continue;
                }
            };
            if let Some(rule) = space.broken(&config) {
                *left_out.entry(rule.to_string()).or_insert(0) += 1;
                continue;
            }
            failed += matches!(outcome, Outcome::Invalid(_)) as usize;
            let (problem, config) = (shown.clone(), kernel.show_config(&config).into());
            records.push(Record { problem, config, outcome, observed: Default::default() });
        }
        let tool = "another tuner, the first run of each config left out".into();
        let provenance = Provenance::Imported { tool, files: vec![place.into()] };
        let header = Header::new(kernel, &device, 0, provenance, command);
        Ok(Imported { dataset: Dataset { header, records }, failed, left_out, bad, entries })
    }
}

/// Encodes records of one problem in the T4 format, which does not hold the problem itself.
///
/// # Errors
/// [`Error::Config`] where the kernel rejects a config, [`Error::Failed`] where serialisation fails.
pub fn write_t4(kernel: &Kernel, records: &[&Record]) -> Result<String> {
    let result = |record: &&Record| {
        let config = kernel.config(&record.config)?;
        let values = kernel.parameters.iter().zip(&config.0).map(|(p, c)| (p.name.clone(), p.json(*c as usize)));
        let configuration: serde_json::Map<String, Value> = values.collect();
        let (invalidity, runtimes) = match &record.outcome {
            Outcome::Measured(m) => ("correct", m.samples_us.iter().map(|us| *us as f64 / 1e3).collect()),
            Outcome::Tuned(tuned) => ("correct", tuned.time_us.iter().map(|us| *us as f64 / 1e3).collect::<Vec<_>>()),
            Outcome::Invalid(invalid) => (name_of(invalid.kind), Vec::new()),
        };
        Ok(serde_json::json!({
            "configuration": configuration,
            "times": { "runtimes": runtimes },
            "invalidity": invalidity,
            "correctness": (invalidity == "correct") as u8,
            "measurements": record.outcome.time_us().map(|us| serde_json::json!({ "name": "time", "value": us / 1e3, "unit": "ms" })).into_iter().collect::<Vec<_>>(),
            "objectives": ["time"],
        }))
    };
    let results: Vec<Value> = records.iter().map(result).collect::<Result<_>>()?;
    let file =
        serde_json::json!({ "schema_version": "1.0.0", "metadata": { "timeunit": "miliseconds" }, "results": results });
    serde_json::to_string(&file).map_err(|e| Error::Failed(format!("writing T4: {e}")))
}

/// Encodes records of one problem as a cache file of Kernel Tuner 1.5, which its simulation mode replays: times in milliseconds, the median
/// as its `time`. What was not recorded (compiling, verifying) is left out, so that a replay is limited by evaluations and not by time.
///
/// # Errors
/// [`Error::Problem`] or [`Error::Config`] where the kernel rejects a record, [`Error::Failed`] where serialisation fails.
pub fn write_cache(kernel: &Kernel, device: &Device, records: &[&Record]) -> Result<String> {
    let names: Vec<&str> = kernel.parameters.iter().map(|p| p.name.as_str()).collect();
    let (mut cache, mut sizes) = (serde_json::Map::new(), Vec::new());
    for record in records {
        let (problem, config) = (kernel.problem(&record.problem)?, kernel.config(&record.config)?);
        let fields = kernel.fields.iter().zip(&problem.values).filter(|(f, _)| f.kind == FieldKind::Size);
        sizes = fields.map(|(_, size)| *size as u64).collect();
        let chosen = || kernel.parameters.iter().zip(&config.0);
        let mut entry: serde_json::Map<String, Value> =
            chosen().map(|(p, c)| (p.name.clone(), p.json(*c as usize))).collect();
        match &record.outcome {
            Outcome::Invalid(invalid) => {
                entry.insert("__error__".into(), failure_of(invalid.kind).into());
            }
            outcome => {
                let Some(us) = outcome.time_us() else { continue };
                let samples: Vec<f64> = match outcome {
                    Outcome::Measured(m) => m.samples_us.iter().map(|us| *us as f64 / 1e3).collect(),
                    _ => vec![us / 1e3],
                };
                entry.insert("time".into(), (us / 1e3).into());
                entry.insert("times".into(), samples.into());
            }
        }
        cache.insert(chosen().map(|(p, c)| p.show(*c as usize)).collect::<Vec<_>>().join(","), entry.into());
    }
    let values: serde_json::Map<String, Value> =
        kernel.parameters.iter().map(|p| (p.name.clone(), p.all_json().into())).collect();
    let file = serde_json::json!({
        "device_name": device.name, "kernel_name": kernel.name, "problem_size": sizes, "tune_params_keys": names,
        "tune_params": values, "objective": ["time"], "cache": cache,
    });
    // it knows a file that was ended by these three braces
    serde_json::to_string(&file).map_err(|e| Error::Failed(format!("writing a cache of Kernel Tuner: {e}")))
}

/// Name of a category in its cache files.
fn failure_of(kind: InvalidityKind) -> &'static str {
    match kind {
        InvalidityKind::Constraints => "InvalidConfig",
        InvalidityKind::Compile => "CompilationFailedConfig",
        _ => "RuntimeFailedConfig",
    }
}

/// Name of a category in the T4 format.
pub(crate) fn name_of(kind: InvalidityKind) -> &'static str {
    match kind {
        InvalidityKind::Constraints => "constraints",
        InvalidityKind::Compile => "compile",
        InvalidityKind::Runtime => "runtime",
        InvalidityKind::Timeout => "timeout",
        InvalidityKind::Correctness => "correctness",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: &str = r#"{"device_name": "NVIDIA T4", "problem_size": [64, 32], "tune_params_keys": ["a", "b"], "cache": {
        "1,2": {"a": 1, "b": 2, "time": 2.0, "times": [5.0, 2.0, 2.5]},
        "2,2": {"a": 2, "b": 2, "time": "RuntimeFailedConfig", "times": []},"#;

    #[test]
    fn a_cache_that_was_left_open_is_read_without_its_cold_runs() {
        let sweep = read_cache(CACHE).unwrap();
        assert_eq!((sweep.device.as_deref(), &sweep.sizes[..]), (Some("NVIDIA T4"), &[64, 32][..]));
        assert_eq!(sweep.tried[0].config, "a=1,b=2");
        let Outcome::Measured(m) = &sweep.tried[0].outcome else { panic!("measured") };
        assert_eq!(m.samples_us, [2_000.0, 2_500.0]);
        assert_eq!(sweep.tried[1].outcome, Outcome::invalid(InvalidityKind::Runtime, "RuntimeFailedConfig"));
        assert!(read_cache("{}").is_err() && read_cache("a,b\n1,2").is_err());
    }

    #[test]
    fn failures_of_version_1_5_are_read_by_their_own_entry() {
        let cache = r#"{"tune_params_keys": ["a"], "cache": {
            "1": {"a": 1, "__error__": "CompilationFailedConfig", "compile_time": 3.0},
            "2": {"a": 2, "time": 1.5, "times": [1.5, 1.5]}}}"#;
        let sweep = read_cache(cache).unwrap();
        assert_eq!(sweep.tried[0].outcome, Outcome::invalid(InvalidityKind::Compile, "CompilationFailedConfig"));
        assert!(matches!(sweep.tried[1].outcome, Outcome::Measured(_)) && sweep.bad.rows() == 0);
    }

    #[test]
    fn a_cache_that_was_written_is_read_again() {
        let kernel = Kernel::open("gemm").unwrap();
        let device = Device::described("H100").unwrap();
        let config: Arc<str> = kernel.show_config(&kernel.default_config()).into();
        let record = |config: &Arc<str>, outcome| Record {
            problem: "M=3,N=2,K=1".into(),
            config: config.clone(),
            outcome,
            observed: Default::default(),
        };
        let times = Measurement { samples_us: vec![30.0, 10.0, 20.0], energy: None };
        let other = Arc::from(config.replace("GROUP=1", "GROUP=4"));
        let records = [
            record(&config, Outcome::Measured(times)),
            record(&other, Outcome::invalid(InvalidityKind::Compile, "no")),
        ];
        let text = write_cache(&kernel, &device, &records.iter().collect::<Vec<_>>()).unwrap();
        assert!(text.ends_with("}}}") && text.contains("\"time\":0.02"), "{text}");
        let sweep = read_cache(&text).unwrap();
        assert_eq!((sweep.device.as_deref(), &sweep.sizes[..]), (Some("H100"), &[3, 2, 1][..]));
        let Outcome::Measured(m) = &sweep.tried[0].outcome else { panic!("measured") };
        assert_eq!((m.samples_us.len(), &sweep.tried[0].config[..]), (2, &config[..]));
        assert!(matches!(&sweep.tried[1].outcome, Outcome::Invalid(i) if i.kind == InvalidityKind::Compile));
    }

    #[test]
    fn t4_results_are_read_by_their_invalidity() {
        let result = |invalidity: &str| {
            format!(
                r#"{{"configuration": {{"a": 1}}, "times": {{"runtimes": [3.0, 1.0]}}, "invalidity": "{invalidity}"}}"#
            )
        };
        let file = format!(r#"{{"results": [{}, {}, {}]}}"#, result("correct"), result("compile"), result("timeout"));
        let outcomes: Vec<Outcome> = read_t4(&file).unwrap().tried.into_iter().map(|t| t.outcome).collect();
        assert!(matches!(&outcomes[0], Outcome::Measured(m) if m.samples_us == [1_000.0]));
        assert_eq!(outcomes[1], Outcome::invalid(InvalidityKind::Compile, "compile"));
        assert_eq!(outcomes[2], Outcome::invalid(InvalidityKind::Timeout, "timeout"));
        assert_eq!(read_t4(r#"{"results": [{}]}"#).unwrap().bad.rows(), 1);
        let zero = r#"{"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": 1.0, "times": [1, 0]}, "2": {"a": 2, "time": 1e20}}}"#;
        let sweep = read_cache(zero).unwrap();
        assert_eq!((sweep.tried.len(), sweep.bad.0["a time is not above 0"].rows), (1, 1));
    }
}
