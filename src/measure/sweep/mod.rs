//! Measuring many configs of many problems into a journal, in the order of a plan (of each batch what does not compile first), so that an interruption loses no more than the batch that is
//! being measured.

pub mod plan;
mod precompile;

use crate::batch::{Batch, Contender, Ending, Measured};
use crate::engine::Compiled;
use crate::sweep::precompile::{CompileQueue, compiling};
use crate::worker::client::{Client, Setup};
use seqtune_data::recipe::Policy;
use seqtune_data::{Journal, Observed, Outcome, Record};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::{Config, Kernel, Problem};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// How a sweep is run.
pub struct Run {
    pub setup: Setup,
    pub policy: Policy,
    /// Configs measured interleaved.
    pub batch: usize,
    /// Processes that compile, and batches that they go ahead of the one that is measured.
    pub compilers: usize,
    pub ahead: usize,
    /// Stop after this long.
    pub budget: Option<Duration>,
    /// Measure the vendor's library once for each problem too.
    pub library: bool,
}

/// Where the time of a sweep went, in seconds, and what it brought.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Report {
    pub planned: usize,
    /// Records of the plan that the journal held before.
    pub found: usize,
    pub measured: usize,
    pub invalid: usize,
    pub seconds: f64,
    /// Waited for programs.
    pub compile_seconds: f64,
    pub measure_seconds: f64,
    /// Share of the time that was neither waiting for programs nor measuring.
    pub overhead: f64,
    /// Whether the plan is measured, and whether it is not because the budget was spent.
    pub complete: bool,
    pub stopped: bool,
    /// Problems that could not be measured, and why.
    pub failed: Vec<(String, String)>,
}

/// How a batch of a sweep ended: with the best time known of its problem in microseconds, or with why that cannot be measured.
enum BatchEnd {
    Best(f64),
    Unmeasurable(String),
}

/// So many problems that fail one after the other are the device's fault.
const FAILED: usize = 8;

/// Told of progress: records done so far, and what is going on.
pub type Progress<'a> = &'a mut dyn FnMut(usize, &str);

/// A batch of the configs of a problem that the journal lacks.
struct Left<'p> {
    kernel: &'p Kernel,
    /// Name and place for progress.
    place: String,
    /// As the journal names it.
    text: String,
    problem: &'p Problem,
    configs: Vec<&'p Config>,
    best_us: f64,
    /// Whether the vendor's library is to be measured.
    library: bool,
}

impl Run {
    /// Measures what the journal lacks of `plan`.
    pub fn run(
        &self,
        kernel: &Kernel,
        plan: &[(Problem, Vec<Config>)],
        journal: &mut Journal,
        progress: Progress,
    ) -> Result<Report> {
        let began = Instant::now();
        let left = self.left(kernel, plan, &journal.dataset.records);
        let planned = plan.iter().map(|(_, c)| c.len()).sum();
        let found = planned - left.iter().map(|l| l.configs.len()).sum::<usize>();
        let mut report = Report { planned, found, ..Report::default() };
        let compilers: Vec<Client> = (0..self.compilers.max(1)).map(|_| Client::new(self.setup.clone())).collect();
        let mut measurer = Client::new(self.setup.clone());
        if self.library {
            measurer.library()?.map_err(|reason| Error::Unavailable(format!("--library: {reason}")))?;
        }
        let until = self.budget.map(|budget| began + budget);
        let is_over = || until.is_some_and(|until| Instant::now() > until);
        let todo: Vec<(&Problem, Vec<&Config>)> = left.iter().map(|l| (l.problem, l.configs.clone())).collect();
        compiling(kernel, compilers, &todo, (self.ahead, until), |programs| {
            let (mut best, mut gone, mut in_a_row): (Option<(&str, f64)>, _, usize) = (None, "", 0);
            for (at, left) in left.iter().enumerate() {
                if left.text == gone {
                    continue;
                }
                if is_over() {
                    report.stopped = true;
                    break;
                }
                // of the batches of this problem before
                let known = best.filter(|(text, _)| *text == left.text).map_or(f64::INFINITY, |(_, us)| us);
                let waited = Instant::now();
                programs.wait(at, &mut |n| {
                    let done = report.found + report.measured + report.invalid;
                    progress(done, &format!("{}, compiling {n}", left.place))
                })?;
                report.compile_seconds += waited.elapsed().as_secs_f64();
                // what was not compiled in time is for the next run
                if is_over() {
                    report.stopped = true;
                    break;
                }
                let best_us = left.best_us.min(known);
                let measured = self.batch(left, best_us, programs, &mut measurer, (journal, &mut report), progress)?;
                in_a_row = if matches!(measured, BatchEnd::Best(_)) { 0 } else { in_a_row + 1 };
                match measured {
                    BatchEnd::Best(found) => best = Some((&left.text, found)),
                    BatchEnd::Unmeasurable(reason) if in_a_row == FAILED => {
                        return Err(Error::Failed(format!(
                            "{FAILED} problems one after the other failed, the last: {reason}"
                        )));
                    }
                    BatchEnd::Unmeasurable(reason) => {
                        gone = &left.text;
                        report.failed.push((kernel.brief_problem(left.problem), reason));
                    }
                }
            }
            Ok(())
        })?;
        report.seconds = began.elapsed().as_secs_f64();
        match report.failed.first() {
            Some((problem, reason)) if report.measured + report.invalid == 0 => {
                Err(Error::Failed(format!("{problem}: {reason}")))
            }
            _ => Ok(report.finish()),
        }
    }

