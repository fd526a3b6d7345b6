//! Every legal config of a problem: scored by the re-ranker alone, without beam or likelihood, or judged by a small decoder's likelihood.

use crate::features::featurizer::Instance;
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::query::Query;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Choice, Config, Count, Problem};

/// What came of an exhaustive search.
pub struct Exhaustive {
    /// Legal configs, all of which were judged.
    pub considered: u64,
    /// Configs that a network scored. The others are behind prefixes that are less probable than the best configs, and so are they.
    pub scored: u64,
    /// The best by the networks' mean rank, or by cost neighbours, best first.
    pub best: Vec<Candidate>,
}

/// Parts of the space that a thread takes at once: enough that all threads end together.
const PREFIXES_PER_THREAD: usize = 16;

impl Predictor {
    /// Scores every legal config of a problem, and returns the best. `query.width` is not used.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the model has no re-ranker, having learned from tuned configs.
    pub fn exhaustive(&self, problem: &Problem, query: &Query) -> Result<Exhaustive> {
        let Query { device, objective, top, threads, .. } = *query;
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        let considered = match instance.space.counter().total() {
            Count::Exactly(count) if count <= MAX_CONFIGS => count,
            count => {
                let name = &self.featurizer.kernel.name;
                return input(format!(
                    "kernel {name} has {count} legal configs here; {MAX_CONFIGS:e} are judged at most"
                ));
            }
        };
        if let Some(small) = self.distilled() {
            let (scored, best) = small.exhaustive(&instance, problem, query)?;
            return Ok(Exhaustive { considered, scored, best: self.stated_apart(problem, query, best)? });
        }
        let decoder = self.decoder()?;
        if decoder.by_neighbours(objective) {
            // the beam holds the whole space then
            let best = self.predict(std::slice::from_ref(problem), query)?.remove(0);
            return Ok(Exhaustive { considered, scored: considered, best });
        }
        let caches = decoder.encode(std::slice::from_ref(&instance), objective);
        if !self.reranks() {
            return input("the model learned from tuned configs, so it has nothing that ranks every legal config");
        }
        let prefixes = self.prefixes(&instance, PREFIXES_PER_THREAD * threads);
        let parts = on_threads(&prefixes, threads, |prefix| {
            // each with its own compiled rules and features: they are not shared between threads
            let instance = Instance::new(&self.featurizer.kernel, problem, device);
            let mut scorer = decoder.ensemble.scorer(&self.featurizer, &instance, &caches, 0);
            let (mut count, mut best, mut waiting) = (0, Vec::new(), Vec::new());
            let mut settle = |waiting: &mut Vec<Config>, scores: Vec<_>| {
                count += waiting.len() as u64;
                best.extend(waiting.drain(..).zip(scores));
                keep(&mut best, top);
            };
            instance.space.for_each_behind(prefix, &mut |config| {
                scorer.add(config);
                waiting.push(Config(config.to_vec()));
                if waiting.len() == CONFIGS_PER_BATCH {
                    settle(&mut waiting, scorer.take());
                }
                true
            })?;
            settle(&mut waiting, scorer.take());
            Ok((count, best))
        })?;
        let count = parts.iter().map(|(count, _)| count).sum();
        let mut best: Vec<_> = parts.into_iter().flat_map(|(_, best)| best).collect();
        keep(&mut best, top);
        let configs: Vec<Config> = best.iter().map(|(config, _)| config.clone()).collect();
        let scored = decoder.score(&instance, objective, &configs)?;
        let candidate = |((config, scores), scored): ((Config, _), &crate::search::candidate::Scored)| {
            decoder.candidate(&instance, config, scored.log_probability, scores)
        };
        let best = best.into_iter().zip(&scored).map(candidate).collect();
        Ok(Exhaustive { considered, scored: count, best: self.stated_apart(problem, query, best)? })
    }

    /// Returns prefixes of configs, all of one length, that together cover the space: `least` or more, or one for each config.
    fn prefixes(&self, instance: &Instance, least: usize) -> Vec<Vec<Choice>> {
        let mut prefixes: Vec<Vec<Choice>> = vec![Vec::new()];
        while prefixes.len() < least && prefixes.first().is_some_and(|p| p.len() + 1 < self.parameters()) {
            let longer = |p: &Vec<Choice>| {
                let open = instance.space.unbroken(p);
                open.iter().map(|c| [p.as_slice(), &[c]].concat()).collect::<Vec<_>>()
            };
            prefixes = prefixes.iter().flat_map(longer).collect();
        }
        prefixes
    }
}

/// Legal configs of a problem that are judged, at most: minutes.
const MAX_CONFIGS: u64 = 1_000_000_000;

/// Configs that are judged at once.
const CONFIGS_PER_BATCH: usize = 1_024;

/// Keeps the `top` best by rank; ties go to the earlier config.
fn keep(best: &mut Vec<(Config, crate::network::reranker::Scores)>, top: usize) {
    best.sort_by(|(a, x), (b, y)| y.rank.total_cmp(&x.rank).then_with(|| a.cmp(b)));
    best.truncate(top);
}
