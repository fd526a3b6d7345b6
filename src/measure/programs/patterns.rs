//! The output of a program as the regular expressions of `[run]` find times, joules, counters and a verdict in it.

use crate::programs::answer::{NUMBERS, Reported, last_object, of_object, sound, times, told_failure, wrong};
use crate::programs::number::{Beside, number, other_unit};
use crate::programs::step::Ended;
use regex::{Regex, RegexBuilder};
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result, quote};
use seqtune_kernel::{Run, TimeSource, Unit};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Bytes of a compiled regular expression at most.
const REGEX: usize = 1 << 20;

/// Longest search of an output for all that is looked for.
const SEARCH: Duration = Duration::from_secs(5);

/// Regular expressions of a program.
#[derive(Clone)]
pub struct Patterns(Arc<Searched>);

/// What is looked for.
struct Searched {
    time: Time,
    joules: Option<Number>,
    counters: Vec<(String, Number)>,
    right: Option<Regex>,
    wrong: Option<Regex>,
}

enum Time {
    Json,
    Pattern(Number, Unit),
    Wall,
}

/// A regular expression with a group for a number.
struct Number {
    regex: Regex,
    beside: Beside,
}

/// What came of a search.
pub enum Read {
    /// What was reported, or how the program failed.
    Done(Attempt<Reported>),
    /// The search did not end in its time, and goes on in a thread that nothing can end.
    Endless(Invalidity),
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
            TimeSource::Pattern(pattern, unit) => Time::Pattern(Number::new("time", pattern)?, *unit),
        };
        let counters = spec.counter.iter().map(|(name, found)| Ok((name.clone(), Number::new(name, &found.pattern)?)));
        Ok(Patterns(Arc::new(Searched {
            time,
            joules: spec.joules.as_ref().map(|found| Number::new("joules", &found.pattern)).transpose()?,
            counters: counters.collect::<Result<_>>()?,
            right: spec.right.as_ref().map(|pattern| regex("right", pattern)).transpose()?,
            wrong: spec.wrong.as_ref().map(|pattern| regex("wrong", pattern)).transpose()?,
        })))
    }

    /// What a process that has ended reported of a problem of `flops` operations, looked for within [`SEARCH`].
    pub fn read(&self, ended: Ended, flops: f64) -> Read {
        let ((sender, found), searched) = (channel(), self.0.clone());
        let words = ended.last_words();
        std::thread::spawn(move || sender.send(searched.read(&ended, flops)));
        match found.recv_timeout(SEARCH) {
            Ok(found) => Read::Done(found),
            Err(_) => Read::Endless(Invalidity::new(
                InvalidityKind::Runtime,
                format!(
                    "its output could not be searched for the patterns of [run] within {} s; write simpler ones, or let it print less{words}",
                    SEARCH.as_secs()
                ),
            )),
        }
    }
}

impl Searched {
    fn read(&self, ended: &Ended, flops: f64) -> Attempt<Reported> {
        // standard error counts where standard output holds nothing of a kind: `perf stat`, `time` and many logs are there
        let texts = [&ended.output[..], &ended.errors[..]];
        // a program that knows more of its failure than its exit code tells it in JSON
        let object = matches!(self.time, Time::Json).then(|| texts.into_iter().find_map(last_object)).flatten();
        if let Some(fault) = object.as_ref().and_then(told_failure) {
            return Err(fault);
        }
        // nor is what a wrong result says with its exit code lost
        if let Some(found) = texts.into_iter().find_map(|text| self.wrong.as_ref()?.find(text)) {
            return Err(wrong(format!("its output holds `{}`", quote(found.as_str()))));
        }
        if let Some(fault) = ended.failure() {
            return Err(fault);
        }
        if let Some(right) = self.right.as_ref().filter(|right| !texts.into_iter().any(|text| right.is_match(text))) {
            let expected = quote(right.as_str());
            return Err(wrong(format!("its output does not hold `{expected}`{}", ended.last_words())));
        }
        let bad = |what: String| mute(&what, ended);
        let mut found = match &self.time {
            Time::Json => match &object {
                Some(object) => of_object(object)?,
                None => return Err(mute("holds no line of JSON with a time", ended)),
            },
            Time::Wall => {
                let us = times([ended.took.as_secs_f64() * 1e6].into_iter()).map_err(bad)?;
                Reported { times_us: us, ..Reported::default() }
            }
            Time::Pattern(pattern, unit) => {
                let us =
                    pattern.first(texts, Some(*unit)).map_err(bad)?.into_iter().map(|x| unit.microseconds(x, flops));
                Reported { times_us: times(us).map_err(bad)?, ..Reported::default() }
            }
        };
        if let Some(pattern) = &self.joules {
            found.joules = pattern.first(texts, None).map_err(bad)?;
        }
        for (name, pattern) in &self.counters {
            found.counters.insert(name.clone(), pattern.first(texts, None).map_err(bad)?);
        }
        sound(found).map_err(bad)
    }
}

fn regex(what: &str, pattern: &str) -> Result<Regex> {
    // a line ends with `\r` as well: so do those of Windows' programs, and of progress bars
    RegexBuilder::new(pattern).multi_line(true).crlf(true).size_limit(REGEX).build().map_err(|e| {
        let why = e.to_string().lines().last().unwrap_or_default().trim().to_string();
        Error::Input(format!("[run] {what}: `{}` is no regular expression: {why}", quote(pattern)))
    })
}

impl Number {
    fn new(what: &str, pattern: &str) -> Result<Number> {
        let regex = regex(what, pattern)?;
        match regex.captures_len() {
            2.. => Ok(Number { regex, beside: Beside::new(pattern) }),
            _ => Err(Error::Input(format!(
                "[run] {what}: `{}` has no group; put the number in brackets, as in `time: ([0-9.e+-]+)`",
                quote(pattern)
            ))),
        }
    }

    /// All numbers of the first text that holds some, of times in this unit.
    ///
    /// # Errors
    /// Those of [`Number::all`].
    fn first(&self, texts: [&str; 2], unit: Option<Unit>) -> std::result::Result<Vec<f64>, String> {
        let [output, errors] = texts;
        let found = self.all(output, unit)?;
        if found.is_empty() { self.all(errors, unit) } else { Ok(found) }
    }

    /// All numbers of a text, of times in this unit.
    ///
    /// # Errors
    /// Words that follow "its output", where one cannot be taken as it stands there, or there are more than [`NUMBERS`].
    fn all(&self, text: &str, unit: Option<Unit>) -> std::result::Result<Vec<f64>, String> {
        let mut found = Vec::new();
        for group in self.regex.captures_iter(text).filter_map(|found| found.get(1)) {
            let (start, end) = (group.start(), group.end());
            found.push(number(text, start, end, self.beside)?);
            if let Some(other) = unit.and_then(|unit| other_unit(text, start, end, unit)) {
                let taken = quote(group.as_str().trim());
                return Err(format!(
                    "says `{other}` beside `{taken}`, and `unit` of [run] says another one; state the one that it prints"
                ));
            }
            if found.len() > NUMBERS {
                return Err(format!("holds more than {NUMBERS} numbers that a pattern finds; let it find fewer"));
            }
        }
        Ok(found)
    }
}

fn mute(what: &str, ended: &Ended) -> Invalidity {
    Invalidity::new(InvalidityKind::Runtime, format!("its output {what}{}", ended.last_words()))
}
