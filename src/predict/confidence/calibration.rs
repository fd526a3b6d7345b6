//! How sure a model may be: what its probabilities are worth, learned from the problems that chose its weights.
//!
//! How much each part of the model counts ([`crate::confidence::opinion_pool`]), a temperature for the scores that candidates are ranked by (temperature
//! scaling, Guo et al. 2017), and then a line through the log-odds of the first choice (Platt 1999), make the probability of the first choice
//! how often it is the best. A temperature alone leaves A100 mm too sure where it is sure and too unsure where it is not (docs/log), because
//! near ties are decided by noise. Below a threshold of that probability an answer is marked unsure, where nothing was shown of the model
//! ([`crate::confidence::held_out`]).

use crate::confidence::opinion_pool::{LogProbs, PoolWeights, pooled_score};
use crate::numeric::softmax::softmax;
use crate::search::candidate::Scored;
use seqtune_kernel::elementary::{exp, ln};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Count};
use serde::{Deserialize, Serialize};

/// Part of the best speed (or energy, or their product) that an answer which is not marked may lose in a share [`RISK`] of the problems.
pub const LOSS: f64 = 0.1;
/// Share of the unmarked answers that may lose more than [`LOSS`].
pub const RISK: f64 = 0.05;
/// More than so many times as many configs are legal as were measured, where these are a sample of the space: some of a whole sweep fail, and some
/// problems allow more.
const SAMPLE_FACTOR: u64 = 2;

/// How sure a model may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How much each part of the model counts.
    pub weights: PoolWeights,
    /// Scores are divided by it before the softmax.
    pub temperature: f64,
    /// Slope of the line through the log-odds of the first choice.
    pub slope: f64,
    /// Intercept of that line, in log-odds.
    pub offset: f64,
    /// Probability of the first choice below which an answer is unsure; `None` where nothing is known of other choices' costs.
    pub threshold: Option<f64>,
    /// Validation problems it was learned from.
    pub problems: usize,
    /// Measured configs of one of these, in the median; `None` of a model that was made before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configs: Option<usize>,
}

/// A config whose cost is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownCost<'c> {
    /// The config.
    pub config: &'c Config,
    /// Its cost, in the unit of the objective.
    pub cost: f64,
}

/// A problem whose costs are known: log-probabilities of its configs beside their measured costs.
pub struct ScoredProblem {
    /// Log-probabilities of each config by the parts of the model.
    pub opinions: Vec<LogProbs>,
    /// Measured cost of each config, in the unit of the objective.
    pub costs: Vec<f64>,
    /// [`Scored::risk`](crate::search::candidate::Scored::risk) of each config; may be empty.
    pub risks: Vec<Option<f64>>,
}

/// Scored configs of a problem whose costs are known.
pub struct ScoredConfigs {
    /// Scores of each config.
    pub scored: Vec<Scored>,
    /// The scores beside the costs.
    pub problem: ScoredProblem,
}

/// A first choice: its predicted probability, whether it was the best, and the part of the best that it lost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TopPrediction {
    /// Calibrated probability of the first choice.
    pub probability: f64,
    /// Whether its cost is the lowest of all.
    pub best: bool,
    /// Share of the best speed (or energy, or product) that it loses, from 0 to 1; `None` where its cost is unknown.
    pub lost: Option<f64>,
}

/// A config of a problem in a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedConfig {
    /// Its position among the configs of the problem.
    pub position: usize,
    /// Probability that it is the best of them.
    pub probability: f64,
}

/// A first choice with its mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkedPrediction {
    /// The first choice.
    pub first: TopPrediction,
    /// Whether the answer is marked unsure.
    pub unsure: bool,
}

/// Where the best config of a problem stands in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestRank {
    /// Probability that the ranking gives those ahead of it together.
    pub ahead: f64,
    /// Probability that it gives the config itself; all that is left, where the config was not found.
    pub own: f64,
}

