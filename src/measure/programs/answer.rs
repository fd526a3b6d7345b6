//! What a program reports: times, joules, counters and a verdict, in JSON or in its output as regular expressions find them.

use crate::programs::step::Ended;
use regex::{Regex, RegexBuilder};
use seqtune_data::{Attempt, Energy, Invalidity, InvalidityKind};
use seqtune_predict::error::{Error, Result, quoted};
use seqtune_predict::kernel::{Run, TimeSource, Unit};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a compiled regular expression at most.
const REGEX: usize = 1 << 20;

/// Units of times by the end of a key in JSON.
const UNITS: [(&str, Unit); 4] =
    [("_s", Unit::Seconds), ("_ms", Unit::Milliseconds), ("_us", Unit::Microseconds), ("_ns", Unit::Nanoseconds)];

/// What a program reported of one or more runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// Times in microseconds.
    pub times_us: Vec<f32>,
    /// Joules of runs.
    pub joules: Vec<f64>,
    /// Further numbers by name, of each run.
    pub counters: BTreeMap<String, Vec<f64>>,
}

impl Reported {
    /// Adds what was reported of another run.
    pub fn add(&mut self, other: Reported) {
        self.joules.extend(other.joules);
        other.counters.into_iter().for_each(|(name, values)| self.counters.entry(name).or_default().extend(values));
    }

    /// Mean joules per run, with a half-width of 95 % from their scatter; `None` where none were reported.
    pub fn energy(&self) -> Option<Energy> {
        let n = self.joules.len() as f64;
        if n == 0.0 {
            return None;
        }
        let joules = self.joules.iter().sum::<f64>() / n;
        let variance = self.joules.iter().map(|j| (j - joules).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Some(Energy { joules, half_width: 1.96 * (variance / n).sqrt(), idle_watts: 0.0 })
    }

    /// Median of each counter.
    pub fn counters(&self) -> BTreeMap<String, f64> {
        let median = |values: &Vec<f64>| {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            sorted[sorted.len() / 2]
        };
        self.counters.iter().filter(|(_, v)| !v.is_empty()).map(|(name, v)| (name.clone(), median(v))).collect()
    }
}

/// Regular expressions of a program.
pub struct Patterns {
    time: Time,
    joules: Option<Regex>,
    counters: Vec<(String, Regex)>,
    right: Option<Regex>,
    wrong: Option<Regex>,
}

enum Time {
    Json,
    Pattern(Regex, Unit),
    Wall,
}

impl Patterns {
    /// Compiles the expressions of a `[run]`.
    ///
    /// # Errors
    /// [`Error::Input`] that names the one that is wrong.
    pub fn new(run: &Run) -> Result<Patterns> {
        let spec = &run.spec;
        let time = match &run.time {
            TimeSource::Json => Time::Json,
            TimeSource::Wall => Time::Wall,
            TimeSource::Pattern(pattern, unit) => Time::Pattern(number("time", pattern)?, *unit),
        };
        let counters = spec.counter.iter().map(|(name, found)| Ok((name.clone(), number(name, &found.pattern)?)));
        Ok(Patterns {
            time,
            joules: spec.joules.as_ref().map(|found| number("joules", &found.pattern)).transpose()?,
            counters: counters.collect::<Result<_>>()?,
            right: spec.right.as_ref().map(|pattern| regex("right", pattern)).transpose()?,
            wrong: spec.wrong.as_ref().map(|pattern| regex("wrong", pattern)).transpose()?,
        })
    }

