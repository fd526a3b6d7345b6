//! Which configs a validation measures of each problem.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use seqtune_predict::Candidate;

/// What is measured beside predictions and the kernel's default.
pub struct Rivals {
    /// Random configs per problem, and the seed that draws them.
    pub search: usize,
    pub seed: u64,
    /// Configs that the user names.
    pub named: Vec<Config>,
}

/// All configs of a problem without repetition, and which of them are the default and the random ones.
pub struct Contenders {
    pub all: Vec<Config>,
    /// `None` where it is illegal.
    pub default: Option<Config>,
    pub random: Vec<Config>,
}

impl Rivals {
    /// The configs of a problem with these predictions. The same arguments give the same configs.
    ///
    /// # Errors
    /// `Error::Input` where random configs are asked for and the space can neither be counted nor looked ahead in.
    pub fn contenders_of(
        &self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        candidates: &[Candidate],
    ) -> Result<Contenders> {
        let space = ConfigSpace::new(kernel, problem, device);
        let mut all: Vec<Config> = candidates.iter().map(|c| c.config.clone()).collect();
        let default = Some(kernel.default_config()).filter(|default| space.is_legal(default));
        // the same for problems of the same space, so that their programs are compiled once
        let random = space.counter().sample_distinct(self.search, &mut ChaCha8Rng::seed_from_u64(self.seed))?;
        let named = self.named.iter().filter(|config| space.is_legal(config));
        for config in default.iter().chain(named).chain(&random) {
            if !all.contains(config) {
                all.push(config.clone());
            }
        }
        Ok(Contenders { all, default, random })
    }
}