/// The natural logarithm of the odds, kept finite.
pub fn log_odds(probability: f64) -> f64 {
    let p = probability.clamp(1e-9, 1.0 - 1e-9);
    ln(p / (1.0 - p))
}

/// 1 / (1 + exp(-x)), the inverse of [`log_odds`].
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

impl ScoredProblem {
    /// What the configs are ranked by, the higher the better.
    pub fn scores(&self, weights: &PoolWeights) -> Vec<f64> {
        self.opinions.iter().map(|o| pooled_score(weights, o)).collect()
    }

    /// What comes first, as a calibration says; `None` of no configs.
    pub fn top_prediction(&self, calibration: &Calibration) -> Option<TopPrediction> {
        let scores = self.scores(&calibration.weights);
        TopPrediction::from_scores(&scores, &calibration.probabilities(&scores), &self.costs)
    }

    /// The configs by their positions, best first, with the probabilities that a calibration gives them.
    pub fn rank(&self, calibration: &Calibration) -> Vec<RankedConfig> {
        let scores = self.scores(&calibration.weights);
        let probabilities = calibration.probabilities(&scores).into_iter().enumerate();
        let mut ranked: Vec<RankedConfig> =
            probabilities.map(|(position, probability)| RankedConfig { position, probability }).collect();
        ranked.sort_by(|a, b| scores[b.position].total_cmp(&scores[a.position]));
        ranked
    }

    /// The position of the config with the lowest cost; `None` of no configs.
    pub fn best(&self) -> Option<usize> {
        (0..self.costs.len()).min_by(|a, b| self.costs[*a].total_cmp(&self.costs[*b]))
    }

    /// Where the config with the lowest cost stands, as a calibration says; `None` of no configs.
    pub fn best_rank(&self, calibration: &Calibration) -> Option<BestRank> {
        let (best, mut ahead) = (self.best()?, 0.0);
        for RankedConfig { position, probability: own } in self.rank(calibration) {
            if position == best {
                return Some(BestRank { ahead, own });
            }
            ahead += own;
        }
        None
    }
}

impl TopPrediction {
    /// The config with the highest of `scores`, with its probability and what it lost of its cost; `None` of no configs.
    pub fn from_scores(scores: &[f64], probabilities: &[f64], costs: &[f64]) -> Option<TopPrediction> {
        let first = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]))?;
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        Some(TopPrediction {
            probability: probabilities[first],
            best: costs[first] == least,
            lost: Some(1.0 - least / costs[first]),
        })
    }
}

impl Calibration {
    /// Refuses numbers that no training finds.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input), always the same sentence.
    pub fn check(&self) -> Result<()> {
        let finite = self.weights.iter().chain([&self.temperature, &self.slope, &self.offset]).all(|x| x.is_finite());
        // above 1 where no answer is sure
        let threshold = self.threshold.is_none_or(|p| p.is_finite() && p >= 0.0);
        match finite && threshold && self.temperature > 0.0 {
            true => Ok(()),
            false => input("its calibration holds numbers that no training finds"),
        }
    }

    /// Whether what was measured is only a sample where so many configs are legal: then the best of all is unknown.
    pub fn is_of_sample(&self, legal: Count) -> bool {
        match (self.configs, legal) {
            (Some(configs), Count::Exactly(legal)) => legal > SAMPLE_FACTOR * configs as u64,
            _ => true,
        }
    }

    /// How probably each of these configs is the best of them.
    pub fn probabilities(&self, scores: &[f64]) -> Vec<f64> {
        let mut shares = softmax(scores, self.temperature);
        let first = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        if let Some(first) = first.filter(|_| scores.len() > 1) {
            let first_share = logistic(self.slope * log_odds(shares[first]) + self.offset);
            let rest = (1.0 - first_share) / (1.0 - shares[first]).max(1e-12);
            shares.iter_mut().for_each(|share| *share *= rest);
            shares[first] = first_share;
        }
        shares
    }
}
