//! Measuring many configs of many problems into a journal, in the order of a plan (of each batch what does not compile first), so that an
//! interruption loses no more than the batch that is being measured.

pub mod plan;
mod precompile;

use crate::batch::{Batch, Contender, Ending, Measured, VendorLibrary};
use crate::engine::Compiled;
use crate::sweep::plan::Planned;
use crate::sweep::precompile::{CompileBatch, CompileQueue, Precompile, compiling};
use crate::worker::client::Client;
use crate::worker::setup::Setup;
use seqtune_data::recipe::Policy;
use seqtune_data::{Journal, Observed, Outcome, Record};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Kernel, Problem};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a sweep is run.
pub struct Run {
    /// Start of the workers.
    pub setup: Setup,
    /// Measuring recipe of each config.
    pub policy: Policy,
    /// Configs measured interleaved.
    pub batch: usize,
    /// Processes that compile, and batches that they go ahead of the one that is measured.
    pub compilers: usize,
    /// Batches compiled ahead of the one that is measured.
    pub ahead: usize,
    /// Stop after this long.
    pub budget: Option<Duration>,
    /// Measure the vendor's library once for each problem too.
    pub library: bool,
    /// Stop as soon as this is set; what was not finished is measured again by the next run.
    pub stop: Arc<AtomicBool>,
}

/// Where the time of a sweep went, in seconds, and what it brought.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Report {
    /// Configs of the plan.
    pub planned: usize,
    /// Records of the plan that the journal held before.
    pub found: usize,
    /// Configs measured now.
    pub measured: usize,
    /// Configs that failed now.
    pub invalid: usize,
    /// Seconds in all.
    pub seconds: f64,
    /// Waited for programs.
    pub compile_seconds: f64,
    /// Seconds of measuring.
    pub measure_seconds: f64,
    /// Share of the time that was neither waiting for programs nor measuring.
    pub overhead: f64,
    /// Whether the plan is measured, and whether it is not because the budget was spent.
    pub complete: bool,
    /// Whether it ended early because the budget was spent.
    pub stopped: bool,
    /// Whether it ended early because it was told to.
    #[serde(skip)]
    pub signalled: bool,
    /// Problems that could not be measured, and why.
    pub failed: Vec<(String, String)>,
}

/// So many problems that fail one after the other are the device's fault.
const FAILED: usize = 8;

/// Shows progress: records done so far, and the work at hand.
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
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the library is to be measured and there is none, [`Error::Failed`] where a worker cannot be started,
    /// the journal cannot be written, or one problem after the other fails.
    pub fn run(&self, kernel: &Kernel, plan: &[Planned], journal: &mut Journal, progress: Progress) -> Result<Report> {
        let began = Instant::now();
        let left = self.remaining(kernel, plan, &journal.dataset.records);
        let planned = plan.iter().map(|planned| planned.configs.len()).sum();
        let found = planned - left.iter().map(|l| l.configs.len()).sum::<usize>();
        let compilers: Vec<Client> = (0..self.compilers.max(1)).map(|_| Client::new(self.setup.clone())).collect();
        let mut measurer = Client::new(self.setup.clone());
        measurer.stop = self.stop.clone();
        if self.library
            && let VendorLibrary::Absent(reason) = measurer.library()?
        {
            return Err(Error::Unavailable(format!("--library: {reason}")));
        }
        let until = self.budget.map(|budget| began + budget);
        let mut todo = Vec::new();
        left.iter().for_each(|l| todo.push(CompileBatch { problem: l.problem, configs: l.configs.clone() }));
        let ledger = Ledger { journal, report: Report { planned, found, ..Report::default() }, progress };
        let mut measuring = Measuring { policy: &self.policy, kernel, measurer, ledger, until };
        let precompile = Precompile { ahead: self.ahead, until, stop: self.stop.clone() };
        compiling(kernel, compilers, &todo, precompile, |programs| measuring.measure(&left, programs))?;
        let mut report = measuring.ledger.report;
        report.seconds = began.elapsed().as_secs_f64();
        report.signalled = self.stop.load(Ordering::Relaxed);
        match report.failed.first() {
            Some((problem, reason)) if report.measured + report.invalid == 0 => {
                Err(Error::Failed(format!("{problem}: {reason}")))
            }
            _ => Ok(report.finish()),
        }
    }

    /// What is not measured yet.
    fn remaining<'p>(&self, kernel: &'p Kernel, plan: &'p [Planned], records: &[Record]) -> Vec<Left<'p>> {
        let mut known: HashMap<&str, HashMap<&str, &Record>> = HashMap::new();
        for record in records {
            known.entry(&record.problem).or_default().insert(&record.config, record);
        }
        let mut all = Vec::new();
        for (i, Planned { problem, configs }) in plan.iter().enumerate() {
            let text = kernel.show_problem(problem);
            let known = known.remove(text.as_str()).unwrap_or_default();
            let best_us = known.values().filter_map(|r| r.outcome.time_us()).fold(f64::INFINITY, f64::min);
            let mut library = self.library && known.values().all(|r| r.observed.library_us.is_none());
            // parsed rather than shown: a journal has fewer configs than a plan may have
            let done: HashSet<Config> = known.keys().filter_map(|text| kernel.config(text).ok()).collect();
            let left: Vec<&Config> = configs.iter().filter(|config| !done.contains(config)).collect();
            for configs in left.chunks(self.batch.max(1)) {
                let place = format!("problem {}/{}: {}", i + 1, plan.len(), kernel.brief_problem(problem));
                let (configs, text) = (configs.to_vec(), text.clone());
                all.push(Left { kernel, place, text, problem, configs, best_us, library });
                library = false;
            }
        }
        all
    }
}

