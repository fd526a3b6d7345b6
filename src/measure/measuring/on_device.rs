//! Kernels on a device: compiled programs, buffers with data, and a reference.

use crate::batch::{ProgramKey, is_wide};
use crate::clocks::held::HeldClocks;
use crate::compile::Job;
use crate::executor::{Executor, GemmCall, ProgramId, Timing};
use crate::launch::LaunchDims;
use crate::measuring::energy::EnergyMeter;
use crate::measuring::roofline::{self, Peaks};
use crate::measuring::subject::Subject;
use crate::verify::on_device::DeviceComparison;
use crate::verify::workload::{SEED, Workload, load};
use seqtune_data::{Attempt, Conditions, Invalidity, InvalidityKind, Observed};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Checker, Clocks, Config, Kernel, Problem, Source};
use std::collections::HashMap;
use std::time::Instant;

/// Number of programs above which all are released before the next configs.
const PROGRAMS: usize = 1_024;

/// Device with the data of one problem and compiled programs.
pub struct OnDevice {
    kernel: Kernel,
    checker: Checker,
    source: Source,
    executor: Box<dyn Executor>,
    programs: HashMap<ProgramKey, ProgramId>,
    workload: Option<Workload>,
    /// Clocks of the device, once some were set.
    clocks: Option<HeldClocks>,
    agree: DeviceComparison,
}

/// What is launched.
pub enum Work {
    /// Program of a config, with its launch dimensions.
    Config(ProgramId, LaunchDims),
    /// Matrix product by the vendor's library.
    Library(GemmCall),
}

impl OnDevice {
    /// Prepares an open device for a kernel.
    ///
    /// # Errors
    /// `Error::Input` where the kernel has no source.
    pub fn new(kernel: &Kernel, executor: Box<dyn Executor>) -> Result<OnDevice> {
        let (source, programs, agree) = (kernel.source()?.clone(), HashMap::new(), DeviceComparison::default());
        let (kernel, checker) = (kernel.clone(), Checker::new(kernel));
        Ok(OnDevice { kernel, checker, source, executor, programs, workload: None, clocks: None, agree })
    }

    /// Compiled program of `config` for the data type and layout of `problem`.
    fn program(&mut self, problem: &Problem, config: &Config) -> Attempt<ProgramId> {
        let key = ProgramKey::new(&self.kernel, problem, config);
        if let Some(program) = self.programs.get(&key) {
            return Ok(*program);
        }
        let env = self.kernel.env_of(problem, Some(self.executor.device()), config);
        let program = self.executor.compile(&Job::new(&self.kernel, &self.source.program, key.defines(), &env))?;
        self.programs.insert(key, program);
        Ok(program)
    }

    /// Whether a problem keeps the kernel's rules, and a config is legal for it.
    fn serves(&self, problem: &Problem, config: &Config) -> bool {
        let device = self.executor.device();
        self.checker.broken_rule(&self.kernel.env(problem, None)).is_none()
            && self.checker.broken_constraint(&self.kernel.env_of(problem, Some(device), config)).is_none()
    }

    /// A small problem that the same code serves: one size after the other is the least of 1, 2, 4 and so on, from its minimum, for which the
    /// config is legal beside the others, and as wide as it was.
    fn small(&self, problem: &Problem, config: &Config) -> Problem {
        let (mut small, was_wide) = (problem.clone(), is_wide(&self.kernel, problem, config));
        for (at, field) in self.kernel.fields.iter().enumerate().filter(|(_, field)| field.kind == FieldKind::Size) {
            let (own, mut size) = (small.values[at], field.min.max(1) as f64);
            while size < own {
                small.values[at] = size;
                if self.serves(&small, config) && is_wide(&self.kernel, &small, config) == was_wide {
                    break;
                }
                size *= 2.0;
            }
            small.values[at] = size.min(own);
        }
        small
    }

    fn geometry(&self, problem: &Problem, config: &Config) -> LaunchDims {
        LaunchDims::new(&self.kernel, self.executor.device(), &self.source.program, problem, Some(config))
    }
}

/// The error of a launch before [`Subject::load`].
fn nothing_loaded() -> Error {
    Error::Failed("no problem is loaded".into())
}

impl Subject for OnDevice {
    type Work = Work;

    fn announce(&mut self, problem: &Problem, configs: &[Config]) {
        let device = self.executor.device();
        let parts = configs.iter().map(|config| {
            let env = self.kernel.env_of(problem, Some(device), config);
            (ProgramKey::new(&self.kernel, problem, config), env)
        });
        let parts: Vec<(ProgramKey, Vec<f64>)> = parts.filter(|(key, _)| !self.programs.contains_key(key)).collect();
        let program = &self.source.program;
        let jobs: Vec<Job> =
            parts.iter().map(|(key, env)| Job::new(&self.kernel, program, key.defines(), env)).collect();
        self.executor.announce(&jobs);
    }

