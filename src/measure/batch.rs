//! What is measured together, and what comes of it.

use seqtune_data::{Invalidity, Observed, Outcome};
use seqtune_predict::kernel::{Config, Kernel, Problem};
use serde::{Deserialize, Serialize};

/// What competes in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contender {
    /// A config, by its place in the batch.
    Config(usize),
    /// The vendor's library.
    Library,
}

/// Configs of a problem that are measured interleaved.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The configs.
    pub configs: &'a [Config],
    /// Whether the vendor's library is measured beside them.
    pub library: bool,
    /// Best time known for the problem in microseconds; infinite where none is.
    pub best_us: f64,
}

impl Batch<'_> {
    /// The configs in order, then the library.
    pub fn contenders(&self) -> Vec<Contender> {
        let configs = (0..self.configs.len()).map(Contender::Config);
        configs.chain(self.library.then_some(Contender::Library)).collect()
    }
}

/// What came of a contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Which one.
    pub contender: Contender,
    /// Times, or why there are none.
    pub outcome: Outcome,
    /// What was observed beside it.
    pub observed: Observed,
}

impl Measured {
    /// A contender that failed.
    pub fn invalid(contender: Contender, invalidity: Invalidity) -> Measured {
        Measured { contender, outcome: Outcome::Invalid(invalidity), observed: Observed::default() }
    }
}

/// What happens while a batch is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    /// A contender is about to run.
    Begin(Contender),
    /// A contender is finished.
    Finished(Measured),
}

/// How measuring a batch ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Every contender has its outcome.
    Complete,
    /// The problem's data or reference cannot be made, for this reason; another problem may do.
    Unmeasurable(String),
}

/// What tells a compiled program from the others of a kernel: its definitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramKey(Vec<(String, String)>);

impl ProgramKey {
    /// The program that a config of a problem runs.
    pub fn of(kernel: &Kernel, problem: &Problem, config: &Config) -> ProgramKey {
        ProgramKey(kernel.defines(problem, config))
    }

    /// What all programs of a problem share: its data type and layout.
    pub fn variant(kernel: &Kernel, problem: &Problem) -> ProgramKey {
        ProgramKey(kernel.field_defines(problem))
    }

    /// The definitions, as a compiler takes them.
    pub fn defines(&self) -> &[(String, String)] {
        &self.0
    }
}
