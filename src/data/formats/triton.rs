//! What Triton's autotuner measured: the `<kernel>.autotune.json` files that it keeps in its cache, one for each key.
//!
//! A file has the values of the key without their names, then the data type of every tensor, and for each config the times in
//! milliseconds: median, 20 % and 80 % quantile. A config that failed has infinite ones, which Python writes as `Infinity`.

use crate::bad_rows::{BadRows, Twice};
use crate::dataset::{Dataset, Header};
use crate::formats::listed::{self, CUT, Listed};
use crate::formats::opened::OpenedText;
use crate::formats::origins::Origins;
use crate::formats::triton_config::{ConfigFault, config_of, field_text};
use crate::formats::values::FieldSource;
use crate::recipe::Provenance;
use crate::record::{InvalidityKind, Measurement, Outcome, Record};
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::limits::{SAMPLE_US, ZERO_BESIDE_US};
use seqtune_kernel::{ConfigSpace, Device, Kernel};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What an import is asked for beside the files.
pub struct TritonOptions {
    /// Device that was measured on, which the files do not tell.
    pub device: Device,
    /// Field that each entry of a key is, in order; `_` for one that is none. Empty: the kernel's fields in their order.
    pub key: Vec<String>,
    /// Fields that the keys lack, each with its value.
    pub set: Vec<FieldSource>,
    /// Command line, kept with the dataset.
    pub command: String,
}

/// Result of an import.
pub struct ImportedTriton {
    /// Imported records.
    pub dataset: Dataset,
    /// Number of configs in the files.
    pub rows: usize,
    /// How the first key was read: which entry is which field.
    pub first_key: Option<String>,
    /// Configs of a problem that an earlier file has.
    pub twice: Twice,
    /// Configs that took more than twice as long in one file as in another.
    pub apart: usize,
    /// Number of configs without a finite time.
    pub failed: usize,
    /// Number of rows with configs outside the kernel's space, by violated rule.
    pub left_out: BTreeMap<String, usize>,
    /// Rows of configs that the kernel cannot say, or that a file has twice.
    pub unsaid: BadRows,
    /// Rows that cannot be read, or whose problem or config is none of the kernel's.
    pub bad: BadRows,
}

/// Name of an entry of a key that is no field.
const NO_FIELD: &str = "_";

/// What Triton adds to the name of a kernel for the name of a file.
const ENDING: &str = ".autotune.json";

/// The kernel that Triton named a file after, packed or not; `None` where the file has another name.
fn kernel_of(place: &str) -> Option<&str> {
    let (name, _) = place.rsplit(['/', '\\', ' ']).next()?.split_once(ENDING)?;
    (!name.is_empty()).then_some(name)
}

/// Imports files of one kernel. Rows that cannot be read are left out and counted.
///
/// # Errors
/// [`Error::Input`] where a file is of another kind or its key has other entries, where files are of two kernels by the names that Triton gave
/// them, or where an option names no field.
pub fn import(kernel: &Kernel, files: &[OpenedText], ask: TritonOptions) -> Result<ImportedTriton> {
    let names = names(kernel, &ask)?;
    let mut origins = Origins::default();
    files.iter().try_for_each(|file| origins.add(&file.place, kernel_of(&file.place), None))?;
    let tool = "Triton's autotuner: median, 20 % and 80 % quantile of each config".into();
    let places = files.iter().map(|file| file.place.clone()).collect();
    let header = Header::new(kernel, &ask.device, 0, Provenance::Imported { tool, files: places }, ask.command.clone());
    let mut found = Collector {
        kernel,
        ask: &ask,
        places: HashMap::new(),
        times: Vec::new(),
        imported: ImportedTriton {
            dataset: Dataset { header, records: Vec::new() },
            rows: 0,
            first_key: None,
            twice: Twice::default(),
            apart: 0,
            failed: 0,
            left_out: BTreeMap::new(),
            unsaid: BadRows::default(),
            bad: BadRows::default(),
        },
        types: HashMap::new(),
    };
    for (at, OpenedText { place, text }) in files.iter().enumerate() {
        let (key, file) = match read(text) {
            Ok(read) => read,
            // one of many takes no other with it
            Err(e) if files.len() > 1 => {
                found.imported.rows += 1;
                found.imported.bad.add(&e.to_string(), place);
                continue;
            }
            Err(e) => return Err(e.at_place(place)),
        };
        let pairs = found.pairs(&names, &key).map_err(|e| e.at_place(place))?;
        found.check_types(place, &pairs, key.get(names.len()..).unwrap_or_default())?;
        if file.rows.is_empty() && !file.is_cut {
            found.imported.rows += 1;
            found.imported.bad.add("the file has no config", place);
        }
        found.imported.first_key.get_or_insert_with(|| key_as_read(&key, &pairs, names.len()));
        found.add(at, place, &pairs, &file.rows);
        if file.is_cut {
            found.imported.rows += 1;
            found.imported.bad.add(CUT, &format!("{place}, config {}", file.rows.len() + 1));
        }
    }
    Ok(found.finish())
}

