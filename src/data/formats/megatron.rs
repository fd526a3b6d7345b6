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

    /// The problem of a key. `set` are values of fields that keys do not have.
    ///
    /// # Errors
    /// [`Error::Problem`] where the kernel has not these fields, or other values of them.
    pub fn problem(&self, kernel: &Kernel, set: &Map<String, Value>) -> Result<Problem> {
        let mut pairs = Map::new();
        for (name, value) in self.arguments.iter().chain(set) {
            let field = kernel.fields.iter().find(|field| field.name == *name);
            let text = field.map_or_else(|| value.clone(), |field| Value::String(field_text(field, value)));
            pairs.insert(name.clone(), text);
        }
        let dtype = kernel.fields.iter().find(|field| field.name == DTYPE && !pairs.contains_key(DTYPE));
        if let Some((field, first)) = dtype.zip(self.types.first()) {
            pairs.insert(DTYPE.into(), field_text(field, &Value::String(first.clone())).into());
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
            return self.bad.add("is no whole object of JSON", &file.place);
        };
        let table = whole.get("kernels").and_then(Value::as_object);
        let architectures: Vec<(Option<&str>, &Map<String, Value>)> = match table {
            Some(kernels) => vec![(whole.get("arch").and_then(Value::as_str), kernels)],
            None => whole.iter().filter_map(|(name, own)| Some((Some(name.as_str()), own.as_object()?))).collect(),
        };
        let before = self.met;
        for (architecture, kernels) in architectures {
            for (function, rows) in kernels.iter().filter_map(|(name, rows)| Some((name, rows.as_object()?))) {
                for key in rows.keys().filter(|key| *key != ANY) {
                    self.add_key(architecture, Some(function), key, &file.place);
                }
            }
        }
        if self.met == before && table.is_none() {
            self.met += 1;
            self.bad.add("is neither a recording nor a table of Megatron-Core", &file.place);
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

/// The configs that a file lists: those of a list, of Triton's cache, of a recording or of a table.
///
/// # Errors
/// [`Error::Input`] where the file lists none.
pub fn listed_configs(file: &OpenedText) -> Result<Vec<Value>> {
    let whole: Value =
        serde_json::from_str(&file.text).map_err(|e| Error::Input(format!("{}: is no JSON: {e}", file.place)))?;
    let mut found = Vec::new();
    collect_configs(&whole, 6, &mut found);
    match found.is_empty() {
        true => input(format!("{}: lists no config, which has kwargs", file.place)),
        false => Ok(found),
    }
}

/// Adds the objects within `depth` levels that have `kwargs`.
fn collect_configs(value: &Value, depth: usize, found: &mut Vec<Value>) {
    match value {
        Value::Object(own) if own.contains_key("kwargs") => found.push(value.clone()),
        Value::Object(own) if depth > 0 => own.values().for_each(|value| collect_configs(value, depth - 1, found)),
        Value::Array(own) if depth > 0 => own.iter().for_each(|value| collect_configs(value, depth - 1, found)),
        _ => {}
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
            false => input(format!("{}: is no table of Megatron-Core: it has no kernels", file.place)),
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
mod tests {
    use super::*;

    const KEY: &str = "m=64|n=128|k=32|torch.bfloat16|torch.bfloat16|torch.float32";

    fn opened(text: &str) -> OpenedText {
        OpenedText { place: "x".into(), text: text.into() }
    }

    fn asked(text: &str) -> AskedKeys {
        let mut found = AskedKeys::default();
        found.add(&opened(text));
        found
    }

    #[test]
    fn keys_of_recordings_tables_logs_and_lists_are_the_same() {
        let rows = format!(r#"{{"{KEY}": {{"kwargs": {{}}, "num_warps": 4, "num_stages": 3}}, "*": {{}}}}"#);
        let key = TuningKey::read(KEY).unwrap();
        for (text, architecture, function) in [
            (format!(r#"{{"sm103": {{"_mm_kernel": {rows}}}}}"#), Some("sm103"), Some("_mm_kernel")),
            (format!(r#"{{"arch": "sm90", "kernels": {{"a.b._mm": {rows}}}}}"#), Some("sm90"), Some("a.b._mm")),
            (format!("Ranks disagree on 1 choice:\n  sm90|_mm|{KEY}\n    m=16;warps=4\n"), Some("sm90"), Some("_mm")),
            (format!("# of mine\n\n{KEY}\n{KEY}\n"), None, None),
        ] {
            let found = asked(&text);
            let [architecture, function] = [architecture, function].map(|text| text.map(String::from));
            assert_eq!(found.keys, [AskedKey { architecture, function, key: key.clone() }], "{text}");
            assert_eq!(found.bad.rows(), 0, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_counted_with_its_reason() {
        for (text, why) in [
            (r#"{"sm90": {"_mm": {"m=1"#, "no whole object"),
            (r#"{"fp8": 3}"#, "neither a recording nor a table"),
            (r#"{"sm90": {"_mm": {"m=1|fast": {}}}}"#, "has the part `fast`"),
            ("m=1|m=2", "has `m` twice"),
            ("m=1|torch.bfloat16|7=3", "has the part `7=3`"),
        ] {
            let found = asked(text);
            assert!(found.bad.text().contains(why), "{text}: {}", found.bad.text());
            assert!(found.keys.is_empty() && found.met == 1);
        }
        assert_eq!(asked("no key | here\n").met, 0);
    }

    #[test]
    fn a_key_is_a_problem_by_the_names_of_its_fields_and_the_type_of_its_first_tensor() {
        let kernel = Kernel::open("gemm").unwrap();
        let sizes = kernel.fields.iter().filter(|field| field.labels.is_empty()).map(|f| format!("{}=64", f.name));
        let key = TuningKey::read(&(sizes.collect::<Vec<_>>().join("|") + "|torch.float16|torch.int32")).unwrap();
        let problem = kernel.show_problem(&key.problem(&kernel, &Map::new()).unwrap());
        assert!(problem.contains("dtype=f16"), "{problem}");
        let other = TuningKey::read("M=64|speed=3").unwrap().problem(&kernel, &Map::new()).unwrap_err();
        assert!(other.to_string().contains("speed"), "{other}");
    }

    #[test]
    fn functions_are_the_same_with_and_without_their_module() {
        for (a, b, same) in
            [("a.b._mm", "_mm", true), ("a.b._mm", "mm", true), ("a.b._mm", "c._mm", false), ("_mm", "_mm_bwd", false)]
        {
            assert_eq!(is_same_function(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn rows_are_added_beside_those_that_a_table_has_and_all_else_stays() {
        let text = r#"{"arch": "sm90", "kernels": {"f": {"*": {"kwargs": {}}}}, "packages": {"mamba_ssm": "2"}, "source": "a", "triton": "3"}"#;
        let mut table = TunedTable::read(&opened(text), "sm90").unwrap();
        table.insert("g", KEY, json!({ "kwargs": { "B": 1 }, "num_warps": 4, "num_stages": 3 }));
        table.add_source("seqtune");
        let again = TunedTable::read(&opened(&table.text().unwrap()), "sm90").unwrap();
        assert_eq!(again, table);
        assert!((again.has("f", ANY), again.has("g", KEY), again.has("g", ANY), again.len()) == (true, true, false, 2));
        assert_eq!(again.members["source"], "a; seqtune");
        assert_eq!(again.members["packages"]["mamba_ssm"], "2");
        let other = TunedTable::read(&opened(text), "sm103").unwrap_err().to_string();
        assert!(other.contains("is a table of sm90, not of sm103"), "{other}");
        assert!(TunedTable::read(&opened("{}"), "sm90").unwrap_err().to_string().contains("no kernels"));
        assert!(TunedTable::new("sm90", "").is_empty());
    }

    #[test]
    fn configs_are_found_in_lists_caches_recordings_and_tables() {
        let config = r#"{"kwargs": {"B": 1}, "num_warps": 4}"#;
        for text in [
            format!("[{config}]"),
            format!(r#"{{"key": [1], "configs_timings": [[{config}, [0.1, 0.1, 0.1]]]}}"#),
            format!(r#"{{"sm90": {{"f": {{"m=1": {config}}}}}}}"#),
            format!(r#"{{"arch": "sm90", "kernels": {{"f": {{"*": {config}}}}}}}"#),
        ] {
            assert_eq!(listed_configs(&opened(&text)).unwrap(), [serde_json::from_str::<Value>(config).unwrap()]);
        }
        assert!(listed_configs(&opened("[]")).is_err() && listed_configs(&opened("x")).is_err());
    }
}
