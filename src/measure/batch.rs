//! Batches of configs that are measured together, and their results.

use seqtune_data::{Invalidity, Observed, Outcome};
use seqtune_kernel::{Config, Define, Kernel, Problem, Run};
use serde::{Deserialize, Serialize};

/// Candidate of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contender {
    /// Config, by its index in the batch.
    Config(usize),
    /// Library of the vendor.
    Library,
}

/// Configs of one problem that are measured interleaved.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Problem to measure.
    pub problem: &'a Problem,
    /// Configs to measure.
    pub configs: &'a [Config],
    /// Whether to measure the vendor's library too.
    pub library: bool,
    /// Best known time of the problem in microseconds; infinite where there is none.
    pub best_us: f64,
}

impl Batch<'_> {
    /// Lists the configs in order, then the library.
    pub fn contenders(&self) -> Vec<Contender> {
        let configs = (0..self.configs.len()).map(Contender::Config);
        configs.chain(self.library.then_some(Contender::Library)).collect()
    }
}

/// Result of a contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Contender that was measured.
    pub contender: Contender,
    /// Timings or failure.
    pub outcome: Outcome,
    /// Resources of the program and state of the device.
    pub observed: Observed,
}

impl Measured {
    /// Creates the result of a failed contender.
    pub fn invalid(contender: Contender, invalidity: Invalidity) -> Measured {
        Measured { contender, outcome: Outcome::Invalid(invalidity), observed: Observed::default() }
    }
}

/// Progress of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum BatchStep {
    /// Start of a contender.
    Begin(Contender),
    /// Result of a contender.
    Finished(Measured),
}

/// The vendor's library for a kernel's routine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum VendorLibrary {
    /// Its name and version.
    Named(String),
    /// Why there is none.
    Absent(String),
}

impl VendorLibrary {
    /// Name and version, where there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            VendorLibrary::Named(name) => Some(name),
            VendorLibrary::Absent(_) => None,
        }
    }
}

/// End of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Every contender has an outcome.
    Complete,
    /// It was told to stop; what has no outcome is left.
    Stopped,
    /// Data or reference of the problem cannot be computed, for this reason. Other problems may work.
    Unmeasurable(String),
}

/// Identity of a compiled program among those of a kernel: its preprocessor definitions, and the work-group that compilers are told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramKey {
    defines: Vec<Define>,
    group: Vec<u32>,
}

impl ProgramKey {
    /// Key of the program that a config of a problem runs.
    pub fn new(kernel: &Kernel, problem: &Problem, config: &Config) -> ProgramKey {
        match &kernel.run {
            Some(run) => ProgramKey::of_build(kernel, run, problem, config),
            None => {
                let env = kernel.env_of(problem, None, config);
                let local = kernel.source.iter().flat_map(|source| &source.program.local);
                ProgramKey {
                    defines: kernel.defines(problem, config),
                    group: local.map(|size| size.eval(&env) as u32).collect(),
                }
            }
        }
    }

    /// Key of what is built for a config.
    fn of_build(kernel: &Kernel, run: &Run, problem: &Problem, config: &Config) -> ProgramKey {
        let env = kernel.env_of(problem, None, config);
        let words = run.build.iter().map(|word| word.fill(&env, &|place| Ok(place.into())).unwrap_or_default());
        ProgramKey { defines: words.map(|word| Define::new("build", word)).collect(), group: Vec::new() }
    }

    /// Key that all programs of a problem share: its data type and layout.
    pub fn variant(kernel: &Kernel, problem: &Problem) -> ProgramKey {
        ProgramKey { defines: kernel.field_defines(problem), group: Vec::new() }
    }

    /// Preprocessor definitions.
    pub fn defines(&self) -> &[Define] {
        &self.defines
    }
}

/// Work-items of a dimension from which on PoCL compiles a kernel another time: `grid_width_specialization_limit` of its devices is one less
/// (`pocl_init_default_device_infos` of PoCL 3.1).
const WIDE: f64 = 65_536.0;

/// Whether a config is launched with so many work-items in any dimension that PoCL has other code for it.
pub fn is_wide(kernel: &Kernel, problem: &Problem, config: &Config) -> bool {
    let env = kernel.env_of(problem, None, config);
    let mut global = kernel.source.iter().flat_map(|source| &source.program.global);
    global.any(|size| size.eval(&env) >= WIDE)
}
