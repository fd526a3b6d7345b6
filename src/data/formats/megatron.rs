//! Tables of Megatron-Core's `core.tuning`: a file for an architecture, in which a kernel's tuning key has the config to launch.
//!
//! A key has the autotuner's arguments as `name=value`, then the data type of each tensor, between `|`. The key `*` stands for all others. The
//! recordings of ranks have the same rows. Megatron-Core launches the config of a row only where it is one of the kernel's own candidates.
//!
//! Source of the form: `README.md`, `table.py`, `selection.py` and `tables/sm103.json` of `megatron/core/tuning` in NVIDIA/Megatron-LM, at
//! commit 1a0f262 of 2026.

use crate::bad_rows::BadRows;
use crate::formats::opened::OpenedText;
use crate::formats::triton_config::field_text;
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Kernel, Problem};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The key of a row for all keys that have none.
pub const ANY: &str = "*";

/// The field that the data type of the first tensor is, where a key does not name it.
const DTYPE: &str = "dtype";

/// A tuning key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningKey {
    /// As Megatron-Core writes it.
    pub text: String,
    /// Names and values, as JSON of texts.
    arguments: Map<String, Value>,
    /// Data types of the tensors, such as `torch.bfloat16`.
    types: Vec<String>,
}

impl TuningKey {
    /// Reads a key such as `emb_dim=64|head_num=16|torch.bfloat16|torch.bfloat16`.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow the key.
    pub fn read(text: &str) -> std::result::Result<TuningKey, String> {
        let mut key = TuningKey { text: text.into(), arguments: Map::new(), types: Vec::new() };
        for part in text.split('|').map(str::trim) {
            match part.split_once('=') {
                Some((name, value)) if is_name(name) => {
                    if key.arguments.insert(name.into(), value.into()).is_some() {
                        return Err(format!("has `{}` twice", quote(name)));
                    }
                }
                None if part.starts_with("torch.") => key.types.push(part.into()),
                _ => return Err(format!("has the part `{}`, neither name=value nor a data type", quote(part))),
            }
        }
        Ok(key)
    }

