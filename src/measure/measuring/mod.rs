//! Measurement of batches: check against the reference, warm-up, interleaved rounds until intervals are tight, energy.

mod checks;
pub mod energy;
pub mod interleave;
mod metering;
mod monitor;
pub mod roofline;
pub mod trial;

use crate::batch::{Batch, Contender, Measured, ProgramKey, Step};
use crate::compile::Job;
use crate::executor::{Executor, LaunchDims, ProgramId, Timing};
use crate::measuring::energy::EnergyMeter;
use crate::measuring::interleave::Interleaved;
use crate::measuring::monitor::DeviceMonitor;
use crate::measuring::roofline::Peaks;
use crate::measuring::trial::{Stage, Trial};
use crate::verify::on_device::DeviceComparison;
use crate::verify::workload::{SEED, Workload, geometry, load};
use seqtune_data::recipe::{Cache, Policy};
use seqtune_data::{Attempt, Invalidity, Measurement, Observed, Outcome};
use seqtune_predict::error::Result;
use seqtune_predict::kernel::{Config, Kernel, Problem, Source};
use std::collections::HashMap;

/// Number of programs above which all are released before the next configs.
const PROGRAMS: usize = 1_024;

/// Limit of a round in microseconds for more than [`FEW`] configs, which are lost together when a sweep is interrupted.
const ROUND_US: f64 = 2e6;
const FEW: usize = 16;

/// Most configs of a round, because their programs are kept until all are done.
const MANY: usize = 512;

/// Finishes trials after a round, hopeless ones singly and competing ones together; returns the indices of those that are done now.
fn finish_round(running: &mut [Trial], rounds: &Interleaved, policy: &Policy, best_us: f64) -> Vec<usize> {
    let counted = rounds.undisturbed(running.len());
    for (candidate, samples) in running.iter_mut().zip(counted).filter(|(c, _)| !c.done) {
        candidate.samples = samples;
    }
    let stages: Vec<(usize, Stage)> = running
        .iter()
        .enumerate()
        .filter(|(_, c)| !c.done)
        .map(|(at, c)| (at, c.stage(policy, best_us, rounds.all(at))))
        .collect();
    let all = stages.iter().all(|(_, stage)| *stage != Stage::Open);
    let done = stages.into_iter().filter(|(_, stage)| all || *stage == Stage::Hopeless).map(|(at, _)| at);
    let done: Vec<usize> = done.collect();
    done.iter().for_each(|at| running[*at].done = true);
    done
}

/// Device with the data of one problem and compiled programs.
pub struct Bench {
    kernel: Kernel,
    source: Source,
    executor: Box<dyn Executor>,
    programs: HashMap<ProgramKey, ProgramId>,
    workload: Option<Workload>,
    agree: DeviceComparison,
    meter: Option<Meter>,
}

/// Batch under measurement.
struct Pass<'a> {
    batch: &'a Batch<'a>,
    policy: &'a Policy,
    best_us: f64,
    report: &'a mut dyn FnMut(Step),
}

impl Pass<'_> {
    fn begin(&mut self, contender: Contender) {
        (self.report)(Step::Begin(contender));
    }

    fn finish(&mut self, measured: Measured) {
        (self.report)(Step::Finished(measured));
    }
}

/// Energy counter with the idle power in watts, or the reason for its absence.
type Meter = std::result::Result<(Box<dyn EnergyMeter>, f64), String>;

impl Bench {
    /// Prepares an open device for a kernel.
    /// # Errors
    /// `Error::Input` where the kernel has no source.
    pub fn new(kernel: &Kernel, executor: Box<dyn Executor>) -> Result<Bench> {
        let (source, programs, agree) = (kernel.source()?.clone(), HashMap::new(), DeviceComparison::default());
        Ok(Bench { kernel: kernel.clone(), source, executor, programs, workload: None, agree, meter: None })
    }

    /// Compiled program of `config` for the data type and layout of `problem`.
    fn program(&mut self, problem: &Problem, config: &Config) -> Attempt<ProgramId> {
        let key = ProgramKey::of(&self.kernel, problem, config);
        if let Some(program) = self.programs.get(&key) {
            return Ok(*program);
        }
        let env = self.kernel.env_of(problem, Some(self.executor.device()), config);
        let program = self.executor.compile(&Job::new(&self.kernel, &self.source.program, key.defines(), &env))?;
        self.programs.insert(key, program);
        Ok(program)
    }

