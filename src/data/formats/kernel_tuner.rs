//! Cache files of Kernel Tuner. Times are in milliseconds, energies in joules.

use crate::formats::documents::{Document, Mark, WrittenFile, mark, text_of};
use crate::formats::json::parts;
use crate::formats::names;
use crate::formats::sweep::{ReadEnergy, Sweep, Tried, failure, is_energy, number, outcome_of_times};
use crate::formats::units::microseconds;
use crate::record::{InvalidityKind, Outcome, Record};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Device, Kernel};
use serde_json::{Map, Value};

/// What a time in milliseconds is at least that stands for a failure.
const FAILED_MS: f64 = 1e20;

/// What stands beside the parameters of an entry.
const RESERVED: [&str; 15] = [
    "time",
    "times",
    "energy",
    "__error__",
    "failure",
    "detail",
    "compile_time",
    "verification_time",
    "benchmark_time",
    "strategy_time",
    "framework_time",
    "timestamp",
    // names that Kernel Tuner forbids
    "grid_size_x",
    "grid_size_y",
    "grid_size_z",
];

/// Parses a cache file, also one that an interrupted run left open or cut off.
///
/// # Errors
/// [`Error::Input`] where the text is not a cache file, or tells a unit that is not known.
pub fn read_cache(text: &str) -> Result<Sweep> {
    let file = Document::read(text, "cache").map_err(|e| e.at_place("is no cache file of Kernel Tuner's"))?;
    let names: Vec<&str> = match (file.value("tune_params_keys").as_array(), file.value("tune_params").as_object()) {
        (Some(keys), _) => keys.iter().filter_map(Value::as_str).collect(),
        (None, Some(parameters)) => parameters.keys().map(String::as_str).collect(),
        (None, None) => return input("is no cache file of Kernel Tuner's: it has no tune_params_keys"),
    };
    let told = ["time_unit", "timeunit"].iter().map(|key| file.value(key));
    let told = told.chain(["units", "metrics_units", "metric_units"].iter().map(|key| &file.value(key)["time"]));
    let unit = told.filter_map(Value::as_str).find(|unit| !unit.trim().is_empty()).unwrap_or("ms");
    let Some(us) = microseconds(unit) else {
        return input(format!("its times are in `{}`, which is no unit that is known", quote(unit)));
    };
    let Mark { problem, cold_runs } = mark(file.value("seqtune"));
    let objectives = match file.value("objective") {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect::<Vec<_>>(),
    };
    let mut sweep = Sweep {
        kernel: text_of(file.value("kernel_name")),
        device: text_of(file.value("device_name")),
        problem,
        sizes: sizes(file.value("problem_size")),
        reserved: &RESERVED,
        tool: if cold_runs {
            "Kernel Tuner, the first run of each config left out"
        } else {
            "seqtune, through a cache of Kernel Tuner"
        },
        ..Sweep::default()
    };
    let reader = Reader { names: &names, objectives: &objectives, us, cold_runs };
    for part in parts(file.body)? {
        let place = format!("entry {}", quote(part.name.unwrap_or_default()));
        let entry = Document::entry(&part).and_then(|entry| reader.read_entry(&entry));
        sweep.add(&place, entry);
    }
    Ok(sweep)
}

/// Sizes of a problem: a number, a list of them, or either as a text; nothing where one of them is no number.
fn sizes(told: &Value) -> Vec<u64> {
    let size = |value: &Value| number(value).filter(|x| x.fract() == 0.0 && *x >= 0.0).map(|x| x as u64);
    let all: Option<Vec<u64>> = match told {
        Value::Array(sizes) => sizes.iter().map(size).collect(),
        Value::String(text) => text
            .trim_matches(['(', ')', '[', ']', ' '])
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(|part| size(&Value::String(part.into())))
            .collect(),
        one => size(one).map(|size| vec![size]),
    };
    all.unwrap_or_default()
}

/// How the entries of a file are read.
struct Reader<'f> {
    names: &'f [&'f str],
    objectives: &'f [&'f str],
    /// Microseconds of a time's unit.
    us: f64,
    /// Whether the first run of a config is cold.
    cold_runs: bool,
}

