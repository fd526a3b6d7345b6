//! What a program reports: times, joules, counters and a verdict, and which of it can be.

use seqtune_data::{Attempt, Energy, Invalidity, InvalidityKind};
use seqtune_kernel::Unit;
use seqtune_kernel::error::quote;
use seqtune_kernel::limits::NAME;
use serde_json::Value;
use std::collections::BTreeMap;

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

/// Longest time of a run in microseconds: that of the longest step of a program. Shortest: light takes it for a third of a millimetre.
const LONGEST_US: f64 = 1e12;
const SHORTEST_US: f64 = 1e-6;

/// Most joules of a run: a megawatt for the longest one.
const JOULES: f64 = 1e12;

/// Most times, joules or values of a counter of a run, and counters.
pub(super) const NUMBERS: usize = 10_000;
const COUNTERS: usize = 200;

/// Times in microseconds, where each can be one.
///
/// # Errors
/// Words that follow "its output" or "its answer".
pub(super) fn times(us: impl Iterator<Item = f64>) -> Result<Vec<f32>, String> {
    let time = |us: f64| match us {
        _ if us.is_nan() || us <= 0.0 => Err("holds a time that is not above 0".into()),
        _ if us > LONGEST_US => Err(format!("holds a time of {}; a run takes 1,000,000 s at most", span(us))),
        _ if us < SHORTEST_US => Err(format!("holds a time of {us:.1e} us, which is none that anything takes")),
        _ => Ok(us as f32),
    };
    us.map(time).collect()
}

/// A long time in words.
fn span(us: f64) -> String {
    let days = us / 86_400e6;
    match days {
        _ if us.is_infinite() => "infinity".into(),
        0.0..1_000.0 => format!("{days:.1} days"),
        1_000.0..1e9 => format!("{:.0} years", days / 365.25),
        _ => format!("{:.0e} years", days / 365.25),
    }
}

/// Refuses what no run can have reported.
///
/// # Errors
/// Words that follow "its output" or "its answer".
pub(super) fn sound(found: Reported) -> Result<Reported, String> {
    let counters = &found.counters;
    let is_short =
        |name: &String| name.chars().count() <= NAME && !name.is_empty() && !name.chars().any(char::is_control);
    let most = counters.values().map(Vec::len).chain([found.times_us.len(), found.joules.len()]).max().unwrap_or(0);
    match () {
        () if found.times_us.is_empty() => Err("holds no time".into()),
        () if most > NUMBERS => Err(format!("holds {most} numbers of a kind; {NUMBERS} of a run are the most")),
        () if !found.joules.iter().all(|j| *j > 0.0 && *j <= JOULES) => {
            Err("holds joules that are not above 0, or more than any machine takes".into())
        }
        () if !counters.values().flatten().all(|x| x.is_finite()) => Err("holds a counter that is no number".into()),
        () if counters.len() > COUNTERS => Err(format!("holds {} counters; {COUNTERS} are the most", counters.len())),
        () if !counters.keys().all(is_short) => {
            Err("holds a counter whose name has not 1 to 64 characters in a line".into())
        }
        () => Ok(found),
    }
}

/// A result that is told to be wrong.
pub(super) fn wrong(detail: String) -> Invalidity {
    Invalidity::new(InvalidityKind::Correctness, detail)
}

/// The last object in JSON that has lines of its own, one or more.
pub(super) fn last_object(text: &str) -> Option<Value> {
    let (mut last, mut rest) = (None, text);
    while !rest.is_empty() {
        let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let object = rest[..line].trim_start().starts_with('{').then(|| values.next()?.ok()).flatten();
        // behind an object its line ends
        let behind = &rest[values.byte_offset()..];
        let end = behind.find('\n').map_or(behind.len(), |at| at + 1);
        rest = match object.filter(|_| behind[..end].trim().is_empty()) {
            Some(object) => {
                last = Some(object);
                &behind[end..]
            }
            None => &rest[line..],
        };
    }
    last
}

/// The failure that an answer tells itself.
pub(super) fn told_failure(object: &Value) -> Option<Invalidity> {
    let why = object["why"].as_str().unwrap_or("it does not say why");
    if object["right"] == Value::Bool(false) {
        return Some(wrong(quote(why)));
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
    Some(Invalidity::new(kind, quote(why)))
}

/// What an object in JSON reports: `time_ms` or `times_ms` (also `_s`, `_us`, `_ns`), `joules`, `counters`.
///
/// # Errors
/// [`Invalidity`] where it tells a failure, or reports no time.
pub fn of_object(object: &Value) -> Attempt<Reported> {
    if let Some(fault) = told_failure(object) {
        return Err(fault);
    }
    let list = |value: &Value| match value {
        Value::Array(list) => list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>(),
        value => value.as_f64().map(|x| vec![x]),
    };
    let bad = |what: &str| Invalidity::new(InvalidityKind::Runtime, format!("its answer {what}"));
    let unsound = |what: String| bad(&what);
    let mut found = Reported::default();
    for (ending, unit) in UNITS {
        for name in ["time", "times"] {
            let Some(value) = object.get(format!("{name}{ending}")) else { continue };
            let told = list(value).ok_or_else(|| bad("holds a time that is no number"))?;
            if !found.times_us.is_empty() {
                return Err(bad("holds times under two names"));
            }
            let us = told.iter().map(|x| unit.microseconds(*x, 0.0));
            found.times_us.extend(times(us).map_err(unsound)?);
        }
    }
    if let Some(joules) = object.get("joules").filter(|value| !value.is_null()) {
        found.joules = list(joules).ok_or_else(|| bad("holds joules that are no number"))?;
    }
    for (name, value) in object["counters"].as_object().into_iter().flatten() {
        found.counters.insert(name.clone(), list(value).ok_or_else(|| bad("holds a counter that is no number"))?);
    }
    if found.times_us.is_empty() {
        return Err(bad("holds no time: it is called time_s, time_ms, time_us or time_ns, or times_s and so on"));
    }
    sound(found).map_err(unsound)
}
