//! What to measure next: the budget of a sweep spent where the model expects the best config, or does not know.

use crate::predictor::Predictor;
use crate::search::query::Query;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, ConfigSpace, Problem};

/// How the measurements of a sweep are spent.
#[derive(Clone, Copy, Debug)]
pub struct Acquisition {
    /// Configs measured per problem, on average.
    pub each: usize,
    /// Share of them drawn at random among all legal configs, 0 to 1.
    pub fresh: f64,
    /// Seed of the random configs.
    pub seed: u64,
}

/// Candidates per problem, as a multiple of the measurements that it gets on average.
const BEAM_FACTOR: usize = 4;

impl Predictor {
    /// Configs to measure for each problem, the most promising first: of all pairs of a problem and a config that a beam finds, those
    /// that are most probably the best of their problem. A problem with a sure answer gets few, one whose probability is spread gets
    /// many, and each gets its first choice. The random ones show what the model never considers. The same arguments give the same plan.
    /// `query.top` and `query.width` are not used: the beam is four times as wide as `each`.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn acquire(
        &self,
        problems: &[Problem],
        query: &Query,
        Acquisition { each, fresh, seed }: Acquisition,
    ) -> Result<Vec<Vec<Config>>> {
        let width = BEAM_FACTOR * each.max(1);
        self.kernel().check_device(query.device)?;
        // as the beam itself shares its likelihood out: along the ranking, however narrow it is
        let mut found = self.search(problems, &Query { top: width, width, ..*query })?;
        found.iter_mut().for_each(|candidates| self.device_scaling(query.device).correct(candidates));
        let random = (each as f64 * fresh).clamp(0.0, each as f64);
        // the first choices are not to be weighed against each other
        let budget = ((each as f64 - random) * problems.len() as f64).round() as usize;
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (problem, candidates) in found.iter().enumerate() {
            pairs.extend(
                candidates.iter().enumerate().skip(1).map(|(at, c)| (c.probability.unwrap_or(0.0), problem, at)),
            );
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        pairs.truncate(budget.saturating_sub(found.len()));
        let mut taken = vec![1usize; found.len()];
        // scores fall with probability within a problem, so what is taken of it is its beginning
        pairs.iter().for_each(|(_, problem, _)| taken[*problem] += 1);
        let mut plan = Vec::with_capacity(problems.len());
        for (i, (problem, candidates)) in problems.iter().zip(found).enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_add(i as u64));
            let mut configs: Vec<Config> = candidates.into_iter().take(taken[i]).map(|c| c.config).collect();
            let count = random.floor() as usize + (rng.random::<f64>() < random.fract()) as usize;
            for config in ConfigSpace::new(&self.featurizer.kernel, problem, query.device)
                .counter()
                .sample_distinct(count, &mut rng)?
            {
                if !configs.contains(&config) {
                    configs.push(config);
                }
            }
            plan.push(configs);
        }
        Ok(plan)
    }
}