    /// Releases all programs where they are many; none may be in use.
    fn make_room(&mut self) {
        if self.programs.len() >= PROGRAMS {
            for (_, program) in self.programs.drain() {
                self.executor.release(program);
            }
        }
    }

    /// Compiles `config` into the cache on disk, where needed by a launch on a smallest problem; returns a failure to compile.
    /// # Errors
    /// `Error::Failed` where the data of the smallest problem cannot be loaded.
    pub fn compile(&mut self, problem: &Problem, config: &Config) -> Result<Option<Invalidity>> {
        self.make_room();
        let program = match self.program(problem, config) {
            Ok(program) => program,
            Err(fault) => return Ok(Some(fault)),
        };
        if !self.executor.finishes_at_launch() {
            return Ok(None);
        }
        let smallest = self.kernel.smallest(problem);
        if self.workload.as_ref().is_none_or(|l| l.problem != smallest) {
            self.workload = None;
            self.workload = Some(load(self.executor.as_mut(), &self.kernel, &smallest, SEED, None)?);
        }
        let geometry = self.geometry(&smallest, config);
        let values = self.workload.as_ref().map_or(Vec::new(), |l| l.values.clone());
        Ok(self.executor.launch(program, &values, &geometry, 1, Timing::Warm).err())
    }

    /// Loads random data of `seed` and computes the expected results.
    /// # Errors
    /// `Error::Failed` where memory is short, or the reference fails or deviates from double precision.
    pub fn load(&mut self, problem: &Problem, seed: u64) -> Result<()> {
        if !self.workload.as_ref().is_some_and(|l| l.expects(problem, seed)) {
            self.workload = None;
            self.workload = Some(load(self.executor.as_mut(), &self.kernel, problem, seed, Some(&mut self.agree))?);
        }
        Ok(())
    }

    fn geometry(&self, problem: &Problem, config: &Config) -> LaunchDims {
        geometry(&self.kernel, self.executor.device(), &self.source.program, problem, Some(config))
    }

    /// Measures the peaks of the device, after which a problem has to be loaded again.
    /// # Errors
    /// `Error::Failed` where a benchmark kernel fails.
    pub fn peaks(&mut self) -> Result<Peaks> {
        self.workload = None;
        let failed = |fault: Invalidity| {
            seqtune_predict::error::Error::Failed(format!("measuring the device's peaks: {}", fault.detail))
        };
        roofline::measure(self.executor.as_mut(), self.source.units).map_err(failed)
    }

    /// Name and version of the vendor's library for the kernel's routine.
    /// # Errors
    /// A message where there is no such library or routine.
    pub fn library(&mut self) -> std::result::Result<String, String> {
        match self.source.gemm {
            Some(_) => self.executor.library(),
            None => {
                Err("no routine of a vendor's library does what this kernel does, as far as kernel.toml says".into())
            }
        }
    }

    /// Whether this process has lost the device, so that another has to measure the remaining configs.
    pub fn is_poisoned(&self) -> bool {
        self.executor.is_poisoned()
    }

    /// Measures a batch of the loaded problem, reporting the start and the result of each contender; ends early where the device is lost.
    /// # Errors
    /// `Error::Failed` where no problem is loaded, or copies to or from the device fail.
    pub fn measure(&mut self, batch: &Batch, policy: &Policy, report: &mut dyn FnMut(Step)) -> Result<()> {
        let Some(workload) = self.workload.take() else {
            return Err(seqtune_predict::error::Error::Failed("no problem is loaded".into()));
        };
        let mut pass = Pass { batch, policy, best_us: batch.best_us, report };
        let contenders = batch.contenders();
        let mut left = &contenders[..];
        while !left.is_empty() {
            let (mut running, taken) = self.admit(&workload, left, &mut pass)?;
            left = &left[taken..];
            self.warm_up(&workload, &mut running, &mut pass);
            self.sample(&workload, &mut running, &mut pass)?;
            if policy.energy {
                self.meter_all(&workload, &mut running, &mut pass);
            }
            if self.executor.is_poisoned() {
                return Ok(());
            }
        }
        self.workload = Some(workload);
        Ok(())
    }

