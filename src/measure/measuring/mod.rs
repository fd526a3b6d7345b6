//! Measurement of batches: check against the reference, warm-up, interleaved rounds until intervals are tight, energy.

mod checks;
pub mod energy;
pub mod interleave;
mod metering;
mod monitor;
pub mod on_device;
pub mod roofline;
pub mod subject;
pub mod trial;
pub mod variant;
mod winner;

use crate::batch::{Batch, BatchStep, Contender, Measured};
use crate::executor::Timing;
use crate::measuring::energy::EnergyMeter;
use crate::measuring::interleave::Interleaved;
use crate::measuring::monitor::DeviceMonitor;
use crate::measuring::subject::Subject;
use crate::measuring::trial::{LONG_US, Stage, Trial};
use seqtune_data::recipe::{Cache, Policy};
use seqtune_data::{Measurement, Observed, Outcome};
use seqtune_kernel::Clocks;
use seqtune_kernel::error::Result;
use std::time::Instant;

/// Limit of a round in microseconds for more than [`FEW`] configs, which are lost together when a sweep is interrupted.
const ROUND_US: f64 = 2e6;
const FEW: usize = 16;

/// Most configs of a round, because their programs are kept until all are done.
const MANY: usize = 512;

/// Finishes trials after a round, those that are too slow singly and competing ones together; returns the indices of those that are done now.
fn finish_round<W>(running: &mut [Trial<W>], rounds: &Interleaved, policy: &Policy, best_us: f64) -> Vec<usize> {
    let counted = rounds.undisturbed_samples(running.len());
    for (candidate, samples) in running.iter_mut().zip(counted).filter(|(c, _)| !c.done) {
        candidate.samples = samples;
    }
    let stages: Vec<(usize, Stage)> = running
        .iter()
        .enumerate()
        .filter(|(_, c)| !c.done)
        .map(|(at, c)| (at, c.stage(policy, best_us, rounds.turns(at), rounds.all(at))))
        .collect();
    let all = stages.iter().all(|(_, stage)| *stage != Stage::Open);
    let done = stages.into_iter().filter(|(_, stage)| all || stage.is_over()).map(|(at, _)| at);
    let done: Vec<usize> = done.collect();
    done.iter().for_each(|at| running[*at].done = true);
    done
}

/// Measurement of the configs of a subject.
pub struct Bench<S> {
    /// What is measured.
    pub subject: S,
    meter: Option<Meter>,
}

/// Batch under measurement.
struct Pass<'a> {
    batch: &'a Batch<'a>,
    policy: &'a Policy,
    best_us: f64,
    report: &'a mut dyn FnMut(BatchStep),
}

impl Pass<'_> {
    fn begin(&mut self, contender: Contender) {
        (self.report)(BatchStep::Begin(contender));
    }

    fn finish(&mut self, measured: Measured) {
        (self.report)(BatchStep::Finished(measured));
    }
}

/// Energy counter with the idle power in watts, or the reason for its absence.
type Meter = std::result::Result<(Box<dyn EnergyMeter>, f64), String>;

impl<S: Subject> Bench<S> {
    /// Creates a bench.
    pub fn new(subject: S) -> Bench<S> {
        Bench { subject, meter: None }
    }

    /// Measures a batch of the loaded problem, reporting the start and the result of each contender; ends early where the device is lost.
    /// # Errors
    /// `Error::Failed` where copies to or from the device fail, `Error::Unavailable` where configs ask for clocks that nobody may set.
    pub fn measure(&mut self, batch: &Batch, policy: &Policy, report: &mut dyn FnMut(BatchStep)) -> Result<()> {
        let mut pass = Pass { batch, policy, best_us: batch.best_us, report };
        let measured = self.by_clocks(batch).into_iter().try_for_each(|(clocks, contenders)| {
            match self.subject.set_clocks(clocks)? {
                _ if self.subject.is_poisoned() => {}
                Ok(()) => self.measure_all(&contenders, &mut pass)?,
                Err(fault) => {
                    contenders
                        .into_iter()
                        .for_each(|contender| pass.finish(Measured::invalid(contender, fault.clone())));
                }
            }
            Ok(())
        });
        // also where it failed: the process waits for other work
        let freed = self.subject.set_clocks(Clocks::default());
        measured.and(freed.map(drop))
    }

    /// The contenders of a batch by their clocks, which take a while to change: those with the same ones take turns.
    fn by_clocks(&self, batch: &Batch) -> Vec<(Clocks, Vec<Contender>)> {
        let mut groups: Vec<(Clocks, Vec<Contender>)> = Vec::new();
        for contender in batch.contenders() {
            let config = match contender {
                Contender::Config(at) => Some(&batch.configs[at]),
                Contender::Library => None,
            };
            let clocks = self.subject.clocks_of(config);
            match groups.iter_mut().find(|(known, _)| *known == clocks) {
                Some((_, group)) => group.push(contender),
                None => groups.push((clocks, vec![contender])),
            }
        }
        groups
    }

