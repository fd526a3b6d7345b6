//! Prediction: the network's scores in the beam, within the legal space.

use super::batch::Batch;
use super::calibration::{Calibration, First, Known};
use super::ensemble::{Ensemble, member};
use super::examples::Sequence;
use super::net::Net;
use super::pool::{Opinions, merit};
use super::search::With;
use super::speller::{Spelled, Speller};
use super::store::{Meta, Model};
use super::trees::Trees;
use crate::dataset::{Objective, Tried};
use crate::error::{Result, input};
use crate::kernel::{Config, Device, Kernel, Problem};
use crate::threads::on_threads;
use std::sync::Arc;
use tch::{Kind, Tensor, no_grad};

/// A predicted config.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub config: Config,
    /// Natural logarithm of the likelihood among all legal configs.
    pub log_probability: f64,
    /// Probability that it is the best: the beam's likelihood, shared out by the calibrated merits. Of a model without calibration, the
    /// likelihood.
    pub probability: f64,
    /// Predicted device time in microseconds; NaN where the model never saw a time.
    pub time_us: f64,
    /// Predicted joules per launch; NaN where the model never saw energy.
    pub joules: f64,
}

/// A config with what the model makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Natural logarithm of its probability among legal configs.
    pub log_probability: f64,
    /// Positions where there was a choice, and whether the config's value was the most probable one there.
    pub steps: Vec<(usize, bool)>,
    pub time_us: f64,
    pub joules: f64,
    /// What the judge says: the logarithm of how probably it is the best of the configs that were scored with it; 0 where the model has none.
    pub rank: f64,
    /// What the boosted trees of values and of lists say, likewise; 0 where the model has none.
    pub trees: [f64; 2],
}

impl Scored {
    pub fn opinions(&self) -> Opinions {
        [self.log_probability, self.rank, self.trees[0], self.trees[1]]
    }
}

/// A model ready to predict for one kernel.
pub struct Predictor<'k> {
    pub(super) speller: Speller<'k>,
    pub(super) ensemble: Ensemble,
    trees: Vec<Trees>,
    calibration: Option<Calibration>,
    devices: Vec<String>,
}

/// Width of the beam that is searched where nothing else is asked for.
pub const WIDTH: usize = 20;

/// Problems per batch: so few that the buffers of a step stay in the cache and below the size that malloc maps anew.
const BATCH: usize = 12;

