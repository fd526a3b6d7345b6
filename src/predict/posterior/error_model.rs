//! How errors of predictions go together: configs that are alike are wrong alike, in time and in energy.
//!
//! Of a problem, logarithm of a cost = prediction + coefficients * encoding of the config + rest. The coefficients belong to the problem and are
//! drawn from one normal distribution (a mixed-effects model, Laird & Ware 1982), whose mean and covariance training learns from
//! problems that the weights were not fitted to. Few measured configs of a problem then tell of all others
//! (`crate::posterior::conditioning`). Where coefficients stand alone, problems that are like the measured ones count most ([`ErrorModel::near`]).

use crate::features::featurizer::{Featurizer, Instance};
use crate::numeric::linear::cholesky;
use crate::posterior::cost_neighbours::{combination, small_space_size};
use seqtune_kernel::elementary::exp;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Objective};
use serde::{Deserialize, Serialize};

/// How the errors of one kernel go together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorModel {
    /// Kernel that it was learned of.
    pub kernel: String,
    /// What it was learned of: time, or time and energy.
    pub quantities: Vec<ErrorQuantity>,
    /// Whether coefficients stand alone, without what the model predicts: in spaces of few combinations, of which each has its own.
    #[serde(rename = "alone")]
    pub independent: bool,
    /// Mean of the coefficients, 0 unless they stand alone: those of the first quantity, then of the next.
    pub mean: Vec<f32>,
    /// Lower triangle, row by row, of a factor of their covariance.
    pub factor: Vec<f32>,
    /// Problems that it was learned from.
    pub problems: usize,
    /// Coefficients of each of them, where they stand alone.
    #[serde(rename = "drawn", default, skip_serializing_if = "Vec::is_empty")]
    pub coefficients: Vec<Vec<f32>>,
}

/// A measured quantity of a config of the asked problem.
pub struct Observation<'a> {
    /// Which quantity.
    pub quantity: usize,
    /// Encoding of the config.
    pub encoding: &'a [f64],
    /// Logarithm of the cost.
    pub log: f64,
}

/// Share of the learned problems within two standard deviations of the Gaussian weight (locally weighted regression, Cleveland 1979), and
/// what every problem weighs besides.
const NEIGHBOUR_SHARE: f64 = 0.2;
const MIN_WEIGHT: f64 = 0.01;
/// What the covariance of few problems lacks of a full one.
const RIDGE: f64 = 1e-6;

/// A quantity that is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorQuantity {
    /// Time or energy.
    #[serde(rename = "of")]
    pub objective: Objective,
    /// What a difference counts in the logarithm of the predicted cost and in the pooled score.
    pub slopes: [f64; 2],
    /// Variance of what the coefficients do not tell.
    pub rest: f64,
}

impl ErrorModel {
    /// Which of its quantities an objective is made of; `None` where one was not learned.
    pub fn parts(&self, objective: Objective) -> Option<Vec<usize>> {
        let at = |of: Objective| self.quantities.iter().position(|q| q.objective == of);
        match objective {
            Objective::Edp => Some(vec![at(Objective::Time)?, at(Objective::Energy)?]),
            one => Some(vec![at(one)?]),
        }
    }

    /// Refuses numbers that no training finds.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) for these.
    pub fn check(&self) -> Result<()> {
        let width = self.mean.len();
        let drawn = self.coefficients.iter().flatten();
        let numbers = self.factor.iter().chain(&self.mean).chain(drawn).map(|x| *x as f64);
        let own = self.quantities.iter().flat_map(|q| [q.slopes[0], q.slopes[1], q.rest]);
        let known = self.quantities.iter().all(|q| q.objective != Objective::Edp && q.rest > 0.0);
        match (1..=2).contains(&self.quantities.len())
            && width > 0
            && width.is_multiple_of(self.quantities.len())
            && self.factor.len() == width * (width + 1) / 2
            && self.coefficients.iter().all(|own| own.len() == width)
            && known
            && numbers.chain(own).all(f64::is_finite)
        {
            true => Ok(()),
            false => input("what it says of errors that go together holds numbers that no training finds"),
        }
    }

