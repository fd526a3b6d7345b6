//! Documents of other tuners in JSON: a few facts about all of them, and one long list or object of results.

use crate::formats::json::{Part, parts, without_infinities};
use crate::record::Record;
use seqtune_kernel::error::{Result, input, quote};
use serde::Serialize;
use serde_json::{Map, Value};

/// A file of records, encoded.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// The text of the file.
    pub text: String,
    /// Records that it holds.
    pub entries: usize,
}

/// A document whose results are not parsed yet, so that one that cannot be read is left out alone.
pub struct Document<'t> {
    facts: Map<String, Value>,
    /// Text of the results.
    pub body: &'t str,
}

/// Members by which documents of others are known, what these are, and the verb that reads them.
const KNOWN: [(&str, &str); 6] = [
    ("Results", "is KTT's own output, which `seqtune import ktt` reads"),
    ("cache", "is a cache file of Kernel Tuner's, which `seqtune import kernel-tuner` reads"),
    ("results", "is a file of T4 results, which `seqtune import t4` reads"),
    ("configs_timings", "is of Triton's autotuner, which `seqtune import triton` reads"),
    ("kernel_family", "is a result of CLBlast's tuner, which `seqtune import clblast` reads"),
    ("sections", "is CLBlast's database; `seqtune import clblast` reads what its tuners write"),
];

impl<'t> Document<'t> {
    /// Reads a document whose results are the member `body`. A document that was cut off in its results is read as far as it goes.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) where the text is no object with such a member; a document of another tool is named.
    pub fn read(text: &'t str, body: &str) -> Result<Document<'t>> {
        if text.trim_start().starts_with('<') {
            return input("it is XML; KTT writes JSON too (ktt::OutputFormat::JSON), which `seqtune import ktt` reads");
        }
        let members = parts(text)?;
        let has = |name: &str| members.iter().any(|part| part.name == Some(name));
        let of_body: Vec<&Part> = members.iter().filter(|part| part.name == Some(body)).collect();
        let [results] = of_body[..] else {
            return input(match KNOWN.iter().find(|(name, _)| *name != body && has(name)) {
                Some((_, what)) => format!("it {what}"),
                None if of_body.is_empty() => format!("it has no {body}"),
                None => format!("it has {body} twice"),
            });
        };
        let mut facts = Map::new();
        for part in members.iter().filter(|part| part.name != Some(body) && part.is_whole) {
            let Ok(value) = serde_json::from_str(&without_infinities(part.text)) else { continue };
            facts.insert(part.name.unwrap_or_default().into(), value);
        }
        Ok(Document { facts, body: results.text })
    }

    /// A fact by its name; null where there is none.
    pub fn value(&self, name: &str) -> &Value {
        self.facts.get(name).unwrap_or(&Value::Null)
    }

    /// An entry of the results.
    ///
    /// # Errors
    /// A sentence where it is cut off, or no object.
    pub fn entry(part: &Part) -> std::result::Result<Map<String, Value>, String> {
        match serde_json::from_str(&without_infinities(part.text)) {
            Ok(Value::Object(entry)) => Ok(entry),
            _ if !part.is_whole => Err("is cut off".into()),
            Ok(_) => Err("is no object".into()),
            Err(e) => Err(format!("cannot be parsed (`{e}`)")),
        }
    }
}

/// A text that is not empty.
pub fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(String::from)
}

/// What marks a document as our own export, for the way back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Problem in full.
    pub problem: Option<String>,
    /// Whether the first of several runs of a config is cold, as in the documents of others.
    pub cold_runs: bool,
}

impl Mark {
    /// The mark of an export of these records, which are of one problem.
    pub fn from_records(records: &[&Record]) -> Mark {
        Mark { problem: records.first().map(|record| record.problem.to_string()), cold_runs: false }
    }
}

/// The mark of a document.
pub fn mark(value: &Value) -> Mark {
    Mark { problem: text_of(&value["problem"]), cold_runs: value["cold_runs"].as_bool().unwrap_or(true) }
}

/// A name that a file tells twice, differently.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::Error::Input) with both names.
pub fn one_name<'n>(what: &str, names: impl IntoIterator<Item = &'n str>) -> Result<Option<String>> {
    let mut names = names.into_iter();
    let Some(first) = names.next() else { return Ok(None) };
    match names.find(|name| *name != first) {
        Some(other) => {
            input(format!("holds results of two {what}, `{}` and `{}`; keep those of one", quote(first), quote(other)))
        }
        None => Ok(Some(first.into())),
    }
}
