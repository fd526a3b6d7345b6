//! Prediction: the network's scores in the beam, within the legal space.

use crate::calibration::{Calibration, First, ScoredProblem};
use crate::candidate::{Candidate, Scored};
use crate::decoder::Decoder;
use crate::error::Result;
use crate::featurizer::{Featurizer, Instance};
use crate::gbdt::TreesInStep;
use crate::kernel::{Config, Device, Kernel, Objective, Problem};
use crate::model::{Meta, Model};
use crate::network::ensemble::Ensemble;
use crate::opinion_pool::pooled_score;
use crate::query::Query;
use crate::threads::on_threads;
use std::sync::Arc;
use std::time::Instant;

/// A model ready to predict for one kernel.
pub struct Predictor {
    pub(crate) featurizer: Featurizer,
    pub(crate) ensemble: Ensemble,
    trees: Vec<TreesInStep>,
    calibration: Option<Calibration>,
    devices: Vec<String>,
}

/// Problems per batch: so few that the buffers of a step stay in the cache and below the size that malloc maps anew.
const BATCH: usize = 12;

impl Predictor {
    /// Refuses a model that was made for another kernel or space.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) where the model was made for another kernel or another version of it.
    pub fn new(kernel: &Kernel, model: &Model) -> Result<Predictor> {
        let Meta { vocab, hparams, members, calibration, devices, .. } = &model.meta;
        let featurizer = Featurizer::new(&Arc::new(vocab.clone()), kernel)?;
        let trees = || model.trees.iter().filter(|trees| trees.kernel() == kernel.name);
        trees().try_for_each(|trees| trees.check(kernel))?;
        Ok(Predictor {
            featurizer,
            ensemble: Ensemble::new(hparams, &model.weights, *members)?,
            trees: trees().map(|trees| trees.in_step()).collect(),
            calibration: *calibration,
            devices: devices.iter().map(|d| d.name.clone()).collect(),
        })
    }

    /// The best legal configs of each problem, of those that the beam finds most probable: likelihood, re-ranker and trees together
    /// order them.
    ///
    /// # Errors
    /// [`Error::NoLegalConfig`](crate::Error::NoLegalConfig) where the constraints leave a problem none,
    /// [`Error::Input`](crate::Error::Input) where they are too entangled to look ahead.
    pub fn predict(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        let batches: Vec<&[Problem]> = problems.chunks(BATCH).collect();
        let decoder = Decoder { parallel: query.threads > 1 && batches.len() == 1, ..self.decoder() };
        let began = Instant::now();
        let answers = on_threads(&batches, query.threads, |batch| decoder.batch(batch, query, None))?;
        tracing::debug!(
            "{} problems for {}, beam of {}, {} threads: {:.2} ms",
            problems.len(),
            query.device.name,
            query.width.max(query.top),
            query.threads,
            1e3 * began.elapsed().as_secs_f64()
        );
        Ok(answers.into_iter().flatten().collect())
    }

    /// As [`Predictor::predict`] for one problem, but the search follows `configs` only: what replay asks. Probabilities are
    /// still those among all legal configs.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn predict_among(&self, problem: &Problem, query: &Query, configs: &[Config]) -> Result<Vec<Candidate>> {
        Ok(self.decoder().batch(std::slice::from_ref(problem), query, Some(configs))?.remove(0))
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
        self.decoder().score(&instance, objective, configs)
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
        Ok((scored, ScoredProblem { opinions, costs }))
    }

    /// The most probable value at each step, without look-ahead: among those that break no constraint so far (`None` at a dead
    /// end), or among all. What masking is compared with.
    ///
    /// # Errors
    /// None; a dead end is `None`.
    pub fn greedy(&self, problem: &Problem, device: &Device, unbroken: bool) -> Result<Option<Config>> {
        let instance = Instance::new(&self.featurizer.kernel, problem, device);
        Ok(self.decoder().greedy(&instance, unbroken))
    }

    /// Whether it never saw the device, or the best of `candidates` (all that was asked for, best first) is less probable than what the model
    /// was found reliable at: then the first choice loses more than [`crate::calibration::LOSS`] more often than
    /// [`crate::calibration::RISK`].
    pub fn is_unsure(&self, device: &Device, candidates: &[Candidate]) -> bool {
        candidates.first().map_or(!self.saw(device), |first| self.doubts(device, first.probability))
    }

    /// Whether an answer of which the first choice is so probable is unsure.
    fn doubts(&self, device: &Device, probability: f64) -> bool {
        let threshold = self.calibration.and_then(|c| c.threshold);
        !self.saw(device) || threshold.is_some_and(|threshold| probability < threshold)
    }

    /// What comes first of configs whose costs are known, and whether the answer would be marked unsure; `None` without calibration.
    pub fn first(&self, device: &Device, known: &ScoredProblem) -> Option<(First, bool)> {
        let first = known.first(&self.calibration?)?;
        Some((first, self.doubts(device, first.probability)))
    }

    /// What candidates are ranked by, the higher the better: likelihood, re-ranker and trees together.
    pub fn pooled_score(&self, scored: &Scored) -> f64 {
        pooled_score(&self.decoder().weights(), &scored.opinions())
    }

    /// Whether it was trained on a device of this name.
    pub fn saw(&self, device: &Device) -> bool {
        self.devices.contains(&device.name)
    }

    /// Whether every legal config can be re-ranked: of a model that learned from whole sweeps.
    pub fn reranks(&self) -> bool {
        self.ensemble.reranks()
    }

    /// Whether it has boosted trees for an objective: of a model that learned from whole sweeps.
    pub fn has_trees(&self, objective: Objective) -> bool {
        self.trees.iter().any(|trees| trees.objective == objective)
    }

    pub(crate) fn parameters(&self) -> usize {
        self.featurizer.kernel.parameters.len()
    }

    pub(crate) fn decoder(&self) -> Decoder<'_> {
        Decoder {
            featurizer: &self.featurizer,
            ensemble: &self.ensemble,
            trees: &self.trees,
            calibration: self.calibration,
            parallel: false,
        }
    }
}
