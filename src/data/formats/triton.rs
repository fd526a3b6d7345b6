//! What Triton's autotuner measured: the `<kernel>.autotune.json` files that it keeps in its cache, one for each key.
//!
//! A file has the values of the key without their names, then the data type of every tensor, and for each config the times in
//! milliseconds: median, 20 % and 80 % quantile. A config that failed has infinite ones, which Python writes as `Infinity`.

use crate::bad_rows::BadRows;
use crate::dataset::{Dataset, Header};
use crate::formats::json::without_infinities;
use crate::recipe::Provenance;
use crate::record::{InvalidityKind, Measurement, Outcome, Record};
use seqtune_predict::error::{Error, Result, input, quoted};
use seqtune_predict::kernel::spec::{Field, FieldKind};
use seqtune_predict::kernel::{ConfigSpace, Device, Kernel};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What an import is asked for beside the files.
pub struct Options {
    /// Device that was measured on, which the files do not tell.
    pub device: Device,
    /// Field that each entry of a key is, in order; `_` for one that is none. Empty: the kernel's fields in their order.
    pub key: Vec<String>,
    /// Fields that the keys lack, each with its value.
    pub set: Vec<(String, String)>,
    /// Command line, kept with the dataset.
    pub command: String,
}

/// Result of an import.
pub struct Imported {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of configs in the files.
    pub rows: usize,
    /// Number of rows identical to an earlier one, which are skipped.
    pub repeated: usize,
    /// Number of configs without a finite time.
    pub failed: usize,
    /// Number of rows with configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Rows that cannot be read, or whose problem or config is none of the kernel's.
    pub bad: BadRows,
}

/// Launch options of a config, the value that Triton takes where none is stated, and how else parameters of that meaning are called.
const LAUNCH: [(&str, Option<i64>, &str); 4] = [
    ("num_warps", Some(4), "numwarps"),
    ("num_stages", Some(3), "numstages"),
    ("num_ctas", Some(1), "numctas"),
    ("maxnreg", None, "maxnreg"),
];

/// Name of an entry of a key that is no field.
const NO_FIELD: &str = "_";

/// Imports files of one kernel, given as pairs of path and text. Rows that cannot be read are left out and counted.
///
/// # Errors
/// [`Error::Input`] where a file is of another kind or its key has other entries, or where an option names no field.
pub fn import(kernel: &Kernel, files: &[(String, String)], ask: Options) -> Result<Imported> {
    let names = names(kernel, &ask)?;
    let tool = "Triton's autotuner: median, 20 % and 80 % quantile of each config".into();
    let places = files.iter().map(|(place, _)| place.clone()).collect();
    let header = Header::new(kernel, &ask.device, 0, Provenance::Imported { tool, files: places }, ask.command.clone());
    let mut found = Collector {
        kernel,
        ask: &ask,
        places: HashMap::new(),
        times: Vec::new(),
        imported: Imported {
            dataset: Dataset { header, records: Vec::new() },
            rows: 0,
            repeated: 0,
            failed: 0,
            left_out: BTreeMap::new(),
            bad: BadRows::default(),
        },
    };
    for (place, text) in files {
        let (key, timings) = read(text).map_err(|e| e.at(place))?;
        let pairs = found.pairs(&names, &key).map_err(|e| e.at(place))?;
        found.add(place, &pairs, &timings);
    }
    Ok(found.finish())
}

/// The field of each entry of a key; the options' own, checked.
fn names(kernel: &Kernel, ask: &Options) -> Result<Vec<String>> {
    let known = |name: &str| kernel.fields.iter().any(|f| f.name == name);
    let named = ask.key.iter().filter(|name| *name != NO_FIELD).chain(ask.set.iter().map(|(field, _)| field));
    let mut seen: Vec<&String> = Vec::new();
    for name in named {
        if !known(name) {
            let fields: Vec<&str> = kernel.fields.iter().map(|f| f.name.as_str()).collect();
            let fields = fields.join(", ");
            return input(format!("kernel {} has no field `{}` (it has {fields})", kernel.name, quoted(name)));
        }
        if seen.contains(&name) {
            return input(format!("field `{name}` is given twice, by --key or --set"));
        }
        seen.push(name);
    }
    let free = kernel.fields.iter().filter(|f| !ask.set.iter().any(|(field, _)| *field == f.name));
    Ok(if ask.key.is_empty() { free.map(|f| f.name.clone()).collect() } else { ask.key.clone() })
}

