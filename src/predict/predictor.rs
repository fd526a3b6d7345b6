//! Prediction: the network's scores in the beam, within the legal space.

use crate::clock::Instant;
use crate::confidence::calibration::{BestRank, Calibration, ScoredProblem};
use crate::confidence::device_calibration::{DeviceCalibration, PlattScaling};
use crate::confidence::held_out::{HeldOutResult, TrainingRange};
use crate::confidence::opinion_pool::{EQUAL, PoolWeights, pooled_score};
use crate::distilled::model::DistilledModel;
use crate::distilled::network::Network;
use crate::distilled::scratch::Scratch;
use crate::features::featurizer::{Featurizer, Instance};
use crate::model::trained::{Meta, Model};
use crate::network::ensemble::Ensemble;
use crate::network::weights::NetworkWeights;
use crate::posterior::cost_neighbours::CostNeighbours;
use crate::posterior::error_model::ErrorModel;
use crate::search::candidate::{Candidate, Scored};
use crate::search::decoder::{Decoder, PrefixScores};
use crate::search::query::Query;
use crate::trees::gbdt::{Trees, TreesInStep};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::{on_threads, run_in_pool};
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem};
use std::sync::Arc;

/// A model ready to predict for one kernel.
pub struct Predictor {
    pub(crate) featurizer: Featurizer,
    engine: Engine,
    pub(crate) calibration: Option<Calibration>,
    /// `None` of probabilities as the model states them.
    pub(crate) device_calibration: Option<DeviceCalibration>,
    pub(crate) devices: Vec<Device>,
    error_model: Option<ErrorModel>,
    pub(crate) held_out: Vec<HeldOutResult>,
    pub(crate) training_range: Option<TrainingRange>,
}

/// What answers.
enum Engine {
    /// Networks with re-rankers, and boosted trees.
    Full(Ensemble, Vec<TreesInStep>),
    /// The small decoder that they were distilled into.
    Distilled(Box<Network>),
}

/// Problems per batch: so few that the buffers of a step stay in the cache and below the size that malloc maps anew.
const PROBLEMS_PER_BATCH: usize = 12;

