//! The small decoder as an engine: the configs of its beam with predicted costs, ranked by likelihood.

use crate::distilled::exhaustive::{Found, WalkShare};
use crate::distilled::network::Network;
use crate::distilled::scratch::{Scratch, Work};
use crate::distilled::search::Search;
use crate::engine::{BeamFinds, Engine, EngineKind, Judged, PROBLEMS_PER_BATCH, PrefixScores};
use crate::features::featurizer::{Featurizer, Instance};
use crate::model::trained::Model;
use crate::network::weights::NetworkWeights;
use crate::search::candidate::{Candidate, Scored};
use crate::search::query::Query;
use seqtune_kernel::elementary::exp;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Choice, Choices, Config, Objective, Problem};
use std::sync::Arc;

/// Prefixes for each thread that walks a space, at least: so many that all end together.
const PREFIXES_PER_THREAD: usize = 64;

/// The small decoder of a kernel, ready to predict.
pub(crate) struct DistilledModel {
    featurizer: Arc<Featurizer>,
    network: Network,
}

impl DistilledModel {
    /// Builds the network of the featurizer's kernel.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where a weight is missing.
    pub(crate) fn new(model: &Model, featurizer: &Arc<Featurizer>) -> Result<DistilledModel> {
        let weights = NetworkWeights::of_member(&model.weights, 0);
        let network = Network::new(&model.meta.hparams, &weights, featurizer)?;
        Ok(DistilledModel { featurizer: featurizer.clone(), network })
    }

    fn search_of<'s>(&'s self, instance: &'s Instance) -> Search<'s> {
        Search { network: &self.network, featurizer: &self.featurizer, instance }
    }

    /// Searches one problem.
    fn beam(&self, problem: &Problem, query: &Query, scratch: &mut Scratch) -> Result<BeamFinds> {
        let instance = Instance::new(&self.featurizer.kernel, problem, query.device);
        instance.check(problem, query.device)?;
        let search = self.search_of(&instance);
        search.run(query.objective, self.width(query), scratch)?;
        let Scratch { work, beam, .. } = scratch;
        let found = beam.log.len().min(query.top);
        work.states.clear();
        for row in 0..found {
            search.place(&beam.sums[row * self.network.d..][..self.network.d], search.parameters(), work);
        }
        self.network.states(&mut work.states, &mut work.buffers);
        let candidate = |row: usize| {
            Candidate::with_estimates(Config(beam.prefix(row).to_vec()), beam.log[row], search.costs(row, work))
        };
        Ok(BeamFinds {
            candidates: (0..found).map(candidate).collect(),
            scores: beam.log.clone(),
            likelihood: beam.log.iter().map(|log| exp(*log)).sum(),
        })
    }

    /// The best `top` of scored configs, best first; ties go to the earlier config.
    fn rank_scored(&self, scored: &[Scored], configs: &[Config], top: usize) -> Vec<Candidate> {
        let mut order: Vec<usize> = (0..configs.len()).collect();
        let log = |i: &usize| scored[*i].log_probability;
        order.sort_by(|a, b| log(b).total_cmp(&log(a)).then(configs[*a].cmp(&configs[*b])));
        let candidate = |i: usize| {
            let Scored { log_probability, time_us, joules, .. } = scored[i];
            Candidate::with_estimates(configs[i].clone(), log_probability, [time_us, joules])
        };
        order.into_iter().take(top).map(candidate).collect()
    }

    /// What the best `top` of all configs are more probable than: a beam finds as many that are so.
    fn least(&self, search: &Search, objective: Objective, top: usize) -> Result<f64> {
        let mut scratch = Scratch::default();
        search.run(objective, 4 * top.max(8), &mut scratch)?;
        // less a little: in another batch a network may round otherwise
        Ok(scratch.beam.log.get(top.max(1) - 1).map_or(f64::NEG_INFINITY, |log| log - 1e-3))
    }
}