/// The key of a file, and its configs with their times.
fn read(text: &str) -> Result<(Vec<Value>, Vec<Value>)> {
    let no = |why: &str| Error::Input(format!("is no autotune.json of Triton's: {why}"));
    let file: Value = serde_json::from_str(&without_infinities(text)).map_err(|e| no(&e.to_string()))?;
    match (file["key"].as_array(), file["configs_timings"].as_array()) {
        (Some(key), Some(timings)) => Ok((key.clone(), timings.clone())),
        _ => Err(no("it has no key or no configs_timings")),
    }
}

/// A number or truth value as a parameter's value is written.
fn number(value: &Value) -> Option<String> {
    match value {
        Value::Bool(is) => Some((*is as u8).to_string()),
        Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// An entry of a key as a field's value is written.
fn written(field: &Field, value: &Value) -> String {
    let text = match value {
        Value::Bool(true) if field.kind == FieldKind::Choice => "True".to_string(),
        Value::Bool(false) if field.kind == FieldKind::Choice => "False".to_string(),
        Value::Null => "None".to_string(),
        Value::String(text) => text.trim_start_matches("torch.").to_string(),
        other => number(other).unwrap_or_else(|| other.to_string()),
    };
    let short = match text.as_str() {
        "float16" => "f16",
        "bfloat16" => "bf16",
        "float32" => "f32",
        "float64" => "f64",
        other => other,
    };
    match field.labels.contains(&text) || !field.labels.iter().any(|label| label == short) {
        true => text,
        false => short.into(),
    }
}

/// A config as `name=value` pairs of a kernel's parameters.
fn config_text(kernel: &Kernel, config: &Value) -> std::result::Result<String, String> {
    let has = |name: &str| kernel.parameters.iter().any(|p| p.name == name);
    let kwargs = config["kwargs"].as_object().ok_or("a config has no kwargs")?;
    let mut pairs = Vec::new();
    for (name, value) in kwargs {
        let value = number(value).ok_or(format!("`{name}` is `{value}`, no number"))?;
        pairs.push(format!("{name}={value}"));
    }
    for (name, usual, other) in LAUNCH {
        let value = &config[name];
        let stated = if value.is_null() { usual } else { value.as_i64() };
        let own = [name, other].into_iter().find(|own| has(own) && !kwargs.contains_key(*own));
        match own {
            // no limit of the registers is 0
            Some(own) => pairs.push(format!("{own}={}", stated.unwrap_or(0))),
            None if kwargs.contains_key(name) || stated == usual => {}
            None => return Err(format!("{name} is `{value}`, and the kernel has no parameter of this name")),
        }
    }
    Ok(pairs.join(","))
}

/// Times in microseconds; `None` of a config that failed.
fn samples(times: &Value) -> std::result::Result<Option<Vec<f32>>, String> {
    let one = std::slice::from_ref(times);
    let list = times.as_array().map_or(one, Vec::as_slice);
    if list.first().is_some_and(Value::is_null) {
        return Ok(None);
    }
    let read = |ms: &Value| ms.as_f64().map(|ms| (ms * 1e3) as f32);
    let samples: Option<Vec<f32>> = list.iter().map(read).collect();
    samples.filter(|s| !s.is_empty()).map(Some).ok_or(format!("`{times}` are no times"))
}

/// Problem, config and the samples of each file.
type Timed = (Arc<str>, Arc<str>, Vec<Vec<f32>>);

/// What becomes of the rows of all files.
struct Collector<'a> {
    kernel: &'a Kernel,
    ask: &'a Options,
    /// Where in `times` a problem and config stand.
    places: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Problem, config and the samples of each file, in order of appearance; a config that failed has none.
    times: Vec<Timed>,
    imported: Imported,
}

impl Collector<'_> {
    /// The problem of a key, by its fields' names.
    fn pairs(&self, names: &[String], key: &[Value]) -> Result<Map<String, Value>> {
        let (named, more) = key.split_at(key.len().min(names.len()));
        let is_type = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("torch."));
        if let Some(value) = more.iter().find(|value| !is_type(value)) {
            return input(format!(
                "its key has {} entries, {} are named, and `{}` is no tensor's data type; name them all with --key",
                key.len(),
                names.len(),
                quoted(&value.to_string())
            ));
        }
        if self.ask.key.len() > key.len() {
            return input(format!("its key has {} entries, --key names {}", key.len(), names.len()));
        }
        let field = |name: &String| self.kernel.fields.iter().find(|f| f.name == *name);
        let own =
            names.iter().zip(named).filter_map(|(name, value)| Some((name.clone(), written(field(name)?, value))));
        Ok(own.chain(self.ask.set.iter().cloned()).map(|(name, text)| (name, Value::String(text))).collect())
    }

    /// Adds the rows of a file.
    fn add(&mut self, place: &str, pairs: &Map<String, Value>, timings: &[Value]) {
        self.imported.rows += timings.len();
        let problem = match self.kernel.problem(&Value::Object(pairs.clone()).to_string()) {
            Ok(problem) => problem,
            Err(e) => return timings.iter().for_each(|_| self.imported.bad.add(&e.to_string(), place)),
        };
        let space = ConfigSpace::new(self.kernel, &problem, &self.ask.device);
        let shown: Arc<str> = self.kernel.show_problem(&problem).into();
        for (at, timing) in timings.iter().enumerate() {
            let read = || -> std::result::Result<_, String> {
                let text = config_text(self.kernel, &timing[0])?;
                let config = self.kernel.config(&text).map_err(|e| e.to_string())?;
                Ok((config, samples(&timing[1])?))
            };
            match read() {
                Ok((config, samples)) => match space.broken(&config) {
                    Some(rule) => *self.imported.left_out.entry(rule.to_string()).or_insert(0) += 1,
                    None => self.book(&shown, self.kernel.show_config(&config).into(), samples),
                },
                Err(reason) => self.imported.bad.add(&reason, &format!("{place}, config {}", at + 1)),
            }
        }
    }

    /// Books the samples of a config, `None` where it failed.
    fn book(&mut self, problem: &Arc<str>, config: Arc<str>, samples: Option<Vec<f32>>) {
        let samples = samples.unwrap_or_default();
        let at = *self.places.entry((problem.clone(), config.clone())).or_insert(self.times.len());
        if at == self.times.len() {
            self.times.push((problem.clone(), config, Vec::new()));
        }
        let known = &mut self.times[at].2;
        match known.contains(&samples) {
            true => self.imported.repeated += 1,
            false => known.push(samples),
        }
    }

    /// The records: a config that was measured in several files has the samples of all.
    fn finish(self) -> Imported {
        let mut imported = self.imported;
        for (problem, config, samples) in self.times {
            let samples_us = samples.concat();
            let outcome = match samples_us.is_empty() {
                true => Outcome::invalid(InvalidityKind::Runtime, "recorded as taking for ever"),
                false => Outcome::Measured(Measurement { samples_us, energy: None }),
            };
            match outcome.fault() {
                Some(fault) => imported.bad.add(fault, &format!("{problem} {config}")),
                None => {
                    imported.failed += matches!(outcome, Outcome::Invalid(_)) as usize;
                    imported.dataset.records.push(Record { problem, config, outcome, observed: Default::default() });
                }
            }
        }
        imported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"{"kwargs": {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32}, "num_warps": 2, "num_ctas": 1, "num_stages": 2, "maxnreg": null, "pre_hook": null, "ir_override": null}"#;

    fn ask(key: &[&str]) -> Options {
        let set = ["mat1_stride_0=64", "mat1_stride_1=1", "mat2_stride_0=48", "mat2_stride_1=1"];
        let set = set.iter().filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
        let key = key.iter().map(|name| name.to_string()).collect();
        Options { device: Device::described("A100").unwrap(), key, set, command: String::new() }
    }

    fn triton(key: &str, rows: &[String], names: &[&str]) -> Result<Imported> {
        let text = format!(r#"{{"key": [{key}], "configs_timings": [{}]}}"#, rows.join(", "));
        import(&Kernel::open("triton_mm").unwrap(), &[("a.autotune.json".into(), text)], ask(names))
    }

    const NAMES: [&str; 5] = ["m", "n", "k", "mat1_dtype", "mat2_dtype"];
    const KEY: &str = r#"64, 48, 64, "torch.bfloat16", "torch.bfloat16", "torch.bfloat16""#;

    #[test]
    fn configs_become_records_with_their_three_times_and_infinite_ones_are_failures() {
        let bigger = CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": 32");
        let beyond = CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": 128");
        let rows = [
            format!("[{CONFIG}, [0.02, 0.019, 0.025]]"),
            format!("[{bigger}, [Infinity, Infinity, Infinity]]"),
            format!("[{beyond}, [0.1, 0.1, 0.1]]"),
            format!("[{CONFIG}, [0.02, 0.019, 0.025]]"),
            format!("[{CONFIG}, [0.03, 0.029, 0.035]]"),
        ];
        let imported = triton(KEY, &rows, &NAMES).unwrap();
        assert_eq!((imported.rows, imported.repeated, imported.failed, imported.bad.rows()), (5, 1, 1, 0));
        assert_eq!(imported.left_out.values().sum::<usize>(), 1, "{:?}", imported.left_out);
        let [measured, failed] = &imported.dataset.records[..] else { panic!("{}", imported.dataset.records.len()) };
        assert!(measured.problem.starts_with("m=64,k=64,n=48,") && measured.problem.contains("mat1_dtype=bfloat16"));
        let Outcome::Measured(times) = &measured.outcome else { panic!("measured") };
        assert_eq!(times.samples_us, [20.0, 19.0, 25.0, 30.0, 29.0, 35.0]);
        assert!(matches!(failed.outcome, Outcome::Invalid(_)));
    }

    #[test]
    fn rows_that_cannot_be_read_are_counted_and_files_and_keys_of_another_kind_refused() {
        let rows = [
            CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": \"x\""),
            CONFIG.replace("\"BLOCK_M\": 16", "\"BLOCK_M\": 17"),
            CONFIG.replace("\"num_ctas\": 1", "\"num_ctas\": 2"),
            CONFIG.replace("kwargs", "keywords"),
        ];
        let rows: Vec<String> = rows.iter().map(|config| format!("[{config}, [0.1]]")).collect();
        let more = ["[]".to_string(), format!("[{CONFIG}, [0.0, 0.0]]"), format!("[{CONFIG}, [\"soon\"]]")];
        let imported = triton(KEY, &[&rows[..], &more].concat(), &NAMES).unwrap();
        assert_eq!((imported.bad.rows(), imported.dataset.records.len()), (7, 0), "{:?}", imported.bad);
        assert!(imported.bad.0.keys().any(|reason| reason.starts_with("num_ctas is")), "{:?}", imported.bad);
        let wrong = |key: &str, names: &[&str]| triton(key, &rows, names).err().unwrap().to_string();
        assert!(wrong("1, 2, 3, 4", &["m", "n"]).contains("`3` is no tensor's data type"));
        assert!(wrong("1", &["m", "n"]).contains("has 1 entries, --key names 2"));
        assert!(wrong("1", &["rows"]).contains("no field `rows` (it has m, k, n"));
        assert!(wrong("1", &["m", "m"]).contains("given twice"));
        let import = |text: &str| {
            let file = [("a.json".to_string(), text.to_string())];
            import(&Kernel::open("triton_mm").unwrap(), &file, ask(&[])).err().unwrap().to_string()
        };
        assert!(import("{").starts_with("a.json: is no autotune.json of Triton's"));
        assert!(import("[1]").contains("no key or no configs_timings"));
    }
}