    /// The problem of a key. `set` are values of fields that keys do not have, `types` the fields that the tensors' data types are, in order.
    ///
    /// # Errors
    /// [`Error::Problem`] where the kernel has not these fields, or other values of them.
    pub fn problem(&self, kernel: &Kernel, set: &Map<String, Value>, types: &[String]) -> Result<Problem> {
        if let Some(name) = set.keys().find(|name| self.arguments.contains_key(*name)) {
            return Err(Error::Problem(format!("the key has `{}` itself, and --set names it", quote(name))));
        }
        let mut pairs = Map::new();
        for (name, value) in self.arguments.iter().chain(set) {
            let field = kernel.fields.iter().find(|field| field.name == *name);
            let text = field.map_or_else(|| value.clone(), |field| Value::String(field_text(field, value)));
            pairs.insert(name.clone(), text);
        }
        let usual = [DTYPE.to_string()];
        let types = if types.is_empty() { &usual[..] } else { types };
        for (name, own) in types.iter().zip(&self.types) {
            let field = kernel.fields.iter().find(|field| field.name == *name && !pairs.contains_key(name));
            if let Some(field) = field {
                pairs.insert(name.clone(), field_text(field, &Value::String(own.clone())).into());
            }
        }
        kernel.problem(&Value::Object(pairs).to_string())
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_') && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether a text is an architecture, such as `sm90` or `sm103`.
pub fn is_architecture(text: &str) -> bool {
    text.strip_prefix("sm").is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// A key with what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedKey {
    /// Architecture that it was met on, if told.
    pub architecture: Option<String>,
    /// Function of the kernel, with or without its module, if told.
    pub function: Option<String>,
    /// The key.
    pub key: TuningKey,
}

/// Whether two names are of one function: with or without the module, and without underscores before it.
pub fn is_same_function(a: &str, b: &str) -> bool {
    let bare = |name: &str| name.rsplit('.').next().unwrap_or(name).trim_start_matches('_').to_string();
    bare(a) == bare(b) && (!a.contains('.') || !b.contains('.') || a == b)
}

/// Keys of all sources.
#[derive(Default)]
pub struct AskedKeys {
    /// Distinct keys, in order of appearance.
    pub keys: Vec<AskedKey>,
    /// Keys that were met, each time.
    pub met: usize,
    /// What cannot be read.
    pub bad: BadRows,
    /// Keys with what stands beside them.
    seen: HashSet<String>,
}

impl AskedKeys {
    /// Adds the keys of a recording, a table, a log or a list.
    pub fn add(&mut self, file: &OpenedText) {
        match file.text.trim_start().starts_with('{') {
            true => self.add_json(file),
            false => self.add_lines(file),
        }
    }

    fn add_json(&mut self, file: &OpenedText) {
        let Ok(whole) = serde_json::from_str::<Map<String, Value>>(&file.text) else {
            self.met += 1;
            return self.bad.add("is cut off, or no JSON", &file.place);
        };
        let functions = functions_of(&whole);
        if functions.is_empty() {
            self.met += 1;
            return self.bad.add("is neither a recording nor a table of Megatron-Core with rows", &file.place);
        }
        for own in functions {
            for key in own.rows.keys().filter(|key| *key != ANY) {
                self.add_key(own.architecture, Some(own.name), key, &file.place);
            }
        }
    }

    fn add_lines(&mut self, file: &OpenedText) {
        for (at, line) in file.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
            let is_end = |c: char| c.is_whitespace() || "'\"`,;".contains(c);
            let found = line.split(is_end).find(|word| word.contains('|') && word.contains(['=', '.']));
            let Some(word) = found.map(|word| word.trim_end_matches([':', '.'])) else { continue };
            let place = format!("{}, line {}", file.place, at + 1);
            match word.split_once('|').filter(|(first, _)| is_architecture(first)) {
                Some((architecture, rest)) => match rest.split_once('|') {
                    Some((function, key)) => self.add_key(Some(architecture), Some(function), key, &place),
                    None => self.add_key(Some(architecture), None, rest, &place),
                },
                None => self.add_key(None, None, word, &place),
            }
        }
    }

    fn add_key(&mut self, architecture: Option<&str>, function: Option<&str>, key: &str, place: &str) {
        self.met += 1;
        match TuningKey::read(key) {
            Ok(key) => {
                if self.seen.insert(format!("{architecture:?} {function:?} {}", key.text)) {
                    let [architecture, function] = [architecture, function].map(|text| text.map(String::from));
                    self.keys.push(AskedKey { architecture, function, key });
                }
            }
            Err(reason) => self.bad.add(&format!("a key {reason}"), place),
        }
    }
}

/// The rows of a function in a recording or a table.
struct FunctionRows<'j> {
    architecture: Option<&'j str>,
    name: &'j str,
    rows: &'j Map<String, Value>,
}

/// The functions of a recording or of a table; none of other JSON.
fn functions_of(whole: &Map<String, Value>) -> Vec<FunctionRows<'_>> {
    let mut found = Vec::new();
    match whole.get("kernels").and_then(Value::as_object) {
        Some(kernels) => add_functions(whole.get("arch").and_then(Value::as_str), kernels, &mut found),
        None => {
            for (name, kernels) in whole.iter().filter_map(|(name, own)| Some((name, own.as_object()?))) {
                add_functions(Some(name), kernels, &mut found);
            }
        }
    }
    found
}

fn add_functions<'j>(
    architecture: Option<&'j str>,
    kernels: &'j Map<String, Value>,
    found: &mut Vec<FunctionRows<'j>>,
) {
    let rows = kernels.iter().filter_map(|(name, rows)| Some((name, rows.as_object()?)));
    found.extend(rows.map(|(name, rows)| FunctionRows { architecture, name, rows }));
}