    /// Compiles a config into the cache on disk, where needed by a launch on a small problem. What fails at that launch is judged when the config
    /// is measured, on the problem that was asked for.
    fn compile(&mut self, problem: &Problem, config: &Config) -> Result<Option<Invalidity>> {
        self.make_room();
        let program = match self.program(problem, config) {
            Ok(program) => program,
            Err(fault) => return Ok(Some(fault)),
        };
        if !self.executor.finishes_at_launch() {
            return Ok(None);
        }
        let small = self.small(problem, config);
        if self.workload.as_ref().is_none_or(|l| l.problem != small) {
            self.workload = None;
            self.workload = load(self.executor.as_mut(), &self.kernel, &small, SEED, None).ok();
        }
        let Some(workload) = &self.workload else { return Ok(None) };
        let (values, geometry) = (workload.values.clone(), self.geometry(&small, config));
        let launched = self.executor.launch(program, &values, &geometry, 1, Timing::Warm);
        if let Err(fault) = launched {
            tracing::debug!(
                "a launch for its code alone fails, and the config is measured all the same: {}",
                fault.detail
            );
        }
        Ok(None)
    }

    /// Loads random data of `seed` and computes the expected results.
    fn load(&mut self, problem: &Problem, seed: u64) -> Result<()> {
        if !self.workload.as_ref().is_some_and(|l| l.expects(problem, seed)) {
            self.workload = None;
            let began = Instant::now();
            self.workload = Some(load(self.executor.as_mut(), &self.kernel, problem, seed, Some(&mut self.agree))?);
            tracing::debug!("data and reference in {:.2} s", began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn make_room(&mut self) {
        if self.programs.len() >= PROGRAMS {
            for (_, program) in self.programs.drain() {
                self.executor.release(program);
            }
        }
    }

    fn prepare(&mut self, config: Option<&Config>) -> Attempt<Work> {
        let failed = |what: &str| Invalidity::new(InvalidityKind::Runtime, what);
        let Some(workload) = &self.workload else { return Err(failed("no problem is loaded")) };
        let Some(config) = config else {
            let gemm = self.source.gemm.as_ref().ok_or_else(|| failed("kernel.toml names no routine of a library"))?;
            return Ok(Work::Library(workload.product(&self.kernel, gemm)));
        };
        let problem = workload.problem.clone();
        let program = self.program(&problem, config)?;
        Ok(Work::Config(program, self.geometry(&problem, config)))
    }

    fn verify(&mut self, work: &Work) -> Result<Attempt<f64>> {
        self.workload.as_ref().ok_or_else(nothing_loaded)?.reset(self.executor.as_mut())?;
        let times = match self.launch(work, 1, Timing::Warm) {
            Err(fault) => return Ok(Err(fault)),
            Ok(times) => times,
        };
        let wrong = self.workload.as_ref().ok_or_else(nothing_loaded)?.wrong(self.executor.as_mut())?;
        Ok(wrong.map_or(Ok(times[0] as f64), Err))
    }

    fn launch(&mut self, work: &Work, repeat: usize, timing: Timing) -> Attempt<Vec<f32>> {
        let values = self.workload.as_ref().map_or(&[][..], |workload| &workload.values);
        match work {
            Work::Config(program, geometry) => self.executor.launch(*program, values, geometry, repeat, timing),
            Work::Library(product) => self.executor.multiply(product, repeat, timing),
        }
    }

    fn observe(&self, work: &Work) -> Observed {
        let resources = match work {
            Work::Config(program, _) => self.executor.resources(*program),
            Work::Library(_) => None,
        };
        Observed { resources, ..Observed::default() }
    }

    fn conditions(&mut self) -> Option<Conditions> {
        self.executor.conditions()
    }

    fn clocks_of(&self, config: Option<&Config>) -> Clocks {
        match (&self.workload, config) {
            (Some(workload), Some(config)) => {
                self.kernel.clocks_of(&workload.problem, Some(self.executor.device()), config)
            }
            _ => Clocks::default(),
        }
    }

    fn set_clocks(&mut self, clocks: Clocks) -> Result<Attempt<()>> {
        if self.clocks.is_none() && clocks.is_free() {
            return Ok(Ok(()));
        }
        let held = match &mut self.clocks {
            Some(held) => held,
            None => {
                let opened = self.executor.clocks().map_err(|e| Error::Unavailable(format!("setting clocks: {e}")))?;
                self.clocks.insert(HeldClocks::new(opened))
            }
        };
        held.set(clocks)
    }

    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String> {
        self.executor.energy_meter()
    }

    fn peaks(&mut self) -> Result<Peaks> {
        self.workload = None;
        let failed = |fault: Invalidity| Error::Failed(format!("measuring the device's peaks: {}", fault.detail));
        roofline::measure(self.executor.as_mut(), self.source.units).map_err(failed)
    }

    fn library(&mut self) -> std::result::Result<String, String> {
        match self.source.gemm {
            Some(_) => self.executor.library(),
            None => {
                Err("no routine of a vendor's library does what this kernel does, as far as kernel.toml says".into())
            }
        }
    }

    fn trouble(&mut self) -> Option<Error> {
        self.executor.trouble()
    }

    fn is_poisoned(&self) -> bool {
        self.executor.is_poisoned()
    }
}