/// Where outcomes are booked.
struct Ledger<'a> {
    journal: &'a mut Journal,
    report: Report,
    progress: Progress<'a>,
}

impl Ledger<'_> {
    fn show(&mut self, what: &str) {
        (self.progress)(self.report.found + self.report.measured + self.report.invalid, what);
    }

    fn book(&mut self, left: &Left, config: &Config, outcome: Outcome, observed: Observed) -> Result<()> {
        match &outcome {
            Outcome::Measured(_) => self.report.measured += 1,
            Outcome::Invalid(_) | Outcome::Tuned(_) => self.report.invalid += 1,
        }
        self.show(&left.place);
        let (problem, config) = (left.text.clone(), left.kernel.show_config(config));
        self.journal.append(Record { problem: problem.into(), config: config.into(), outcome, observed })
    }
}

/// A sweep while it measures.
struct Measuring<'a> {
    policy: &'a Policy,
    kernel: &'a Kernel,
    measurer: Client,
    ledger: Ledger<'a>,
    until: Option<Instant>,
}

impl Measuring<'_> {
    fn is_over(&self) -> bool {
        self.measurer.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() > until)
    }

    /// Measures the batches in order, until the time is over. The batches of a problem that cannot be measured are left out.
    fn measure(&mut self, batches: &[Left], programs: &mut CompileQueue) -> Result<()> {
        if !batches.is_empty() {
            // its device is open when the first programs are compiled
            self.measurer.spawn()?;
        }
        let (mut best, mut gone, mut in_a_row): (Option<(&str, f64)>, _, usize) = (None, "", 0);
        for (at, left) in batches.iter().enumerate() {
            if left.text == gone {
                continue;
            }
            if self.is_over() {
                self.ledger.report.stopped = true;
                break;
            }
            let waited = Instant::now();
            programs.wait(at, &mut |n| self.ledger.show(&format!("{}, compiling {n}", left.place)))?;
            self.ledger.report.compile_seconds += waited.elapsed().as_secs_f64();
            // what was not compiled in time is for the next run
            if self.is_over() {
                self.ledger.report.stopped = true;
                break;
            }
            // of the batches of this problem before
            let known = best.filter(|(text, _)| *text == left.text).map_or(f64::INFINITY, |(_, us)| us);
            let (found, ending) = self.batch(left, left.best_us.min(known), programs)?;
            let reason = match ending {
                Ending::Unmeasurable(reason) => reason,
                Ending::Complete => {
                    (best, in_a_row) = (Some((left.text.as_str(), found)), 0);
                    continue;
                }
                Ending::Stopped => {
                    self.ledger.report.stopped = true;
                    break;
                }
            };
            in_a_row += 1;
            if in_a_row == FAILED {
                let what = format!("{FAILED} problems one after the other failed, the last: {reason}");
                return Err(Error::Failed(what));
            }
            gone = &left.text;
            self.ledger.report.failed.push((self.kernel.brief_problem(left.problem), reason));
        }
        Ok(())
    }

    /// Measures a batch; returns the best time known of its problem then, in microseconds, and how it ended.
    fn batch(&mut self, left: &Left, best_us: f64, programs: &CompileQueue) -> Result<(f64, Ending)> {
        let Measuring { policy, kernel, measurer, ledger, .. } = self;
        let Left { problem, library, .. } = *left;
        // large buffers take minutes to fill, as a reference does
        ledger.show(&format!("{}, preparing its data", left.place));
        let configs: Vec<Config> = left.configs.iter().map(|config| (*config).clone()).collect();
        let batch = Batch { problem, configs: &configs, library, best_us };
        let compiled = Compiled::new(batch, |at| programs.invalidity(problem, &configs[at]).cloned());
        let (began, mut best_of_batch) = (Instant::now(), best_us);
        // what is hopeless is finished first, but a journal is in the order of its plan, which a guided sweep's readers rely on
        let (mut waiting, mut next) = (BTreeMap::new(), 0);
        // the last of the batch waits for the library, whose time it is to carry
        let (at_once, mut library_us) = (compiled.sound.len().saturating_sub(library as usize), None);
        let ending = compiled.measure(measurer, kernel, policy, &mut |measured| {
            let Measured { contender, outcome, observed } = measured;
            let Contender::Config(at) = contender else {
                library_us = outcome.time_us().map(|us| us as f32);
                return Ok(());
            };
            if compiled.sound.binary_search(&at).is_err() {
                return ledger.book(left, &configs[at], outcome, observed);
            }
            best_of_batch = best_of_batch.min(outcome.time_us().unwrap_or(f64::INFINITY));
            waiting.insert(at, (outcome, observed));
            while next < at_once
                && let Some((outcome, observed)) = waiting.remove(&compiled.sound[next])
            {
                ledger.book(left, &configs[compiled.sound[next]], outcome, observed)?;
                next += 1;
            }
            Ok(())
        });
        // what was finished before it failed is kept
        for (at, (outcome, observed)) in waiting {
            ledger.book(left, &configs[at], outcome, Observed { library_us, ..observed })?;
        }
        ledger.report.measure_seconds += began.elapsed().as_secs_f64();
        tracing::debug!("{}: {} configs in {:.2} s", left.place, configs.len(), began.elapsed().as_secs_f64());
        Ok((best_of_batch, ending?))
    }
}

impl Report {
    fn finish(mut self) -> Report {
        self.complete = self.found + self.measured + self.invalid == self.planned;
        self.overhead = 1.0 - (self.compile_seconds + self.measure_seconds) / self.seconds.max(1e-9);
        self
    }
}