impl<'k> Predictor<'k> {
    /// Refuses a model that was made for another kernel or space.
    pub fn new(kernel: &'k Kernel, model: &Model) -> Result<Predictor<'k>> {
        let Meta { vocab, hparams, members, calibration, devices, .. } = &model.meta;
        let speller = Speller::new(&Arc::new(vocab.clone()), kernel)?;
        let trees: Vec<Trees> = model.trees.iter().filter(|trees| trees.kernel() == kernel.name).cloned().collect();
        trees.iter().try_for_each(|trees| trees.check(kernel))?;
        Ok(Predictor {
            speller,
            ensemble: Ensemble::new(hparams, &model.weights, *members)?,
            trees,
            calibration: *calibration,
            devices: devices.iter().map(|d| d.name.clone()).collect(),
        })
    }

    /// The `top` best of the legal configs of each problem that a beam of `width` (at least `top`) finds most probable: likelihood,
    /// judge and trees together order them. Problems are spread over `threads` threads.
    pub fn predict(
        &self,
        problems: &[Problem],
        device: &Device,
        objective: Objective,
        (top, width): (usize, usize),
        threads: usize,
    ) -> Result<Vec<Vec<Candidate>>> {
        let with = self.with();
        let batches: Vec<&[Problem]> = problems.chunks(BATCH).collect();
        let answers =
            on_threads(&batches, threads, |batch| with.batch(batch, device, objective, (top, width.max(top)), None))?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// As [`Predictor::predict`] for one problem, but the search follows `configs` only: what replay asks. Probabilities are
    /// still those among all legal configs.
    pub fn predict_among(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        (top, width): (usize, usize),
        configs: &[Config],
    ) -> Result<Vec<Candidate>> {
        let problems = std::slice::from_ref(problem);
        let mut found = self.with().batch(problems, device, objective, (top, width.max(top)), Some(configs))?;
        Ok(found.remove(0))
    }

    /// Scores given configs of one problem; each must be legal.
    pub fn score(
        &self,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        configs: &[Config],
    ) -> Result<Vec<Scored>> {
        let spelled = Spelled::new(self.speller.kernel, problem, device);
        self.with().score(&spelled, objective, configs)
    }

    /// Scores what was measured of a problem, cheapest first, and puts the scores beside the costs.
    pub fn score_measured(&self, tried: &Tried, device: &Device, objective: Objective) -> Result<(Vec<Scored>, Known)> {
        let (configs, costs): (Vec<Config>, Vec<f64>) =
            tried.costs(objective).into_iter().map(|(config, cost)| (config.clone(), cost)).unzip();
        let scored = self.score(&tried.problem, device, objective, &configs)?;
        let opinions = scored.iter().map(Scored::opinions).collect();
        Ok((scored, Known { opinions, costs }))
    }

    /// As [`Predictor::score`], by the networks that are trained, in libtorch: what the runtime is tested against. Only for a
    /// model with one member.
    pub fn score_by_libtorch(
        &self,
        model: &Model,
        problem: &Problem,
        device: &Device,
        objective: Objective,
        configs: &[Config],
    ) -> Result<Vec<Scored>> {
        if model.meta.members != 1 {
            return input("libtorch scores models of one member only");
        }
        let speller = &self.speller;
        let spelled = Spelled::new(speller.kernel, problem, device);
        let judged = model.weights.contains_key("0.judge.out.weight");
        let sequence = |config| Sequence::new(speller, &spelled, config, judged);
        let sequences = configs.iter().map(sequence).collect::<Result<Vec<_>>>()?;
        let quantities = speller.quantities(&spelled, objective);
        let rows: Vec<&Sequence> = sequences.iter().collect();
        let batch = Batch::new(speller, &[&quantities], rows.len(), &rows);
        let net = Net::new(&model.meta.hparams, &member(&model.weights, 0))?;
        let (log, judged) = no_grad(|| batch.forward(&net));
        let log = Vec::<f32>::try_from(batch.chosen(&log).sum_dim_intlist(1, false, Kind::Float))?;
        let numbers = |said: Option<Tensor>| match said {
            Some(said) => Ok(Vec::<f32>::try_from(said)?),
            None => Ok::<_, crate::error::Error>(vec![0.0; log.len()]),
        };
        let rank = judged.rank.map(|rank| rank.log_softmax(0, Kind::Float));
        let (time, energy, rank) = (numbers(judged.time)?, numbers(judged.energy)?, numbers(rank)?);
        let trees = self.with().weighed(&spelled, objective, configs);
        let scored = (0..log.len()).map(|i| {
            let [time_us, joules] = speller.read_costs(&spelled, [time[i], energy[i]]);
            let (log_probability, rank, trees) = (log[i] as f64, rank[i] as f64, trees[i]);
            Scored { log_probability, steps: Vec::new(), time_us, joules, rank, trees }
        });
        Ok(scored.collect())
    }

    /// The most probable value at each step, without look-ahead: among those that break no constraint so far (`None` at a dead
    /// end), or among all. What masking is compared with.
    pub fn greedy(&self, problem: &Problem, device: &Device, unbroken: bool) -> Result<Option<Config>> {
        let spelled = Spelled::new(self.speller.kernel, problem, device);
        Ok(self.with().greedy(&spelled, unbroken))
    }

    /// Whether it never saw the device, or the best of `candidates` (all that was asked for, best first) is less probable than what the model
    /// was found reliable at: then the first choice loses more than [`super::calibration::LOSS`] more often than
    /// [`super::calibration::RISK`].
    pub fn is_unsure(&self, device: &Device, candidates: &[Candidate]) -> bool {
        candidates.first().map_or(!self.saw(device), |first| self.doubts(device, first.probability))
    }

    /// Whether an answer of which the first choice is so probable is unsure.
    fn doubts(&self, device: &Device, probability: f64) -> bool {
        let threshold = self.calibration.and_then(|c| c.threshold);
        !self.saw(device) || threshold.is_some_and(|threshold| probability < threshold)
    }

    /// What comes first of configs whose costs are known, and whether the answer would be marked unsure; `None` without calibration.
    pub fn first(&self, device: &Device, known: &Known) -> Option<(First, bool)> {
        let first = known.first(&self.calibration?)?;
        Some((first, self.doubts(device, first.probability)))
    }

    /// What candidates are ranked by, the higher the better: likelihood, judge and trees together.
    pub fn merit(&self, scored: &Scored) -> f64 {
        merit(&self.with().weights(), &scored.opinions())
    }

    /// Whether it was trained on a device of this name.
    pub fn saw(&self, device: &Device) -> bool {
        self.devices.contains(&device.name)
    }

    /// Whether every legal config can be judged: of a model that learned from whole sweeps.
    pub fn judges(&self) -> bool {
        self.ensemble.judges()
    }

    /// Whether it has boosted trees for an objective: of a model that learned from whole sweeps.
    pub fn has_trees(&self, objective: Objective) -> bool {
        self.trees.iter().any(|trees| trees.objective() == objective)
    }

    pub(super) fn parameters(&self) -> usize {
        self.speller.kernel.parameters.len()
    }

    pub(super) fn with(&self) -> With<'_, 'k> {
        With { speller: &self.speller, ensemble: &self.ensemble, trees: &self.trees, calibration: self.calibration }
    }
}