impl Reader<'_> {
    fn read_entry(&self, entry: &Map<String, Value>) -> std::result::Result<Tried, String> {
        let pair = |name: &&str| Some((name.to_string(), entry.get(*name)?.clone()));
        let config: Option<Vec<(String, Value)>> = self.names.iter().map(pair).collect();
        let outcome = self.outcome(entry)?;
        let meters = entry.iter().filter(|(name, _)| is_energy(name) && !self.names.contains(&name.as_str()));
        let energies = meters.map(|(name, value)| ReadEnergy { meter: name.clone(), joules: number(value) }).collect();
        Ok(Tried { place: String::new(), config: config.ok_or("lacks a parameter")?, outcome, energies })
    }

    fn outcome(&self, entry: &Map<String, Value>) -> std::result::Result<Outcome, String> {
        let null = Value::Null;
        let of = |name: &str| entry.get(name).unwrap_or(&null);
        // version 1.5 names the failure beside the time, older ones in the place of the time or of another objective
        let named = ["__error__", "time"].iter().chain(self.objectives).filter(|name| !self.names.contains(name));
        let words = named.filter_map(|name| of(name).as_str()).filter(|word| word.trim().parse::<f64>().is_err());
        if let Some(word) = words.into_iter().next() {
            let own = of("failure").as_str().and_then(failure);
            let kind = own.or(failure(word)).ok_or(format!("`{}` is neither a time nor a failure", quote(word)))?;
            return Ok(Outcome::invalid(kind, of("detail").as_str().unwrap_or(word)));
        }
        let (time, times) = (of("time"), of("times"));
        let is_failed = |time: &Value| number(time).is_some_and(|ms| ms >= FAILED_MS);
        let listed = times.as_array().map_or(&[][..], Vec::as_slice);
        // of versions that write a number where a config failed
        if is_failed(time) && listed.iter().all(is_failed) {
            return Ok(Outcome::invalid(InvalidityKind::Runtime, "recorded as taking for ever"));
        }
        match (times.is_null() || times.as_array().is_some_and(Vec::is_empty), time.is_null()) {
            (false, _) => outcome_of_times(times, self.us, self.cold_runs),
            (true, false) => outcome_of_times(time, self.us, false),
            (true, true) => match self.objectives.iter().find(|name| **name != "time") {
                Some(other) => Err(format!("has no time, and its objective `{}` is none", quote(other))),
                None => Err("has no times".into()),
            },
        }
    }
}

/// Encodes records of one problem as a cache file of Kernel Tuner 1.5, which its simulation mode replays: times in milliseconds, the median
/// as its `time`. What was not recorded (compiling, verifying) is left out, so that a replay is limited by evaluations and not by time. Configs of
/// which no time is known are left out and not counted.
///
/// `seqtune` marks the file as ours, for the way back: the problem in full, and that no run in it is cold.
///
/// # Errors
/// [`Error::Problem`] or [`Error::Config`] where the kernel rejects a record, [`Error::Failed`] where serialisation fails.
pub fn write_cache(kernel: &Kernel, device: &Device, records: &[&Record]) -> Result<WrittenFile> {
    let names = names::parameters(kernel, &RESERVED);
    let (mut cache, mut sizes) = (Map::new(), Vec::new());
    for record in records {
        let (problem, config) = (kernel.problem(&record.problem)?, kernel.config(&record.config)?);
        let fields = kernel.fields.iter().zip(&problem.values).filter(|(f, _)| f.kind == FieldKind::Size);
        sizes = fields.map(|(_, size)| *size as u64).collect();
        let chosen = || kernel.parameters.iter().zip(&config.0);
        let values = names.iter().zip(chosen());
        let mut entry: Map<String, Value> = values.map(|(name, (p, c))| (name.clone(), p.json(*c as usize))).collect();
        match &record.outcome {
            Outcome::Invalid(invalid) => {
                entry.insert("__error__".into(), failure_of(invalid.kind).into());
                entry.insert("failure".into(), name_of(invalid.kind).into());
                entry.insert("detail".into(), invalid.detail.as_str().into());
            }
            outcome => {
                let Some(us) = outcome.time_us() else { continue };
                entry.insert("time".into(), (us / 1e3).into());
                entry.insert("times".into(), milliseconds(outcome).into());
                outcome.joules().map(|joules| entry.insert("energy".into(), joules.into()));
            }
        }
        cache.insert(chosen().map(|(p, c)| p.show(*c as usize)).collect::<Vec<_>>().join(","), entry.into());
    }
    let values: Map<String, Value> =
        names.iter().zip(&kernel.parameters).map(|(name, p)| (name.clone(), p.all_json().into())).collect();
    let entries = cache.len();
    let file = serde_json::json!({
        "device_name": device.name, "kernel_name": kernel.name, "problem_size": sizes, "tune_params_keys": names,
        "tune_params": values, "objective": ["time"], "seqtune": Mark::from_records(records), "cache": cache,
    });
    let mut text =
        serde_json::to_string(&file).map_err(|e| Error::Failed(format!("writing a cache of Kernel Tuner: {e}")))?;
    // it cuts three characters off the end of a file that it goes on with: two braces and the end of a line between them
    text.insert(text.len() - 1, '\n');
    Ok(WrittenFile { text, entries })
}

/// Samples of a config, or the one time that is known.
pub(crate) fn milliseconds(outcome: &Outcome) -> Vec<f64> {
    match outcome {
        Outcome::Measured(m) => m.samples_us.iter().map(|us| *us as f64 / 1e3).collect(),
        other => other.time_us().map(|us| us / 1e3).into_iter().collect(),
    }
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
mod tests;
