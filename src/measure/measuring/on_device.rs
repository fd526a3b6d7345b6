//! Kernels on a device: compiled programs, buffers with data, and a reference.

use crate::batch::{ProgramKey, is_wide};
use crate::clocks::held::HeldClocks;
use crate::compile::Job;
use crate::executor::{Executor, GemmCall, KernelArg, ProgramId, Timing};
use crate::launch::LaunchDims;
use crate::measuring::energy::EnergyMeter;
use crate::measuring::roofline::{self, Peaks};
use crate::measuring::subject::Subject;
use crate::measuring::variant::{Loaded, VariantAsked, VariantFound};
use crate::verify::case::{Case, Order, reversed_source};
use crate::verify::input_kind::InputKind;
use crate::verify::on_device::DeviceComparison;
use crate::verify::workload::{SEED, Wanted, Workload, load, reference_seconds};
use seqtune_data::{Attempt, Conditions, Invalidity, InvalidityKind, Observed};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Checker, Clocks, Config, Kernel, Problem, Source};
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

/// Number of programs above which all are released before the next configs.
const PROGRAMS: usize = 1_024;

/// Seconds that making other data may take for each config that is measured, a tenth of what a quick config takes, and bytes of data made in a second.
const BESIDE_SECONDS: f64 = 4e-3;
const BYTES: f64 = 2e8;

mod variants;

