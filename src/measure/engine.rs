//! One way to measure a batch, for sweeps and for validation: what does not compile is booked, the rest is measured interleaved.

use crate::batch::{Batch, Contender, Ending, Measured};
use crate::worker::client::{Client, Setup, compile_all};
use seqtune_data::Invalidity;
use seqtune_data::recipe::Policy;
use seqtune_predict::error::Result;
use seqtune_predict::kernel::{Config, Kernel, Problem};

/// A batch whose programs were compiled.
pub struct Compiled<'a> {
    batch: Batch<'a>,
    /// Places of the configs that do not compile, and why.
    broken: Vec<(usize, Invalidity)>,
    /// Places of the others.
    pub sound: Vec<usize>,
}

impl<'a> Compiled<'a> {
    /// A batch with why each of its configs does not compile; `None` for those that do.
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

    /// Gives `finish` what came of each contender once: first the configs that do not compile, then the others as they are measured.
    ///
    /// # Errors
    /// Where no worker can be started, or `finish` fails.
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

/// Workers that compile and measure one batch after the other.
pub struct Engine {
    compilers: Vec<Client>,
    /// The worker that measures.
    pub measurer: Client,
}

impl Engine {
    /// An engine with so many compiling processes, which are started when they are needed.
    pub fn new(setup: Setup, compilers: usize) -> Engine {
        Engine { compilers: (0..compilers).map(|_| Client::new(setup.clone())).collect(), measurer: Client::new(setup) }
    }

    /// Compiles a batch, then measures it, as [`Compiled::measure`].
    ///
    /// # Errors
    /// Where no worker can be started, or `finish` fails.
    pub fn measure(
        &mut self,
        kernel: &Kernel,
        batch: Batch,
        policy: &Policy,
        finish: &mut dyn FnMut(Measured) -> Result<()>,
    ) -> Result<Ending> {
        let jobs: Vec<(&Problem, &Config)> = batch.configs.iter().map(|config| (batch.problem, config)).collect();
        let mut broken: Vec<Option<Invalidity>> = vec![None; jobs.len()];
        compile_all(&mut self.compilers, kernel, &jobs, &|| true, &mut |at, invalidity| broken[at] = invalidity)?;
        Compiled::new(batch, |at| broken[at].clone()).measure(&mut self.measurer, kernel, policy, finish)
    }
}