/// The field of each entry of a key; the options' own, checked.
fn names(kernel: &Kernel, ask: &TritonOptions) -> Result<Vec<String>> {
    let known = |name: &str| kernel.fields.iter().any(|f| f.name == name);
    let named = ask.key.iter().filter(|name| *name != NO_FIELD).chain(ask.set.iter().map(|source| &source.field));
    let mut seen: Vec<&String> = Vec::new();
    for name in named {
        if !known(name) {
            let fields: Vec<&str> = kernel.fields.iter().map(|f| f.name.as_str()).collect();
            let fields = fields.join(", ");
            return input(format!("kernel {} has no field `{}` (it has {fields})", kernel.name, quote(name)));
        }
        if seen.contains(&name) {
            return input(format!("field `{name}` is given twice, by --key or --set"));
        }
        seen.push(name);
    }
    let free = kernel.fields.iter().filter(|f| !ask.set.iter().any(|source| source.field == f.name));
    Ok(if ask.key.is_empty() { free.map(|f| f.name.clone()).collect() } else { ask.key.clone() })
}

/// How a key was read, for people to check: files hold no names.
fn key_as_read(key: &[Value], pairs: &Map<String, Value>, named: usize) -> String {
    let fields: Vec<String> =
        pairs.iter().map(|(field, value)| format!("{field}={}", value.to_string().trim_matches('"'))).collect();
    let rest = match key.len().saturating_sub(named) {
        0 => String::new(),
        count => format!("; {count} more of its entries are no fields"),
    };
    format!("the first key, {}, was read as {}{rest}", Value::from(key), fields.join(","))
}

/// The key of a file, and its configs with their times.
fn read(text: &str) -> Result<(Vec<Value>, Listed)> {
    let no = |why: &str| Error::Input(format!("is no autotune.json of Triton's: {why}"));
    let file = listed::read(text, "configs_timings").map_err(|e| no(&e.to_string()))?;
    match file.members.get("key").and_then(Value::as_array) {
        Some(key) => Ok((key.clone(), file)),
        None => Err(no("it has no key")),
    }
}

/// Times in microseconds; `None` of a config that failed, whose median is infinite.
fn samples(times: &Value) -> std::result::Result<Option<Vec<f32>>, ConfigFault> {
    let one = std::slice::from_ref(times);
    let list = times.as_array().map_or(one, Vec::as_slice);
    if list.first().is_some_and(Value::is_null) {
        return Ok(None);
    }
    let bad = |what: String| Err(ConfigFault::Bad(what));
    // a quantile may be infinite where the median is not
    let finite: Option<Vec<f64>> =
        list.iter().filter(|ms| !ms.is_null()).map(|ms| ms.as_f64().map(|ms| ms * 1e3)).collect();
    let Some(us) = finite.filter(|us| !us.is_empty()) else {
        return bad(format!("`{}` are no times", quote(&times.to_string())));
    };
    let most = us.iter().copied().fold(0.0, f64::max);
    match us.iter().copied().fold(f64::INFINITY, f64::min) {
        least if least < 0.0 || most <= 0.0 => bad("a time is not above 0".into()),
        0.0 if most > ZERO_BESIDE_US => bad(format!("a time is 0 beside others such as `{most}` us")),
        _ if most > SAMPLE_US => bad(format!("a time is `{most:e}` us, over thirty days")),
        _ => Ok(Some(us.into_iter().map(|us| us as f32).collect())),
    }
}

/// What files tell of a problem and config.
struct Timed {
    problem: Arc<str>,
    config: Arc<str>,
    /// The samples of each file; those of a config that failed are none.
    samples: Vec<Vec<f32>>,
    /// The file that told it last.
    file: usize,
}

/// What becomes of the rows of all files.
struct Collector<'a> {
    kernel: &'a Kernel,
    ask: &'a TritonOptions,
    /// Where in `times` a problem and config stand.
    places: HashMap<(Arc<str>, Arc<str>), usize>,
    /// In order of appearance.
    times: Vec<Timed>,
    imported: ImportedTriton,
    /// Data types of tensors behind a key, by the choices of its problem, with the file that had them first.
    types: HashMap<Vec<String>, (Vec<String>, String)>,
}

