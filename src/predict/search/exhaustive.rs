//! Every legal config of a problem: scored by the re-ranker alone, without beam or likelihood, or judged by a small decoder's likelihood.

use crate::engine::Judged;
use crate::features::featurizer::Instance;
use crate::network::reranker::Scores;
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::full_model::FullModel;
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
        let considered = match self.instance(problem, query.device).space.counter().total() {
            Count::Exactly(count) if count <= MAX_CONFIGS => count,
            count => {
                let name = &self.kernel().name;
                return input(format!(
                    "kernel {name} has {count} legal configs here; {MAX_CONFIGS:e} are judged at most"
                ));
            }
        };
        if self.engine.finds_all(query.objective) {
            let best = self.predict_one(problem, query)?.candidates;
            return Ok(Exhaustive { considered, scored: considered, best });
        }
        let Judged { scored, best } = self.engine.judge_all(problem, query)?;
        Ok(Exhaustive { considered, scored, best: self.stated_apart(problem, query, best)? })
    }
}

impl FullModel {
    /// Ranks every legal config of a problem by the re-ranker alone.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub(crate) fn rerank_all(&self, problem: &Problem, query: &Query) -> Result<Judged> {
        let Query { device, objective, top, threads, .. } = *query;
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        let caches = self.encode(std::slice::from_ref(&instance), objective, false);
        let prefixes = self.prefixes(&instance, PREFIXES_PER_THREAD * threads);
        let parts = on_threads(&prefixes, threads, |prefix| {
            // each with its own compiled rules and features: they are not shared between threads
            let instance = Instance::new(&self.featurizer.kernel, problem, device);
            let mut scorer = self.ensemble.scorer(&self.featurizer, &instance, &caches, 0);
            let (mut part, mut waiting) = (ScoredPart { count: 0, best: Vec::new() }, Vec::new());
            instance.space.for_each_behind(prefix, &mut |config| {
                scorer.add(config);
                waiting.push(Config(config.to_vec()));
                if waiting.len() == CONFIGS_PER_BATCH {
                    part.take(&mut waiting, scorer.take(), top);
                }
                true
            })?;
            part.take(&mut waiting, scorer.take(), top);
            Ok(part)
        })?;
        let scored = parts.iter().map(|part| part.count).sum();
        let mut best: Vec<Ranked> = parts.into_iter().flat_map(|part| part.best).collect();
        keep(&mut best, top);
        let configs: Vec<Config> = best.iter().map(|ranked| ranked.config.clone()).collect();
        let likelihoods = self.score_given(&instance, objective, &configs)?;
        let candidate = |(ranked, scored): (Ranked, &crate::search::candidate::Scored)| {
            self.candidate(&instance, ranked.config, scored.log_probability, ranked.scores)
        };
        Ok(Judged { scored, best: best.into_iter().zip(&likelihoods).map(candidate).collect() })
    }

    /// Returns prefixes of configs, all of one length, that together cover the space: `least` or more, or one for each config.
    fn prefixes(&self, instance: &Instance, least: usize) -> Vec<Vec<Choice>> {
        let parameters = self.featurizer.kernel.parameters.len();
        let mut prefixes: Vec<Vec<Choice>> = vec![Vec::new()];
        while prefixes.len() < least && prefixes.first().is_some_and(|p| p.len() + 1 < parameters) {
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

/// A config with what the re-ranker makes of it.
struct Ranked {
    config: Config,
    scores: Scores,
}

/// What one thread found behind a prefix.
struct ScoredPart {
    /// Configs that were scored.
    count: u64,
    best: Vec<Ranked>,
}

impl ScoredPart {
    /// Takes in the configs that wait, with their scores.
    fn take(&mut self, waiting: &mut Vec<Config>, scores: Vec<Scores>, top: usize) {
        self.count += waiting.len() as u64;
        self.best.extend(waiting.drain(..).zip(scores).map(|(config, scores)| Ranked { config, scores }));
        keep(&mut self.best, top);
    }
}

/// Keeps the `top` best by rank; ties go to the earlier config.
fn keep(best: &mut Vec<Ranked>, top: usize) {
    best.sort_by(|a, b| b.scores.rank.total_cmp(&a.scores.rank).then_with(|| a.config.cmp(&b.config)));
    best.truncate(top);
}
