//! The full model of a kernel: its networks and trees, and the costs that these estimate.

use crate::confidence::opinion_pool::{EQUAL, PoolWeights};
use crate::features::featurizer::{Featurizer, Instance};
use crate::model::trained::Model;
use crate::network::ensemble::Ensemble;
use crate::network::reranker::Scores;
use crate::posterior::cost_neighbours::{CostNeighbours, TreeOpinion};
use crate::search::candidate::Candidate;
use crate::trees::gbdt::{Trees, TreesInStep};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Objective};
use std::sync::Arc;

/// Networks with re-rankers, and boosted trees.
pub(crate) struct FullModel {
    pub(crate) featurizer: Arc<Featurizer>,
    pub(crate) ensemble: Ensemble,
    /// Those of the kernel, for one objective each.
    pub(crate) trees: Vec<TreesInStep>,
    /// How much likelihood, re-ranker and trees count.
    pub(crate) weights: PoolWeights,
}

/// A config with its estimated costs, to be changed.
pub(crate) struct EstimateMut<'c> {
    pub(crate) config: &'c Config,
    pub(crate) time_us: &'c mut Option<f64>,
    pub(crate) joules: &'c mut Option<f64>,
}

impl FullModel {
    /// Builds the networks and trees of the featurizer's kernel.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) where they were made for another version of the kernel,
    /// [`Error::Model`](crate::Error::Model) where a weight is missing or has another shape.
    pub(crate) fn new(model: &Model, featurizer: &Arc<Featurizer>) -> Result<FullModel> {
        let kernel = &featurizer.kernel;
        let neighbours_of = |trees: &Trees| {
            let fits = |p: &&Arc<CostNeighbours>| p.kernel == kernel.name && p.objective == trees.objective();
            model.neighbours.iter().find(fits).cloned()
        };
        let trees = model.trees.iter().filter(|trees| trees.kernel() == kernel.name);
        Ok(FullModel {
            featurizer: featurizer.clone(),
            ensemble: Ensemble::new(&model.meta.hparams, &model.weights, model.meta.members)?,
            trees: trees.map(|trees| trees.in_step(neighbours_of(trees))).collect(),
            weights: model.meta.calibration.map_or(EQUAL, |calibration| calibration.weights),
        })
    }

    /// Gives times and energies of configs the shape that cost neighbours know; what they come to on average stays what the networks say.
    pub(crate) fn reshape<'c>(&self, instance: &Instance, estimates: impl Iterator<Item = EstimateMut<'c>>) {
        let [by_time, by_energy] = [Objective::Time, Objective::Energy].map(|objective| self.neighbours(objective));
        if by_time.is_none() && by_energy.is_none() {
            return;
        }
        let (mut configs, mut times, mut joules) = (Vec::new(), Vec::new(), Vec::new());
        for estimate in estimates {
            configs.push(estimate.config.clone());
            times.push(estimate.time_us);
            joules.push(estimate.joules);
        }
        if let Some(neighbours) = by_time {
            neighbours.reshape(instance, &configs, &mut times);
        }
        if let Some(neighbours) = by_energy {
            neighbours.reshape(instance, &configs, &mut joules);
        }
    }

    /// What ranks configs by an objective in the place of the trees.
    pub(crate) fn neighbours(&self, objective: Objective) -> Option<&CostNeighbours> {
        self.trees.iter().find(|trees| trees.objective == objective).and_then(TreesInStep::neighbours)
    }

    /// A config with the costs that a re-ranker or a time head gives it.
    pub(crate) fn candidate(
        &self,
        instance: &Instance,
        config: Config,
        log_probability: f64,
        scores: Scores,
    ) -> Candidate {
        Candidate::with_estimates(config, log_probability, self.featurizer.decode_costs(instance, scores.costs))
    }

    /// What the trees for the objective say of configs that are compared, see [`TreesInStep::weigh`].
    pub(crate) fn tree_opinions(
        &self,
        instance: &Instance,
        objective: Objective,
        configs: &[Config],
    ) -> Vec<TreeOpinion> {
        let trees = self.trees.iter().find(|trees| trees.objective == objective);
        trees.map_or_else(|| vec![TreeOpinion::NEUTRAL; configs.len()], |trees| trees.weigh(instance, configs))
    }
}