    /// What is not measured yet.
    fn left<'p>(&self, kernel: &'p Kernel, plan: &'p [(Problem, Vec<Config>)], records: &[Record]) -> Vec<Left<'p>> {
        let mut known: HashMap<&str, HashMap<&str, &Record>> = HashMap::new();
        for record in records {
            known.entry(&record.problem).or_default().insert(&record.config, record);
        }
        let mut all = Vec::new();
        for (i, (problem, configs)) in plan.iter().enumerate() {
            let text = kernel.show_problem(problem);
            let known = known.remove(text.as_str()).unwrap_or_default();
            let best_us = known.values().filter_map(|r| r.outcome.time_us()).fold(f64::INFINITY, f64::min);
            let mut library = self.library && known.values().all(|r| r.observed.library_us.is_none());
            let left: Vec<&Config> =
                configs.iter().filter(|c| !known.contains_key(kernel.show_config(c).as_str())).collect();
            for configs in left.chunks(self.batch.max(1)) {
                let place = format!("problem {}/{}: {}", i + 1, plan.len(), kernel.brief_problem(problem));
                let (configs, text) = (configs.to_vec(), text.clone());
                all.push(Left { kernel, place, text, problem, configs, best_us, library });
                library = false;
            }
        }
        all
    }

    /// Measures a batch; returns the best time known of its problem then, or why the problem cannot be measured.
    fn batch(
        &self,
        left: &Left,
        best_us: f64,
        programs: &CompileQueue,
        measurer: &mut Client,
        (journal, report): (&mut Journal, &mut Report),
        progress: Progress,
    ) -> Result<BatchEnd> {
        let Left { kernel, problem, library, .. } = *left;
        let mut book = |config: &Config, (outcome, observed), report: &mut Report| {
            match &outcome {
                Outcome::Measured(_) => report.measured += 1,
                Outcome::Invalid(_) | Outcome::Tuned(_) => report.invalid += 1,
            }
            progress(report.found + report.measured + report.invalid, &left.place);
            let (problem, config) = (left.text.clone(), kernel.show_config(config));
            journal.append(Record { problem, config, outcome, observed })
        };
        let configs: Vec<Config> = left.configs.iter().map(|config| (*config).clone()).collect();
        let batch = Batch { problem, configs: &configs, library, best_us };
        let compiled = Compiled::new(batch, |at| programs.invalidity(problem, &configs[at]).cloned());
        let (began, mut best_of_batch) = (Instant::now(), best_us);
        // what is hopeless is finished first, but a journal is in the order of its plan, which a guided sweep's readers rely on
        let (mut waiting, mut next) = (BTreeMap::new(), 0);
        // the last of the batch waits for the library, whose time it is to carry
        let (at_once, mut library_us) = (compiled.sound.len().saturating_sub(library as usize), None);
        let ending = compiled.measure(measurer, kernel, &self.policy, &mut |measured| {
            let Measured { contender, outcome, observed } = measured;
            let Contender::Config(at) = contender else {
                library_us = outcome.time_us().map(|us| us as f32);
                return Ok(());
            };
            if compiled.sound.binary_search(&at).is_err() {
                return book(&configs[at], (outcome, observed), report);
            }
            best_of_batch = best_of_batch.min(outcome.time_us().unwrap_or(f64::INFINITY));
            waiting.insert(at, (outcome, observed));
            while next < at_once
                && let Some(found) = waiting.remove(&compiled.sound[next])
            {
                book(&configs[compiled.sound[next]], found, report)?;
                next += 1;
            }
            Ok(())
        });
        // what was finished before it failed is kept
        for (at, (outcome, observed)) in waiting {
            book(&configs[at], (outcome, Observed { library_us, ..observed }), report)?;
        }
        report.measure_seconds += began.elapsed().as_secs_f64();
        tracing::debug!("{}: {} configs in {:.2} s", left.place, configs.len(), began.elapsed().as_secs_f64());
        Ok(match ending? {
            Ending::Complete => BatchEnd::Best(best_of_batch),
            Ending::Unmeasurable(reason) => BatchEnd::Unmeasurable(reason),
        })
    }
}

impl Report {
    fn finish(mut self) -> Report {
        self.complete = self.found + self.measured + self.invalid == self.planned;
        self.overhead = 1.0 - (self.compile_seconds + self.measure_seconds) / self.seconds.max(1e-9);
        self
    }
}
