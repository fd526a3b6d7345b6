//! A program that is started once and answers requests: a line of JSON each, on its standard streams.

use crate::processes::guard::{end_children, kill_tree};
use crate::processes::lines::{Tail, for_each_line};
use crate::programs::answer::{Reported, of_object};
use crate::programs::step::{ProcessStep, receive};
use seqtune_data::formats::json::without_infinities;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result, quote};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Config, Kernel, Problem};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Bytes of an answer at most, and answers that are kept for who has not asked for them: a program that prints more waits.
const ANSWER: usize = 1 << 20;
const KEPT: usize = 4;

/// A running program.
pub(super) struct Served {
    child: RefCell<Child>,
    stdin: ChildStdin,
    answers: Receiver<Value>,
    errors: Tail,
    next: u64,
    is_confused: bool,
}

/// What is asked of it.
pub(super) struct Question<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) problem: &'a Problem,
    pub(super) config: &'a Config,
    pub(super) seed: u64,
    pub(super) samples: usize,
    /// Folder of the build, where there is one.
    pub(super) build: Option<String>,
}

impl Question<'_> {
    fn line(&self, id: u64) -> String {
        let Question { kernel, problem, config, seed, samples, build } = self;
        let field = |(f, v): (&seqtune_kernel::kernel_toml::spec::Field, &f64)| {
            let value: Value = match f.kind {
                FieldKind::Size => (*v as u64).into(),
                FieldKind::Real => (*v).into(),
                FieldKind::Choice => f.show(*v).into(),
            };
            (f.name.clone(), value)
        };
        let problem: Map<String, Value> = kernel.fields.iter().zip(&problem.values).map(field).collect();
        let chosen = kernel.parameters.iter().zip(&config.0);
        let config: Map<String, Value> = chosen.map(|(p, c)| (p.name.clone(), p.json(*c as usize))).collect();
        let mut asked = json!({ "id": id, "problem": problem, "config": config, "samples": samples, "seed": seed });
        if let Some(build) = build {
            asked["build"] = build.clone().into();
        }
        asked.to_string() + "\n"
    }
}

/// The object that a line is. Python writes numbers that JSON has not: they are null, as if they were not there.
fn answer_of(line: &[u8]) -> Option<Value> {
    let object = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    object(line).or_else(|| {
        let text = std::str::from_utf8(line).ok().filter(|text| text.trim_start().starts_with('{'))?;
        object(without_infinities(text).as_bytes())
    })
}

impl Served {
    /// Starts a program.
    ///
    /// # Errors
    /// The error of [`Step::start`].
    pub(super) fn start(step: &ProcessStep) -> Result<Served> {
        let mut child = step.start(Stdio::piped())?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Failed("[run]: a program has no pipes".into()));
        };
        let (sender, answers) = sync_channel(KEPT);
        std::thread::spawn(move || {
            for_each_line(BufReader::new(stdout), ANSWER, |line| match answer_of(line) {
                Some(answer) => sender.send(answer).is_ok(),
                // a program may print what it likes between its answers
                None => true,
            });
        });
        let errors = Tail::listen(child.stderr.take());
        Ok(Served { child: RefCell::new(child), stdin, answers, errors, next: 0, is_confused: false })
    }

    /// Whether the process is gone.
    pub(super) fn has_ended(&self) -> bool {
        !matches!(self.child.borrow_mut().try_wait(), Ok(None))
    }

    /// Whether it failed in a way after which it is not to be asked again.
    pub(super) fn is_confused(&self) -> bool {
        self.is_confused
    }

    /// Asks for a config.
    ///
    /// # Errors
    /// [`Invalidity`] where the config fails, or the program dies, hangs or answers nonsense.
    pub(super) fn ask(&mut self, question: &Question, limit: Duration) -> Attempt<Reported> {
        self.next += 1;
        let (line, mut left) = (question.line(self.next), limit);
        if self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush()).is_err() {
            return Err(self.lost());
        }
        loop {
            match receive(&self.answers, &mut left) {
                Ok(answer) if answer["id"] == json!(self.next) => return of_object(&answer),
                // an answer to what was asked before; they take their time, which is limited, as silence does
                Ok(answer) if answer["id"].as_u64().is_some_and(|id| id < self.next) => {}
                Ok(answer) => {
                    self.is_confused = true;
                    let detail = format!("its answer has not the id of the request: {}", quote(&answer.to_string()));
                    return Err(Invalidity::new(InvalidityKind::Runtime, detail));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.is_confused = true;
                    let detail =
                        format!("no answer to the request within {:.1} s{}", limit.as_secs_f64(), self.last_words());
                    return Err(Invalidity::new(InvalidityKind::Timeout, detail));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost()),
            }
        }
    }

    fn lost(&mut self) -> Invalidity {
        self.is_confused = true;
        // it may close its output a moment before its end
        std::thread::sleep(Duration::from_millis(20));
        let how = match self.child.borrow_mut().try_wait() {
            Ok(Some(status)) => format!("it ended: {status}"),
            _ => "it closed its output".into(),
        };
        Invalidity::new(InvalidityKind::Runtime, how + &self.last_words())
    }

    fn last_words(&self) -> String {
        match self.errors.so_far().lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("; its last words: {}", quote(line.trim())),
            None => "; standard error is empty".into(),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let leader = self.child.borrow().id();
        kill_tree(leader);
        let _ = self.child.borrow_mut().wait();
        end_children(&[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_numbers_that_json_lacks_is_an_answer_and_a_print_is_none() {
        let answer = answer_of(b"{\"id\": 3, \"time_s\": NaN, \"joules\": -Infinity}\n").unwrap();
        assert_eq!(answer, json!({"id": 3, "time_s": null, "joules": null}));
        assert!(of_object(&answer).unwrap_err().detail.contains("holds a time that is no number"));
        let two = json!({"times_s": [0.1], "time_ms": 3});
        assert!(of_object(&two).unwrap_err().detail.contains("holds times under two names"));
        assert!(of_object(&json!({"seconds": 0.1})).unwrap_err().detail.contains("it is called time_s"));
        assert!(answer_of(b"NaN\n").is_none() && answer_of(b"{ not json\n").is_none() && answer_of(b"12\n").is_none());
    }
}