impl Engine for DistilledModel {
    fn kind(&self) -> EngineKind {
        EngineKind::Distilled
    }

    fn width(&self, query: &Query) -> usize {
        query.width.max(query.top)
    }

    fn finds_all(&self, _: Objective) -> bool {
        false
    }

    fn ranks_all(&self) -> bool {
        true
    }

    fn has_trees(&self, _: Objective) -> bool {
        false
    }

    fn search(&self, problems: &[Problem], query: &Query) -> Result<Vec<BeamFinds>> {
        let batches: Vec<&[Problem]> = problems.chunks(PROBLEMS_PER_BATCH).collect();
        let found = on_threads(&batches, query.threads, |batch| {
            let mut scratch = Scratch::default();
            batch.iter().map(|problem| self.beam(problem, query, &mut scratch)).collect::<Result<Vec<BeamFinds>>>()
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    fn rank(&self, problem: &Problem, query: &Query, configs: &[Config]) -> Result<Vec<Candidate>> {
        let instance = Instance::new(&self.featurizer.kernel, problem, query.device);
        Ok(self.rank_scored(&self.score(&instance, query.objective, configs)?, configs, query.top))
    }

    fn score(&self, instance: &Instance, objective: Objective, configs: &[Config]) -> Result<Vec<Scored>> {
        self.search_of(instance).score(objective, configs, &mut Work::default())
    }

    fn greedy(&self, instance: &Instance, unbroken: bool) -> Option<Config> {
        let (search, mut work) = (self.search_of(instance), Work::default());
        search.begin(Objective::Time, &mut work);
        let (mut sum, mut prefix): (Vec<f32>, Vec<Choice>) = (work.sum.clone(), Vec::new());
        for (at, parameter) in self.featurizer.kernel.parameters.iter().enumerate() {
            let open: Choices = match unbroken {
                true => instance.space.unbroken(&prefix),
                false => (0..parameter.values.len() as Choice).collect(),
            };
            let choice = match open.only() {
                Some(forced) => forced,
                None => {
                    work.states.clear();
                    search.place(&sum, at, &mut work);
                    self.network.states(&mut work.states, &mut work.buffers);
                    search.choose(0, &prefix, open, &mut work);
                    let best = (0..work.log.len()).max_by(|a, b| work.log[*a].total_cmp(&work.log[*b]))?;
                    open.iter().nth(best)?
                }
            };
            search.grow(&mut sum, &prefix, choice, &mut work);
            prefix.push(choice);
        }
        Some(Config(prefix))
    }

    /// Finds the best of every legal config by walks of the space that leave out what cannot be among them.
    fn judge_all(&self, problem: &Problem, query: &Query) -> Result<Judged> {
        let Query { device, objective, top, threads, .. } = *query;
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        let search = self.search_of(&instance);
        let parts: Vec<usize> = (0..threads.max(1)).collect();
        let least = self.least(&search, objective, top)?;
        let frontier = search.frontier(objective, PREFIXES_PER_THREAD * parts.len(), least, &mut Work::default())?;
        let walked = on_threads(&parts, threads, |first| {
            // each thread with its own compiled rules and features: they are not shared
            let (own, mut found) = (Instance::new(&self.featurizer.kernel, problem, device), Found::new(top, least));
            let part = WalkShare { first: *first, step: parts.len() };
            self.search_of(&own).walk(&frontier, part, &mut found, &mut Work::default())?;
            Ok(found)
        })?;
        let mut all = Found::new(top, least);
        walked.into_iter().for_each(|found| all.join(found));
        let configs: Vec<Config> = all.best.iter().map(|(_, config)| config.clone()).collect();
        let scored = search.score(objective, &configs, &mut Work::default())?;
        Ok(Judged { scored: all.scored, best: self.rank_scored(&scored, &configs, top) })
    }

    fn prefix_scores(&self, _: &[Problem], _: &Query) -> Result<Vec<Vec<PrefixScores>>> {
        input("the model is a distilled one; this asks the whole one")
    }
}