    /// Mean and covariance by those learned problems whose costs of the measured configs relate to each other as the asked problem's do; its level,
    /// the mean logarithm of its times, does not count. `None` where coefficients do not stand alone, and of fewer than two measured times: one
    /// tells the level alone.
    pub fn near(&self, seen: &[Observation]) -> Option<ErrorModel> {
        let times = seen.iter().filter(|s| s.quantity == 0).count();
        if self.coefficients.len() < 2 || times < 2 {
            return None;
        }
        let centred = |logs: Vec<f64>| {
            let level = logs.iter().zip(seen).filter(|(_, s)| s.quantity == 0).map(|(log, _)| log).sum::<f64>();
            logs.into_iter().map(|log| log - level / times as f64).collect::<Vec<f64>>()
        };
        let asked = centred(seen.iter().map(|s| s.log).collect());
        let distance = |own: &Vec<f32>| {
            let logs = seen.iter().map(|s| {
                let own = &own[s.quantity * s.encoding.len()..];
                s.encoding.iter().zip(own).map(|(value, own)| value * f64::from(*own)).sum()
            });
            centred(logs.collect()).iter().zip(&asked).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        Some(self.with_weights(&weights(&self.coefficients.iter().map(distance).collect::<Vec<f64>>())))
    }

    /// Mean and covariance of the coefficients of learned problems by weights that sum to 1.
    fn with_weights(&self, weights: &[f64]) -> ErrorModel {
        let width = self.mean.len();
        let mut mean = vec![0.0; width];
        for (weight, own) in weights.iter().zip(&self.coefficients) {
            mean.iter_mut().zip(own).for_each(|(sum, x)| *sum += weight * f64::from(*x));
        }
        // what makes the covariance unbiased: n - 1 of n where all weigh alike
        let left = 1.0 - weights.iter().map(|w| w * w).sum::<f64>();
        let mut covariance = vec![vec![0.0; width]; width];
        for (weight, own) in weights.iter().zip(&self.coefficients) {
            let off: Vec<f64> = own.iter().zip(&mean).map(|(x, mean)| f64::from(*x) - mean).collect();
            for (row, a) in covariance.iter_mut().zip(&off) {
                row.iter_mut().zip(&off).for_each(|(sum, b)| *sum += weight / left * a * b);
            }
        }
        let factor = cholesky(width, &|i, j| covariance[i][j] + if i == j { RIDGE } else { 0.0 });
        let single = |numbers: Vec<f64>| numbers.into_iter().map(|x| x as f32).collect();
        ErrorModel { mean: single(mean), factor: single(factor.concat()), ..self.clone() }
    }

    /// What the coefficients add to the logarithm of a quantity on average.
    pub fn offset(&self, quantity: usize, encoding: &[f64]) -> f64 {
        let own = &self.mean[quantity * encoding.len()..];
        encoding.iter().zip(own).map(|(value, mean)| value * *mean as f64).sum()
    }

    /// Encoding times the factor: numbers of a quantity of a config whose products with those of another are their covariance.
    pub fn spread(&self, quantity: usize, encoding: &[f64]) -> Vec<f64> {
        let mut spread = vec![0.0; self.mean.len()];
        for (i, value) in encoding.iter().enumerate() {
            let row = quantity * encoding.len() + i;
            let at = row * (row + 1) / 2;
            for (sum, factor) in spread.iter_mut().zip(&self.factor[at..=at + row]) {
                *sum += value * *factor as f64;
            }
        }
        spread
    }
}

/// What problems count by their squared distances, in all 1.
fn weights(distances: &[f64]) -> Vec<f64> {
    let mut sorted = distances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let reach = sorted[((NEIGHBOUR_SHARE * sorted.len() as f64) as usize).max(3).min(sorted.len()) - 1].max(1e-12);
    let weights: Vec<f64> = distances.iter().map(|d| exp(-2.0 * d / reach) + MIN_WEIGHT).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// What coefficients multiply. First 1; then, in a space of few combinations, 1 for the config's own; else the place of each value among
/// its parameter's and the square of that, and the kernel's features of the config, in deviations from their mean.
pub fn encoding(featurizer: &Featurizer, instance: &Instance, config: &Config) -> Vec<f64> {
    let mut encoding = vec![1.0];
    let parameters = &featurizer.kernel.parameters;
    if let Some(combinations) = small_space_size(&featurizer.kernel) {
        let own = combination(&featurizer.kernel, config);
        encoding.extend((0..combinations).map(|at| (at == own) as u8 as f64));
        return encoding;
    }
    for (parameter, choice) in parameters.iter().zip(&config.0) {
        let most = (parameter.values.len() - 1).max(1) as f64;
        let place = 2.0 * *choice as f64 / most - 1.0;
        encoding.push(place);
        if parameter.values.len() > 2 {
            encoding.push(place * place);
        }
    }
    let mut features = Vec::new();
    featurizer.step(instance, &config.0, &mut features);
    encoding.extend(features.into_iter().take(featurizer.late_count()).map(f64::from));
    encoding
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty problems of three configs, each with a level of its own: the second config costs more by a share, and the third by twice that share
    /// where it is small, by nothing where it is large.
    fn learned() -> ErrorModel {
        let drawn = (0..20).map(|i| {
            let (level, share) = (i as f32 % 7.0, if i < 10 { 0.01 } else { 0.8 } * (1.0 + 0.02 * i as f32));
            vec![0.0, level, level + share, level + if i < 10 { 2.0 * share } else { 0.0 }]
        });
        let quantities = vec![ErrorQuantity { objective: Objective::Time, slopes: [0.0; 2], rest: 1e-6 }];
        let (mean, factor) = (vec![0.0; 4], vec![0.1; 10]);
        ErrorModel {
            kernel: "k".into(),
            quantities,
            independent: true,
            mean,
            factor,
            problems: 20,
            coefficients: drawn.collect(),
        }
    }

    fn encoding_of(at: usize) -> Vec<f64> {
        (0..4).map(|i| (i == 0 || i == at + 1) as u8 as f64).collect()
    }

    #[test]
    fn problems_that_are_like_what_was_measured_count_most_whatever_their_level() {
        let learned = learned();
        learned.check().unwrap();
        let encodings = [encoding_of(0), encoding_of(1)];
        let third = |share: f64| {
            let logs = [40.0, 40.0 + share];
            let seen = logs.iter().zip(&encodings).map(|(log, e)| Observation { quantity: 0, encoding: e, log: *log });
            let near = learned.near(&seen.collect::<Vec<Observation>>()).unwrap();
            near.check().unwrap();
            near.offset(0, &encoding_of(2)) - near.offset(0, &encoding_of(0))
        };
        assert!((third(0.012) - 0.024).abs() < 0.03 && third(0.96).abs() < 0.03, "{} {}", third(0.012), third(0.96));
    }

    #[test]
    fn one_measured_config_or_damaged_problems_make_none_more_alike() {
        let mut learned = learned();
        let encoding = encoding_of(0);
        assert!(learned.near(&[Observation { quantity: 0, encoding: &encoding, log: 1.0 }]).is_none());
        learned.coefficients[3].truncate(2);
        assert!(learned.check().is_err());
    }
}