impl Predictor {
    /// Refuses a model that was made for another kernel or space.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) where the model was made for another kernel or another version of it.
    pub fn new(kernel: &Kernel, model: &Model) -> Result<Predictor> {
        let Meta {
            vocab,
            hparams,
            members,
            calibration,
            device_calibration,
            devices,
            error_models,
            held_out,
            training_ranges,
            ..
        } = &model.meta;
        let featurizer = Featurizer::new(&Arc::new(vocab.clone()), kernel)?;
        let trees = || model.trees.iter().filter(|trees| trees.kernel() == kernel.name);
        trees().try_for_each(|trees| trees.check(kernel))?;
        if model.neighbours.iter().any(|neighbours| neighbours.kernel == kernel.name && !neighbours.is_sound(kernel)) {
            return input(format!(
                "the model's profiles of kernel {} are damaged, or of another version of it: train it again",
                kernel.name
            ));
        }
        let neighbours_of = |trees: &Trees| {
            let fits = |p: &&Arc<CostNeighbours>| p.kernel == kernel.name && p.objective == trees.objective();
            model.neighbours.iter().find(fits).cloned()
        };
        let engine = match model.meta.distilled {
            Some(_) => {
                let weights = NetworkWeights::of_member(&model.weights, 0);
                Engine::Distilled(Box::new(Network::new(hparams, &weights, &featurizer)?))
            }
            None => {
                let ensemble = Ensemble::new(hparams, &model.weights, *members)?;
                Engine::Full(ensemble, trees().map(|trees| trees.in_step(neighbours_of(trees))).collect())
            }
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
    pub fn uncorrected(self) -> Predictor {
        Predictor { device_calibration: None, ..self }
    }

    /// As [`Predictor::predict`], with times and joules as they are estimated, whatever they are worth on the device: to compare configs by,
    /// not to be told.
    ///
    /// # Errors
    /// [`Error::NoLegalConfig`](crate::Error::NoLegalConfig) where the constraints leave a problem none,
    /// [`Error::Input`](crate::Error::Input) where they are too entangled to look ahead, or the kernel does not exist for the device.
    pub fn estimates(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        self.kernel().check_device(query.device)?;
        let began = Instant::now();
        let answers = self.stated(problems, query, self.search(problems, query)?)?;
        tracing::debug!(
            "{} problems for {}, beam of {}, {} threads: {:.2} ms",
            problems.len(),
            query.device.name,
            query.width.max(query.top),
            query.threads,
            1e3 * began.elapsed().as_secs_f64()
        );
        Ok(answers)
    }

    /// What the beam finds of each problem: probabilities are those that it shares out itself.
    pub(crate) fn search(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        let batches: Vec<&[Problem]> = problems.chunks(PROBLEMS_PER_BATCH).collect();
        let answers = match &self.engine {
            Engine::Full(..) => {
                let decoder = Decoder { parallel: query.threads > 1 && batches.len() == 1, ..self.decoder()? };
                match decoder.parallel {
                    true => vec![run_in_pool(query.threads, || decoder.batch(batches[0], query, None))??],
                    false => on_threads(&batches, query.threads, |batch| decoder.batch(batch, query, None))?,
                }
            }
            Engine::Distilled(network) => on_threads(&batches, query.threads, |batch| {
                let mut scratch = Scratch::default();
                batch.iter().map(|problem| self.ask(network, problem, query, &mut scratch)).collect::<Result<Vec<_>>>()
            })?,
        };
        Ok(answers.into_iter().flatten().collect())
    }

    /// As [`Predictor::predict_among`], with times and joules as of [`Predictor::estimates`].
    pub(crate) fn estimates_among(
        &self,
        problem: &Problem,
        query: &Query,
        configs: &[Config],
    ) -> Result<Vec<Candidate>> {
        let answer = match &self.engine {
            Engine::Full(..) => self.decoder()?.batch(std::slice::from_ref(problem), query, Some(configs))?.remove(0),
            Engine::Distilled(network) => {
                let instance = Instance::new(&self.featurizer.kernel, problem, query.device);
                self.small(network).rank(&instance, query.objective, configs, query.top)?
            }
        };
        self.stated_apart(problem, query, answer)
    }

    /// Of each problem, the prefixes that a beam asks about, with what the networks say may follow: what a small decoder learns of a model of
    /// tuned configs, whose networks alone rank.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; [`Error::Input`](crate::Error::Input) of a distilled model.
    pub fn prefix_scores(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<PrefixScores>>> {
        let batches: Vec<&[Problem]> = problems.chunks(PROBLEMS_PER_BATCH).collect();
        let decoder = self.decoder()?;
        let scores = on_threads(&batches, query.threads, |batch| {
            let instance = |problem: &Problem| Instance::new(&self.featurizer.kernel, problem, query.device);
            let instances: Vec<Instance> = batch.iter().map(instance).collect();
            decoder.prefix_scores(&instances, query.objective, query.width)
        })?;
        Ok(scores.into_iter().flatten().collect())
    }

    /// The answer of the small decoder to one problem.
    fn ask(
        &self,
        network: &Network,
        problem: &Problem,
        query: &Query,
        scratch: &mut Scratch,
    ) -> Result<Vec<Candidate>> {
        let instance = Instance::new(&self.featurizer.kernel, problem, query.device);
        instance.check(problem, query.device)?;
        self.small(network).predict(&instance, query.objective, (query.top, query.width), scratch)
    }

    fn small<'a>(&'a self, network: &'a Network) -> DistilledModel<'a> {
        DistilledModel { featurizer: &self.featurizer, network, calibration: self.calibration }
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
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        match &self.engine {
            Engine::Full(..) => self.decoder()?.score(&instance, objective, configs),
            Engine::Distilled(network) => self.small(network).score(&instance, objective, configs),
        }
    }

    /// Scores configs whose costs are known, and puts the scores beside the costs.
    ///
    /// # Errors
    /// As [`Predictor::score`].
    pub fn score_known(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        known: &[(&Config, f64)],
    ) -> Result<(Vec<Scored>, ScoredProblem)> {
        let (configs, costs): (Vec<Config>, Vec<f64>) =
            known.iter().map(|(config, cost)| ((*config).clone(), *cost)).unzip();
        let scored = self.score(problem, device, objective, &configs)?;
        let opinions = scored.iter().map(Scored::opinions).collect();
        let risks = scored.iter().map(|s| s.risk).collect();
        Ok((scored, ScoredProblem { opinions, costs, risks }))
    }

    /// The most probable value at each step, without look-ahead: among those that break no constraint so far (`None` at a dead
    /// end), or among all. What masking is compared with.
    ///
    /// # Errors
    /// None; a dead end is `None`.
    pub fn greedy(&self, problem: &Problem, device: &Device, unbroken: bool) -> Result<Option<Config>> {
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        match &self.engine {
            Engine::Full(..) => Ok(self.decoder()?.greedy(&instance, unbroken)),
            Engine::Distilled(network) => Ok(self.small(network).greedy(&instance, unbroken)),
        }
    }

    /// Where the best of configs stands whose costs are known, by probabilities that are not corrected for the device; `None` without
    /// calibration.
    pub fn best_rank(&self, known: &ScoredProblem) -> Option<BestRank> {
        known.best_rank(&self.calibration?)
    }

    /// What candidates are ranked by, the higher the better: likelihood, re-ranker and trees together.
    pub fn pooled_score(&self, scored: &Scored) -> f64 {
        pooled_score(&self.pool_weights(), &scored.opinions())
    }

    /// How much likelihood, re-ranker and trees count.
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

    /// Whether every legal config can be re-ranked: of a model that learned from whole sweeps.
    pub fn reranks(&self) -> bool {
        matches!(&self.engine, Engine::Full(ensemble, _) if ensemble.reranks())
    }

    /// Whether it has boosted trees for an objective: of a model that learned from whole sweeps.
    pub fn has_trees(&self, objective: Objective) -> bool {
        matches!(&self.engine, Engine::Full(_, trees) if trees.iter().any(|trees| trees.objective == objective))
    }

    /// Whether the small decoder answers that a whole model was distilled into.
    pub fn is_distilled(&self) -> bool {
        matches!(self.engine, Engine::Distilled(_))
    }

    /// Whether every legal config of a problem can be ranked: not by networks that learned from tuned configs.
    pub fn ranks_all(&self) -> bool {
        self.is_distilled() || self.reranks()
    }

    /// The kernel that it predicts for.
    pub fn kernel(&self) -> &Kernel {
        &self.featurizer.kernel
    }

    /// How its errors go together; `None` where it did not learn that.
    pub fn error_model(&self) -> Option<&ErrorModel> {
        self.error_model.as_ref()
    }

    pub(crate) fn parameters(&self) -> usize {
        self.featurizer.kernel.parameters.len()
    }

    /// The small decoder, where it is what answers.
    pub(crate) fn distilled(&self) -> Option<DistilledModel<'_>> {
        match &self.engine {
            Engine::Full(..) => None,
            Engine::Distilled(network) => Some(self.small(network)),
        }
    }

    /// What searches with the whole model.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the model is a small decoder.
    pub(crate) fn decoder(&self) -> Result<Decoder<'_>> {
        match &self.engine {
            Engine::Full(ensemble, trees) => Ok(Decoder {
                featurizer: &self.featurizer,
                ensemble,
                trees,
                calibration: self.calibration,
                parallel: false,
            }),
            Engine::Distilled(_) => input("the model is a distilled one; this asks the whole one"),
        }
    }
}