/// The configs of a function that a file lists: those of a list, of Triton's cache, or of the function's rows in a recording or a table.
///
/// # Errors
/// [`Error::Input`] where the file lists none.
pub fn listed_configs(file: &OpenedText, function: &str) -> Result<Vec<Value>> {
    let whole: Value =
        serde_json::from_str(&file.text).map_err(|e| Error::Input(format!("{}: is no JSON: {e}", file.place)))?;
    let is_config = |value: &&Value| value.get("kwargs").is_some();
    // Triton's cache has pairs of a config and its times
    let first = |pair: &Value| pair.get(0).cloned().unwrap_or_default();
    let listed: Vec<Value> = match (&whole, whole.get("configs_timings").and_then(Value::as_array)) {
        (_, Some(timings)) => timings.iter().map(first).collect(),
        (Value::Array(list), None) => list.clone(),
        (Value::Object(own), None) => {
            let own = functions_of(own).into_iter().filter(|own| is_same_function(own.name, function));
            own.flat_map(|own| own.rows.values()).cloned().collect()
        }
        _ => Vec::new(),
    };
    let found: Vec<Value> = listed.iter().filter(is_config).cloned().collect();
    match found.is_empty() {
        true => input(format!("{}: lists no config of {}, which has kwargs", file.place, quote(function))),
        false => Ok(found),
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedTable {
    members: Map<String, Value>,
}

impl TunedTable {
    /// A table without rows. `triton` is a version, or empty.
    pub fn new(architecture: &str, triton: &str) -> TunedTable {
        let members = json!({ "arch": architecture, "kernels": {}, "packages": {}, "source": "", "triton": triton });
        TunedTable { members: members.as_object().cloned().unwrap_or_default() }
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`Error::Input`] where it is none, or of another architecture.
    pub fn read(file: &OpenedText, architecture: &str) -> Result<TunedTable> {
        let members: Map<String, Value> = serde_json::from_str(&file.text)
            .map_err(|e| Error::Input(format!("{}: is no table of Megatron-Core: {e}", file.place)))?;
        let own = members.get("arch").and_then(Value::as_str).unwrap_or_default();
        let rows = members.get("kernels").and_then(Value::as_object);
        match rows.is_some_and(|kernels| kernels.values().all(Value::is_object)) {
            false => input(format!(
                "{}: is no table of Megatron-Core, which has kernels; a recording is a source",
                file.place
            )),
            true if own != architecture => {
                input(format!("{}: is a table of {}, not of {architecture}", file.place, quote(own)))
            }
            true => Ok(TunedTable { members }),
        }
    }

    fn kernels(&self) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
        let kernels = self.members.get("kernels").and_then(Value::as_object);
        kernels.into_iter().flatten().filter_map(|(name, rows)| Some((name, rows.as_object()?)))
    }

    /// Functions that have rows.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.kernels().map(|(name, _)| name.as_str())
    }

    /// Rows of all functions.
    pub fn len(&self) -> usize {
        self.kernels().map(|(_, rows)| rows.len()).sum()
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a function has a row for a key itself.
    pub fn has(&self, function: &str, key: &str) -> bool {
        self.kernels().any(|(name, rows)| name == function && rows.contains_key(key))
    }

    /// Adds a row, in the place of the one that is there.
    pub fn insert(&mut self, function: &str, key: &str, config: Value) {
        let kernels = self.members.entry("kernels").or_insert_with(|| json!({}));
        kernels[function][key] = config;
    }

    /// Says where rows that were added come from, behind what the table says of others.
    pub fn add_source(&mut self, source: &str) {
        let before = self.members.get("source").and_then(Value::as_str).unwrap_or_default();
        let whole = if before.is_empty() { source.to_string() } else { format!("{before}; {source}") };
        self.members.insert("source".into(), whole.into());
    }

    /// The text of its file.
    ///
    /// # Errors
    /// [`Error::Failed`] where it cannot be written as JSON.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(&self.members);
        text.map(|text| text + "\n").map_err(|e| Error::Failed(format!("writing a table: {e}")))
    }
}

#[cfg(test)]
mod tests;