    /// What a process that has ended reported of a problem of `flops` operations.
    ///
    /// # Errors
    /// [`Invalidity`] where it failed, its result is wrong, or it reported no time.
    pub fn read(&self, ended: &Ended, flops: f64) -> Attempt<Reported> {
        let text = &ended.output;
        // a program that knows more of its failure than its exit code tells it in JSON
        let object = matches!(self.time, Time::Json).then(|| last_object(text)).flatten();
        if let Some(fault) = object.as_ref().and_then(told) {
            return Err(fault);
        }
        // nor is what a wrong result says with its exit code lost
        if let Some(found) = self.wrong.as_ref().and_then(|wrong| wrong.find(text)) {
            return Err(wrong(format!("its output holds `{}`", quoted(found.as_str()))));
        }
        if let Some(fault) = ended.failure() {
            return Err(fault);
        }
        if let Some(right) = self.right.as_ref().filter(|right| !right.is_match(text)) {
            let expected = quoted(right.as_str());
            return Err(wrong(format!("its output does not hold `{expected}`{}", ended.last_words())));
        }
        let mut found = match &self.time {
            Time::Json => match &object {
                Some(object) => of_object(object)?,
                None => return Err(mute("holds no line of JSON with a time", ended)),
            },
            Time::Wall => Reported { times_us: vec![(ended.took.as_secs_f64() * 1e6) as f32], ..Reported::default() },
            Time::Pattern(pattern, unit) => {
                let times = numbers(pattern, text).into_iter().map(|x| unit.microseconds(x, flops) as f32);
                Reported { times_us: times.collect(), ..Reported::default() }
            }
        };
        if let Some(pattern) = &self.joules {
            found.joules = numbers(pattern, text);
        }
        for (name, pattern) in &self.counters {
            found.counters.insert(name.clone(), numbers(pattern, text));
        }
        sound(found).map_err(|what| mute(what, ended))
    }
}

fn regex(what: &str, pattern: &str) -> Result<Regex> {
    RegexBuilder::new(pattern).multi_line(true).size_limit(REGEX).build().map_err(|e| {
        let why = e.to_string().lines().last().unwrap_or_default().trim().to_string();
        Error::Input(format!("[run] {what}: `{}` is no regular expression: {why}", quoted(pattern)))
    })
}

/// A regular expression with a group for a number.
fn number(what: &str, pattern: &str) -> Result<Regex> {
    let regex = regex(what, pattern)?;
    match regex.captures_len() {
        2.. => Ok(regex),
        _ => Err(Error::Input(format!(
            "[run] {what}: `{}` has no group; put the number in brackets, as in `time: ([0-9.e+-]+)`",
            quoted(pattern)
        ))),
    }
}

fn numbers(pattern: &Regex, text: &str) -> Vec<f64> {
    let texts = pattern.captures_iter(text).filter_map(|found| found.get(1));
    texts.filter_map(|found| found.as_str().trim().parse().ok()).collect()
}

fn wrong(detail: String) -> Invalidity {
    Invalidity::new(InvalidityKind::Correctness, detail)
}

fn mute(what: &str, ended: &Ended) -> Invalidity {
    Invalidity::new(InvalidityKind::Runtime, format!("its output {what}{}", ended.last_words()))
}

/// Refuses times that none can be.
fn sound(found: Reported) -> std::result::Result<Reported, &'static str> {
    let is_time = |us: &f32| us.is_finite() && *us > 0.0;
    let is_number = |x: &f64| x.is_finite();
    match found {
        _ if found.times_us.is_empty() => Err("holds no time"),
        _ if !found.times_us.iter().all(is_time) => Err("holds a time that is not above 0"),
        _ if !found.joules.iter().all(|j| j.is_finite() && *j > 0.0) => Err("holds joules that are not above 0"),
        _ if !found.counters.values().flatten().all(is_number) => Err("holds a counter that is no number"),
        _ => Ok(found),
    }
}

/// The last line that is an object in JSON.
fn last_object(text: &str) -> Option<Value> {
    let lines = text.lines().rev().map(str::trim).filter(|line| line.starts_with('{'));
    lines.map(serde_json::from_str::<Value>).find_map(|value| value.ok().filter(Value::is_object))
}

/// The failure that an answer tells itself.
fn told(object: &Value) -> Option<Invalidity> {
    let why = object["why"].as_str().unwrap_or("it does not say why");
    if object["right"] == Value::Bool(false) {
        return Some(wrong(quoted(why)));
    }
    let kind = match object.get("invalid")? {
        Value::Null | Value::Bool(false) => return None,
        Value::String(kind) => kind.as_str(),
        _ => "runtime",
    };
    let kind = match kind {
        "constraints" => InvalidityKind::Constraints,
        "compile" => InvalidityKind::Compile,
        "timeout" => InvalidityKind::Timeout,
        "correctness" => InvalidityKind::Correctness,
        _ => InvalidityKind::Runtime,
    };
    Some(Invalidity::new(kind, quoted(why)))
}

/// What an object in JSON reports: `time_ms` or `times_ms` (also `_s`, `_us`, `_ns`), `joules`, `counters`.
///
/// # Errors
/// [`Invalidity`] where it tells a failure, or reports no time.
pub fn of_object(object: &Value) -> Attempt<Reported> {
    if let Some(fault) = told(object) {
        return Err(fault);
    }
    let list = |value: &Value| match value {
        Value::Array(list) => list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>(),
        value => value.as_f64().map(|x| vec![x]),
    };
    let bad = |what: &str| Invalidity::new(InvalidityKind::Runtime, format!("its answer {what}"));
    let mut found = Reported::default();
    for (ending, unit) in UNITS {
        for name in ["time", "times"] {
            let Some(value) = object.get(format!("{name}{ending}")) else { continue };
            let times = list(value).ok_or_else(|| bad("holds a time that is no number"))?;
            found.times_us.extend(times.iter().map(|x| unit.microseconds(*x, 0.0) as f32));
        }
    }
    if let Some(joules) = object.get("joules").filter(|value| !value.is_null()) {
        found.joules = list(joules).ok_or_else(|| bad("holds joules that are no number"))?;
    }
    for (name, value) in object["counters"].as_object().into_iter().flatten() {
        found.counters.insert(name.clone(), list(value).ok_or_else(|| bad("holds a counter that is no number"))?);
    }
    sound(found).map_err(bad)
}
