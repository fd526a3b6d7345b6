//! Measurement of a batch for sweeps and validation: failures to compile are recorded, other configs are measured interleaved.

use crate::batch::{Batch, Contender, Ending, Measured};
use crate::verify::case::{Case, Order, reversed_source};
use crate::verify::other_problems::{LARGE, other_problems};
use crate::worker::client::Client;
use crate::worker::compilers::compile_all;
use crate::worker::setup::Setup;
use seqtune_data::Invalidity;
use seqtune_data::recipe::Policy;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem};

/// First seed of the data with which a config is confirmed, and number of other problems.
const SEED: u64 = 1;
const OTHERS: usize = 3;

/// What confirming some configs found.
pub struct Confirmation {
    /// How each config failed.
    pub faults: Vec<Option<Invalidity>>,
    /// The cases with a reference, in words such as "with data of seed 1".
    pub cases: Vec<String>,
}

/// Batch with compiled programs.
pub struct Compiled<'a> {
    batch: Batch<'a>,
    /// Indices of configs that do not compile, with their failures.
    broken: Vec<(usize, Invalidity)>,
    /// Indices of configs that compile.
    pub sound: Vec<usize>,
}

impl<'a> Compiled<'a> {
    /// Creates a batch from the compile failure of each config by its index; `None` where it compiles.
    pub fn new(batch: Batch<'a>, invalidity: impl Fn(usize) -> Option<Invalidity>) -> Compiled<'a> {
        let (mut broken, mut sound) = (Vec::new(), Vec::new());
        for at in 0..batch.configs.len() {
            match invalidity(at) {
                Some(invalidity) => broken.push((at, invalidity)),
                None => sound.push(at),
            }
        }
        Compiled { batch, broken, sound }
    }

    /// Measures the batch and passes each result to `finish` once, failures to compile first.
    ///
    /// # Errors
    /// `Error::Unavailable` or `Error::Failed` where no worker can be started, else the error of `finish`.
    pub fn measure(
        &self,
        measurer: &mut Client,
        kernel: &Kernel,
        policy: &Policy,
        finish: &mut dyn FnMut(Measured) -> Result<()>,
    ) -> Result<Ending> {
        for (at, invalidity) in &self.broken {
            finish(Measured::invalid(Contender::Config(*at), invalidity.clone()))?;
        }
        let configs: Vec<Config> = self.sound.iter().map(|at| self.batch.configs[*at].clone()).collect();
        let batch = Batch { configs: &configs, ..self.batch };
        measurer.measure(kernel, &batch, policy, &mut |measured| {
            let contender = match measured.contender {
                Contender::Config(at) => Contender::Config(self.sound[at]),
                Contender::Library => Contender::Library,
            };
            finish(Measured { contender, ..measured })
        })
    }
}

/// Workers that compile and measure batches in turn.
pub struct Engine {
    compilers: Vec<Client>,
    /// Worker that measures.
    pub measurer: Client,
}

impl Engine {
    /// Creates an engine with `compilers` compiling processes, which start on demand.
    pub fn new(setup: Setup, compilers: usize) -> Engine {
        Engine { compilers: (0..compilers).map(|_| Client::new(setup.clone())).collect(), measurer: Client::new(setup) }
    }

    /// Compiles a batch, then measures it by [`Compiled::measure`].
    ///
    /// # Errors
    /// `Error::Unavailable` or `Error::Failed` where no worker can be started, else the error of `finish`.
    pub fn measure(
        &mut self,
        kernel: &Kernel,
        batch: Batch,
        policy: &Policy,
        finish: &mut dyn FnMut(Measured) -> Result<()>,
    ) -> Result<Ending> {
        let configs: Vec<&Config> = batch.configs.iter().collect();
        let mut broken: Vec<Option<Invalidity>> = vec![None; configs.len()];
        let mut done = |at: usize, invalidity| broken[at] = invalidity;
        compile_all(&mut self.compilers, kernel, batch.problem, &configs, &|| true, &mut done)?;
        Compiled::new(batch, |at| broken[at].clone()).measure(&mut self.measurer, kernel, policy, finish)
    }

    /// Checks configs on other cases than that which they were measured on: other seeds and kinds of input, work-items in reversed order where the
    /// device runs few at once, and problems of odd sizes and other numbers on which they are legal.
    ///
    /// # Errors
    /// `Error::Unavailable` or `Error::Failed` where no worker can be started.
    pub fn confirm(
        &mut self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        configs: &[Config],
    ) -> Result<Confirmation> {
        let mut confirmation = Confirmation { faults: vec![None; configs.len()], cases: Vec::new() };
        let faults = &mut confirmation.faults;
        let others = other_problems(kernel, problem, OTHERS, LARGE);
        let cases = cases(reversed_source(kernel, device).is_some());
        let same = cases.into_iter().map(|case| (problem, case));
        for (other, case) in same.chain(others.iter().map(|other| (other, Case::of_seed(SEED)))) {
            let space = ConfigSpace::new(kernel, other, device);
            let left: Vec<usize> =
                (0..configs.len()).filter(|at| faults[*at].is_none() && space.is_legal(&configs[*at])).collect();
            let chosen: Vec<Config> = left.iter().map(|at| configs[*at].clone()).collect();
            if chosen.is_empty() {
                continue;
            }
            // a problem or a kind of input of which there is no reference says nothing of a config
            let Ok(found) = self.measurer.check(kernel, other, &chosen, case)? else { continue };
            let data = match other == problem {
                true => case.words(),
                false => format!("for {}", kernel.brief_problem(other)),
            };
            for (at, fault) in std::iter::zip(left, found) {
                faults[at] = fault.map(|fault| Invalidity {
                    detail: format!("right at first, but {data}: {}", fault.detail),
                    ..fault
                });
            }
            confirmation.cases.push(data);
        }
        Ok(confirmation)
    }
}

/// What a config is checked on for the problem that it was measured for.
fn cases(is_reversible: bool) -> Vec<Case> {
    let mut cases = Case::of_all_kinds(SEED);
    if is_reversible {
        // it has the data of the first case, which are loaded already
        cases.insert(1, Case { order: Order::Reversed, ..Case::of_seed(SEED) });
    }
    cases
}