/// Device with the data of one problem and compiled programs.
pub struct OnDevice {
    kernel: Kernel,
    checker: Checker,
    source: Source,
    executor: Box<dyn Executor>,
    programs: HashMap<ProgramKey, ProgramId>,
    /// Programs whose work-items run in reversed order.
    reversed: HashMap<ProgramKey, ProgramId>,
    order: Order,
    workload: Option<Workload>,
    /// Data of the same problem and of another kind, and the seconds that the first took.
    beside: Option<Workload>,
    load_seconds: f64,
    /// Largest magnitudes of the results of a problem with uniform input.
    scales: Option<(Problem, Vec<f64>)>,
    /// Clocks of the device, once some were set.
    clocks: Option<HeldClocks>,
    agree: DeviceComparison,
    /// Data that programs in the place of a config's own one are tried on.
    for_variants: Vec<Loaded>,
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
        Ok(OnDevice {
            checker: Checker::new(kernel),
            source: kernel.source()?.clone(),
            kernel: kernel.clone(),
            executor,
            programs: HashMap::new(),
            reversed: HashMap::new(),
            order: Order::Usual,
            workload: None,
            beside: None,
            load_seconds: 0.0,
            scales: None,
            clocks: None,
            agree: DeviceComparison::default(),
            for_variants: Vec::new(),
        })
    }

    /// Compiled program of `config` for the data type and layout of `problem`.
    fn program(&mut self, problem: &Problem, config: &Config) -> Attempt<ProgramId> {
        let key = ProgramKey::new(&self.kernel, problem, config);
        let (programs, reversed) = match self.order {
            Order::Usual => (&mut self.programs, None),
            Order::Reversed => (&mut self.reversed, reversed_source(&self.kernel, self.executor.device())),
        };
        if let Some(program) = programs.get(&key) {
            return Ok(*program);
        }
        let env = self.kernel.env_of(problem, Some(self.executor.device()), config);
        let job = Job::new(&self.kernel, &self.source.program, key.defines(), &env);
        let program = self.executor.compile(&Job { source: reversed.as_deref().unwrap_or(job.source), ..job })?;
        programs.insert(key, program);
        Ok(program)
    }

    /// Data of a case, with what is expected of them.
    fn data(&mut self, problem: &Problem, case: Case, scales: &[f64], is_beside: bool) -> Result<Workload> {
        let mut made = Err(nothing_loaded());
        for magnitude in case.kind.magnitudes() {
            let wanted = Wanted { case, magnitude: *magnitude, scales, is_beside };
            made = load(self.executor.as_mut(), &self.kernel, problem, &wanted, Some(&mut self.agree));
            if made.is_ok() {
                break;
            }
        }
        made
    }

    /// Largest magnitudes of a problem's results with uniform input.
    fn scales_of(&mut self, problem: &Problem) -> Result<Vec<f64>> {
        if let Some((_, scales)) = self.scales.as_ref().filter(|(known, _)| known == problem) {
            return Ok(scales.clone());
        }
        (self.workload, self.beside) = (None, None);
        let scales = self.data(problem, Case::of_seed(SEED), &[], false)?.scales();
        self.scales = Some((problem.clone(), scales.clone()));
        Ok(scales)
    }

    /// Restores the outputs of some data and launches on them once; the time in microseconds.
    fn launch_anew(&mut self, work: &Work, data: &Workload) -> Result<Attempt<f64>> {
        data.reset(self.executor.as_mut())?;
        Ok(self.launch_on(work, &data.values, 1, Timing::Warm).map(|times| times[0] as f64))
    }

    /// The time in microseconds of such a launch, or how its result failed.
    fn launch_checked(&mut self, work: &Work, data: &Workload) -> Result<Attempt<f64>> {
        match self.launch_anew(work, data)? {
            Err(fault) => Ok(Err(fault)),
            Ok(us) => Ok(data.wrong(self.executor.as_mut())?.map_or(Ok(us), Err)),
        }
    }

    fn launch_on(&mut self, work: &Work, values: &[KernelArg], repeat: usize, timing: Timing) -> Attempt<Vec<f32>> {
        match work {
            Work::Config(program, geometry) => self.executor.launch(*program, values, geometry, repeat, timing),
            Work::Library(product) => self.executor.multiply(product, repeat, timing),
        }
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
            (self.workload, self.beside) = (None, None);
            self.workload = load(self.executor.as_mut(), &self.kernel, &small, &Wanted::uniform(SEED), None).ok();
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

    /// Loads the random data of a case and computes the expected results.
    fn load(&mut self, problem: &Problem, case: Case) -> Result<()> {
        if case.order == Order::Reversed && reversed_source(&self.kernel, self.executor.device()).is_none() {
            return Err(Error::Failed("work-items cannot be run in reversed order here".into()));
        }
        self.order = case.order;
        if self.workload.as_ref().is_some_and(|l| l.expects(problem, case)) {
            return Ok(());
        }
        let is_usual = case.kind == InputKind::Uniform;
        let scales = if is_usual { Vec::new() } else { self.scales_of(problem)? };
        (self.workload, self.beside) = (None, None);
        let began = Instant::now();
        let data = self.data(problem, case, &scales, false)?;
        self.load_seconds = began.elapsed().as_secs_f64();
        tracing::debug!("data and reference in {:.2} s", self.load_seconds);
        if is_usual {
            self.scales = Some((problem.clone(), data.scales()));
        }
        self.workload = Some(data);
        Ok(())
    }

    fn load_beside(&mut self, configs: usize) {
        let Some(problem) = self.workload.as_ref().map(|data| data.problem.clone()) else { return };
        // the first data may have taken the time of compiling the reference too
        let reference = reference_seconds(&self.kernel, &problem, self.executor.device());
        let seconds = self.load_seconds.min(reference + self.kernel.bytes(&problem) / BYTES);
        let is_cheap = seconds <= BESIDE_SECONDS * configs as f64;
        if self.beside.is_some() || !is_cheap || !self.executor.computes() {
            return;
        }
        // problems have different kinds, so that a sweep has all
        let kinds = InputKind::OTHERS;
        let kind = kinds[self.kernel.show_problem(&problem).bytes().map(usize::from).sum::<usize>() % kinds.len()];
        let case = Case { seed: SEED + 1, kind, order: Order::Usual };
        let scales = self.scales.as_ref().filter(|(known, _)| *known == problem).map(|(_, scales)| scales.clone());
        let made = scales.and_then(|scales| self.data(&problem, case, &scales, true).ok());
        tracing::debug!("beside it, {}{}", kind.words(), if made.is_some() { "" } else { ": not possible" });
        self.beside = made;
    }

    fn write_program(&mut self, problem: &Problem, config: &Config, file: &Path) -> Result<Option<Invalidity>> {
        self.write_binary(problem, config, file)
    }

    fn load_variants(&mut self, asked: &VariantAsked) -> Result<()> {
        self.load_all(asked)
    }

    fn try_variant(&mut self, asked: &VariantAsked) -> Result<VariantFound> {
        self.try_program(asked)
    }

    fn make_room(&mut self) {
        if self.programs.len() + self.reversed.len() >= PROGRAMS {
            for (_, program) in self.programs.drain().chain(self.reversed.drain()) {
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
        let data = self.workload.take().ok_or_else(nothing_loaded)?;
        let found = self.launch_checked(work, &data);
        self.workload = Some(data);
        found
    }

    fn verify_beside(&mut self, work: &Work) -> Result<Attempt<()>> {
        // a product by the vendor's library names its own buffers
        let Some(data) = self.beside.take_if(|_| matches!(work, Work::Config(..))) else { return Ok(Ok(())) };
        let (found, kind) = (self.launch_checked(work, &data), data.kind());
        self.beside = Some(data);
        let named = |fault: Invalidity| Invalidity {
            detail: format!("right at first, but with {}: {}", kind.words(), fault.detail),
            ..fault
        };
        Ok(found?.map(drop).map_err(named))
    }

    fn launch(&mut self, work: &Work, repeat: usize, timing: Timing) -> Attempt<Vec<f32>> {
        let values = self.workload.as_ref().map_or_else(Vec::new, |workload| workload.values.clone());
        self.launch_on(work, &values, repeat, timing)
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
        (self.workload, self.beside) = (None, None);
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