impl Collector<'_> {
    /// Refuses a file whose tensors are of other data types than those of an earlier one with the same choices, since no field tells the two
    /// apart: a tensor that is there with one choice alone has its type behind the key with that choice alone.
    fn check_types(&mut self, place: &str, pairs: &Map<String, Value>, rest: &[Value]) -> Result<()> {
        let is_choice = |name: &str| self.kernel.fields.iter().any(|f| f.name == name && f.kind == FieldKind::Choice);
        let choices = pairs.iter().filter(|(name, _)| is_choice(name)).map(|(name, value)| format!("{name}={value}"));
        let texts = rest.iter().filter_map(Value::as_str);
        let types: Vec<String> = texts.filter(|text| text.starts_with("torch.")).map(String::from).collect();
        let (first, of) = self.types.entry(choices.collect()).or_insert_with(|| (types.clone(), place.into()));
        match *first == types {
            true => Ok(()),
            false => input(format!(
                "{place}: its tensors are of {}, those of {of} of {}, and no field of the kernel tells them apart: add one, and name the key's \
                 entries with --key (`_` is one that is no field); or import the files of each kind into a dataset of their own",
                types.join(", "),
                first.join(", ")
            )),
        }
    }

    /// The problem of a key, by its fields' names.
    fn pairs(&self, names: &[String], key: &[Value]) -> Result<Map<String, Value>> {
        let (named, more) = key.split_at(key.len().min(names.len()));
        let is_type = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("torch."));
        if let Some(value) = more.iter().find(|value| !is_type(value)) {
            return input(format!(
                "its key has {} entries, {} are named, and `{}` is no tensor's data type; name them all with --key",
                key.len(),
                names.len(),
                quote(&value.to_string())
            ));
        }
        if self.ask.key.len() > key.len() {
            return input(format!("its key has {} entries, --key names {}", key.len(), names.len()));
        }
        let field = |name: &String| self.kernel.fields.iter().find(|f| f.name == *name);
        let own =
            names.iter().zip(named).filter_map(|(name, value)| Some((name.clone(), field_text(field(name)?, value))));
        let set = self.ask.set.iter().map(|source| (source.field.clone(), source.from.clone()));
        Ok(own.chain(set).map(|(name, text)| (name, Value::String(text))).collect())
    }

    /// Adds the rows of a file, which is the `at`th.
    fn add(&mut self, at: usize, place: &str, pairs: &Map<String, Value>, timings: &[Value]) {
        self.imported.rows += timings.len();
        let problem = match self.kernel.problem(&Value::Object(pairs.clone()).to_string()) {
            Ok(problem) => problem,
            Err(e) => return timings.iter().for_each(|_| self.imported.bad.add(&e.to_string(), place)),
        };
        let space = ConfigSpace::new(self.kernel, &problem, &self.ask.device);
        let shown: Arc<str> = self.kernel.show_problem(&problem).into();
        for (number, timing) in timings.iter().enumerate() {
            let place = format!("{place}, config {}", number + 1);
            let read = || Ok((config_of(self.kernel, &timing[0])?, samples(&timing[1])?));
            match read() {
                Ok((config, samples)) => match space.broken(&config) {
                    Some(rule) => *self.imported.left_out.entry(rule.to_string()).or_insert(0) += 1,
                    None => self.book(&shown, self.kernel.show_config(&config).into(), samples, at, &place),
                },
                Err(ConfigFault::Unsaid(reason)) => self.imported.unsaid.add(&reason, &place),
                Err(ConfigFault::Bad(reason)) => self.imported.bad.add(&reason, &place),
            }
        }
    }

    /// Books the samples of a config, `None` where it failed. A file that has the config twice has two programs that are one to the kernel.
    fn book(&mut self, problem: &Arc<str>, config: Arc<str>, samples: Option<Vec<f32>>, file: usize, place: &str) {
        let samples = samples.unwrap_or_default();
        let at = *self.places.entry((problem.clone(), config.clone())).or_insert(self.times.len());
        let Some(known) = self.times.get_mut(at) else {
            return self.times.push(Timed { problem: problem.clone(), config, samples: vec![samples], file });
        };
        if known.samples.contains(&samples) {
            self.imported.twice.same += 1;
        } else if known.file == file {
            self.imported.unsaid.add("the file has the config already, with other times", place);
        } else if samples.is_empty() || known.samples.iter().any(Vec::is_empty) {
            self.imported.unsaid.add("an earlier file says otherwise whether the config fails", place);
        } else {
            let times = [known.samples[0][0], samples[0]];
            self.imported.apart += (times[0].max(times[1]) > 2.0 * times[0].min(times[1])) as usize;
            known.samples.push(samples);
            known.file = file;
            self.imported.twice.again += 1;
        }
    }

    /// The records: a config that was measured in several files has the samples of all.
    fn finish(self) -> ImportedTriton {
        let mut imported = self.imported;
        for Timed { problem, config, samples, .. } in self.times {
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
mod tests;