    /// Measures contenders at the clocks of now; ends early where the device is lost.
    fn measure_all(&mut self, contenders: &[Contender], pass: &mut Pass) -> Result<()> {
        let policy = pass.policy;
        let mut left = contenders;
        while !left.is_empty() {
            let began = Instant::now();
            let (mut running, taken) = self.admit(left, pass)?;
            left = &left[taken..];
            let admitted = began.elapsed();
            self.warm_up(&mut running, pass)?;
            let warm = began.elapsed();
            self.sample(&mut running, pass)?;
            let [checks, warm_up, samples] =
                [admitted, warm - admitted, began.elapsed() - warm].map(|d| d.as_secs_f64());
            tracing::debug!("{taken} configs: checks {checks:.2} s, warm-up {warm_up:.2} s, samples {samples:.2} s");
            if policy.energy {
                self.meter_all(&mut running, pass);
            }
            if self.subject.is_poisoned() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Checks the first of the contenders `left`, as many as fit a round, and returns the valid ones and the number taken.
    fn admit(&mut self, left: &[Contender], pass: &mut Pass) -> Result<(Vec<Trial<S::Work>>, usize)> {
        self.subject.make_room();
        let mut running: Vec<Trial<S::Work>> = Vec::new();
        let (mut taken, mut sum_us) = (0, 0.0);
        for contender in left {
            if running.len() >= FEW && sum_us > ROUND_US || running.len() >= MANY || self.subject.is_poisoned() {
                break;
            }
            taken += 1;
            pass.begin(*contender);
            match self.check(*contender, pass)? {
                Ok(trial) => {
                    // configs compete with the best config: the library may compute on other units
                    if matches!(trial.contender, Contender::Config(_)) {
                        pass.best_us = pass.best_us.min(trial.estimate_us);
                    }
                    sum_us += trial.estimate_us;
                    running.push(trial);
                }
                Err(invalidity) => {
                    self.blame()?;
                    pass.finish(Measured::invalid(*contender, invalidity))
                }
            }
        }
        Ok((running, taken))
    }

    /// The error of a machine that failed instead of a config, which then stays untried.
    fn blame(&mut self) -> Result<()> {
        self.subject.trouble().map_or(Ok(()), Err)
    }

    /// Warms up competing trials for the duration of the policy.
    fn warm_up(&mut self, running: &mut [Trial<S::Work>], pass: &mut Pass) -> Result<()> {
        let (policy, best_us) = (pass.policy, pass.best_us);
        for trial in running.iter_mut().filter(|trial| !trial.seems_hopeless(policy, best_us)) {
            if self.subject.is_poisoned() {
                return Ok(());
            }
            // by time, and not at all for a launch that is longer than the warm-up; caches are flushed for what is timed
            let launches = (policy.warm_up_ms * 1e3 / trial.estimate_us).min(1_000.0) as usize;
            pass.begin(trial.contender);
            let launched = self.subject.launch(&trial.work, launches, Timing::Warm);
            if let Err(invalidity) = launched {
                self.blame()?;
                trial.done = true;
                pass.finish(Measured::invalid(trial.contender, invalidity));
            }
        }
        Ok(())
    }

    /// Times all trials in rounds until each has enough samples or is hopeless.
    fn sample(&mut self, running: &mut [Trial<S::Work>], pass: &mut Pass) -> Result<()> {
        let timing = if pass.policy.cache == Cache::Cold { Timing::Cold } else { Timing::Warm };
        let (mut rounds, mut monitor) = (Interleaved::default(), DeviceMonitor::default());
        while running.iter().any(|trial| !trial.done) {
            for (at, trial) in running.iter_mut().enumerate().filter(|(_, trial)| !trial.done) {
                if self.subject.is_poisoned() {
                    return Ok(());
                }
                pass.begin(trial.contender);
                match self.subject.launch(&trial.work, trial.launches_of_a_turn(), timing) {
                    Ok(times) => {
                        // a first launch that was disturbed would make all of its turns short
                        let fastest = times.iter().copied().fold(f32::INFINITY, f32::min) as f64;
                        trial.estimate_us = trial.estimate_us.min(fastest.max(0.1));
                        rounds.add(at, times);
                        monitor.poll(&mut self.subject, trial);
                    }
                    Err(invalidity) => {
                        self.blame()?;
                        trial.done = true;
                        trial.samples.clear();
                        pass.finish(Measured::invalid(trial.contender, invalidity));
                    }
                }
            }
            let mut finished = finish_round(running, &rounds, pass.policy, pass.best_us);
            if running.iter().all(|trial| trial.done) {
                let failed = self.measure_winners(running, &finished, timing, pass)?;
                finished.retain(|at| !failed.contains(at));
            }
            for at in finished {
                // nothing is known of what a lost device holds; another worker measures these anew
                if self.subject.is_poisoned() {
                    return Ok(());
                }
                // what is slow beyond hope is not worth another long launch; a short one costs little, and one launch of another config that seemed
                // too fast must not spare all others their check
                let is_long = running[at].estimate_us > LONG_US;
                let is_hopeless = is_long && running[at].seems_hopeless(pass.policy, pass.best_us);
                let is_right = is_hopeless || self.is_still_right(&mut running[at], pass)?;
                if is_right && !pass.policy.energy {
                    let samples_us = std::mem::take(&mut running[at].samples);
                    let energy = self.subject.reported_energy(&running[at].work);
                    let outcome = Outcome::Measured(Measurement { samples_us, energy });
                    let (contender, observed) = (running[at].contender, self.observe(&running[at]));
                    pass.finish(Measured { contender, outcome, observed });
                }
            }
        }
        Ok(())
    }

    fn observe(&self, candidate: &Trial<S::Work>) -> Observed {
        Observed { conditions: candidate.conditions.clone(), ..self.subject.observe(&candidate.work) }
    }
}
