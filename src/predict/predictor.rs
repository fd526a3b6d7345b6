//! Prediction for one kernel: an engine that ranks, and what is known of how sure it is.

use crate::confidence::calibration::{BestRank, Calibration, KnownCost, ScoredConfigs, ScoredProblem};
use crate::confidence::device_calibration::{DeviceCalibration, PlattScaling};
use crate::confidence::held_out::{HeldOutResult, TrainingRange};
use crate::confidence::opinion_pool::{EQUAL, PoolWeights, pooled_score};
use crate::distilled::model::DistilledModel;
use crate::engine::{Engine, EngineKind, PrefixScores};
use crate::features::featurizer::{Featurizer, Instance};
use crate::model::trained::{Meta, Model};
use crate::posterior::error_model::ErrorModel;
use crate::search::candidate::Scored;
use crate::search::full_model::FullModel;
use crate::search::query::Query;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem};
use std::sync::Arc;

/// A model ready to predict for one kernel.
pub struct Predictor {
    pub(crate) featurizer: Arc<Featurizer>,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) calibration: Option<Calibration>,
    /// `None` of probabilities as the model states them.
    pub(crate) device_calibration: Option<DeviceCalibration>,
    pub(crate) devices: Vec<Device>,
    error_model: Option<ErrorModel>,
    pub(crate) held_out: Vec<HeldOutResult>,
    pub(crate) training_range: Option<TrainingRange>,
}

impl Predictor {
    /// Refuses a model that was made for another kernel or space.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) where the model was made for another kernel or another version of it.
    pub fn new(kernel: &Kernel, model: &Model) -> Result<Predictor> {
        let Meta { vocab, calibration, device_calibration, devices, error_models, held_out, training_ranges, .. } =
            &model.meta;
        let featurizer = Arc::new(Featurizer::new(&Arc::new(vocab.clone()), kernel)?);
        let mut trees = model.trees.iter().filter(|trees| trees.kernel() == kernel.name);
        trees.try_for_each(|trees| trees.check(kernel))?;
        if model.neighbours.iter().any(|neighbours| neighbours.kernel == kernel.name && !neighbours.is_sound(kernel)) {
            return input(format!(
                "the model's profiles of kernel {} are damaged, or of another version of it: train it again",
                kernel.name
            ));
        }
        let engine: Box<dyn Engine> = match model.meta.distilled {
            Some(_) => Box::new(DistilledModel::new(model, &featurizer)?),
            None => Box::new(FullModel::new(model, &featurizer)?),
        };
        Ok(Predictor {
            featurizer,
            engine,
            calibration: *calibration,
            device_calibration: Some(device_calibration.clone()),
            devices: devices.clone(),
            error_model: error_models.iter().find(|l| l.kernel == kernel.name).cloned(),
            held_out: held_out.iter().filter(|s| s.kernels.contains(&kernel.name)).cloned().collect(),
            training_range: training_ranges.iter().find(|r| r.kernel == kernel.name).cloned(),
        })
    }

    /// With probabilities as the model states them, whatever they are worth on a device: what corrections are learned of.
    #[doc(hidden)]
    pub fn without_correction(self) -> Predictor {
        Predictor { device_calibration: None, ..self }
    }

    /// Of each problem, the prefixes that a beam asks about, with what the networks say may follow: what a small decoder learns of a model of
    /// tuned configs, whose networks alone rank.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; [`Error::Input`](crate::Error::Input) of a distilled model.
    #[doc(hidden)]
    pub fn prefix_scores(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<PrefixScores>>> {
        self.engine.prefix_scores(problems, query)
    }

    /// Scores given configs of one problem; each must be legal.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a config is illegal.
    pub fn score(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        configs: &[Config],
    ) -> Result<Vec<Scored>> {
        self.engine.score(&self.instance(problem, device), objective, configs)
    }

    /// Scores configs whose costs are known, and puts the scores beside the costs.
    ///
    /// # Errors
    /// As [`Predictor::score`].
    #[doc(hidden)]
    pub fn score_known(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        known: &[KnownCost],
    ) -> Result<ScoredConfigs> {
        let configs: Vec<Config> = known.iter().map(|known| known.config.clone()).collect();
        let costs = known.iter().map(|known| known.cost).collect();
        let scored = self.score(problem, device, objective, &configs)?;
        let opinions = scored.iter().map(Scored::opinions).collect();
        let risks = scored.iter().map(|s| s.risk).collect();
        Ok(ScoredConfigs { scored, problem: ScoredProblem { opinions, costs, risks } })
    }

    /// The most probable value at each step, without look-ahead: among those that break no constraint so far (`None` at a dead
    /// end), or among all. What masking is compared with.
    #[doc(hidden)]
    pub fn greedy(&self, problem: &Problem, device: &Device, unbroken: bool) -> Option<Config> {
        self.engine.greedy(&self.instance(problem, device), unbroken)
    }

    /// Where the best of configs stands whose costs are known, by probabilities that are not corrected for the device; `None` without
    /// calibration.
    #[doc(hidden)]
    pub fn best_rank(&self, known: &ScoredProblem) -> Option<BestRank> {
        known.best_rank(&self.calibration?)
    }

    /// What candidates are ranked by, the higher the better: likelihood, re-ranker and trees together.
    #[doc(hidden)]
    pub fn pooled_score(&self, scored: &Scored) -> f64 {
        pooled_score(&self.pool_weights(), &scored.opinions())
    }

    /// How much likelihood, re-ranker and trees count.
    #[doc(hidden)]
    pub fn pool_weights(&self) -> PoolWeights {
        self.calibration.map_or(EQUAL, |calibration| calibration.weights)
    }

    /// Whether it was trained on a device of this name.
    pub fn trained_on(&self, device: &Device) -> bool {
        device.is_among(&self.devices)
    }

    /// What the probabilities that the model states are worth on a device.
    pub(crate) fn device_scaling(&self, device: &Device) -> PlattScaling {
        self.device_calibration
            .as_ref()
            .map_or(PlattScaling::IDENTITY, |calibration| calibration.scaling(device, &self.devices))
    }

    /// Whether it has boosted trees for an objective: of a model that learned from whole sweeps.
    #[doc(hidden)]
    pub fn has_trees(&self, objective: Objective) -> bool {
        self.engine.has_trees(objective)
    }

    /// Whether networks re-rank what a beam finds: of a full model that learned from whole sweeps.
    #[doc(hidden)]
    pub fn reranks(&self) -> bool {
        self.engine() == EngineKind::Full && self.ranks_all()
    }

    /// Which form of the model answers.
    pub fn engine(&self) -> EngineKind {
        self.engine.kind()
    }

    /// Whether every legal config of a problem can be ranked: not by networks that learned from tuned configs.
    pub fn ranks_all(&self) -> bool {
        self.engine.ranks_all()
    }

    /// A problem on a device, ready to be encoded.
    #[doc(hidden)]
    pub fn instance(&self, problem: &Problem, device: &Device) -> Instance {
        Instance::new(self.kernel(), problem, device)
    }

    /// The kernel that it predicts for.
    pub fn kernel(&self) -> &Kernel {
        &self.featurizer.kernel
    }

    /// How its errors go together; `None` where it did not learn that.
    #[doc(hidden)]
    pub fn error_model(&self) -> Option<&ErrorModel> {
        self.error_model.as_ref()
    }
}