    /// Checks the first of the contenders `left`, as many as fit a round, and returns the valid ones and the number taken.
    fn admit(&mut self, workload: &Workload, left: &[Contender], pass: &mut Pass) -> Result<(Vec<Trial>, usize)> {
        self.make_room();
        let mut running: Vec<Trial> = Vec::new();
        let (mut taken, mut sum_us) = (0, 0.0);
        for contender in left {
            if running.len() >= FEW && sum_us > ROUND_US || running.len() >= MANY || self.executor.is_poisoned() {
                break;
            }
            taken += 1;
            pass.begin(*contender);
            match self.check(workload, *contender, pass.batch.configs)? {
                Ok(trial) => {
                    // configs compete with the best config: the library may compute on other units
                    if trial.work.program().is_some() {
                        pass.best_us = pass.best_us.min(trial.estimate_us);
                    }
                    sum_us += trial.estimate_us;
                    running.push(trial);
                }
                Err(invalidity) => pass.finish(Measured::invalid(*contender, invalidity)),
            }
        }
        Ok((running, taken))
    }

    /// Warms up competing trials for the duration of the policy.
    fn warm_up(&mut self, workload: &Workload, running: &mut [Trial], pass: &mut Pass) {
        let (policy, best_us) = (pass.policy, pass.best_us);
        for trial in running.iter_mut().filter(|trial| !trial.seems_hopeless(policy, best_us)) {
            if self.executor.is_poisoned() {
                return;
            }
            // by time, and not at all for a launch that is longer than the warm-up; caches are flushed for what is timed
            let launches = (policy.warm_up_ms * 1e3 / trial.estimate_us).min(1_000.0) as usize;
            pass.begin(trial.contender);
            let launched = trial.work.launch(self.executor.as_mut(), &workload.values, launches, Timing::Warm);
            if let Err(invalidity) = launched {
                trial.done = true;
                pass.finish(Measured::invalid(trial.contender, invalidity));
            }
        }
    }

    /// Times all trials in rounds until each has enough samples or is hopeless.
    fn sample(&mut self, workload: &Workload, running: &mut [Trial], pass: &mut Pass) -> Result<()> {
        let timing = if pass.policy.cache == Cache::Cold { Timing::Cold } else { Timing::Warm };
        let (mut rounds, mut monitor) = (Interleaved::default(), DeviceMonitor::default());
        while running.iter().any(|trial| !trial.done) {
            for (at, trial) in running.iter_mut().enumerate().filter(|(_, trial)| !trial.done) {
                if self.executor.is_poisoned() {
                    return Ok(());
                }
                pass.begin(trial.contender);
                // a few short launches per turn, so that turns are not many but neighbours stay close in time
                let repeat = ((2e3 / trial.estimate_us) as usize).clamp(1, 4);
                match trial.work.launch(self.executor.as_mut(), &workload.values, repeat, timing) {
                    Ok(times) => {
                        // a first launch that was disturbed would make all of its turns short
                        let fastest = times.iter().copied().fold(f32::INFINITY, f32::min) as f64;
                        trial.estimate_us = trial.estimate_us.min(fastest.max(0.1));
                        rounds.add(at, times);
                        monitor.poll(self.executor.as_mut(), trial);
                    }
                    Err(invalidity) => {
                        trial.done = true;
                        trial.samples.clear();
                        pass.finish(Measured::invalid(trial.contender, invalidity));
                    }
                }
            }
            for at in finish_round(running, &rounds, pass.policy, pass.best_us) {
                // what is slow beyond hope is not worth another launch
                let is_hopeless = running[at].seems_hopeless(pass.policy, pass.best_us);
                let is_right = is_hopeless || self.is_still_right(workload, &mut running[at], pass)?;
                if is_right && !pass.policy.energy {
                    let samples_us = std::mem::take(&mut running[at].samples);
                    let outcome = Outcome::Measured(Measurement { samples_us, energy: None });
                    let (contender, observed) = (running[at].contender, self.observed(&running[at]));
                    pass.finish(Measured { contender, outcome, observed });
                }
            }
        }
        Ok(())
    }

    fn observed(&self, candidate: &Trial) -> Observed {
        Observed {
            resources: candidate.work.program().and_then(|p| self.executor.resources(p)),
            conditions: candidate.conditions.clone(),
            ..Observed::default()
        }
    }
}
