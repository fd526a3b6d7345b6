//! How errors of predictions go together: configs that are alike are wrong alike, in time and in energy.
//!
//! Of a problem, logarithm of a cost = prediction + coefficients * encoding of the config + rest. The coefficients belong to the problem and are
//! drawn from one normal distribution (a mixed-effects model, Laird & Ware 1982), whose mean and covariance training learns from
//! problems that the weights were not fitted to. Few measured configs of a problem then tell of all others
//! ([`crate::evidence`]).

use crate::error::{Result, input};
use crate::featurizer::{Featurizer, Instance};
use crate::kernel::{Config, Objective};
use crate::profiles::{combination, few_combinations};
use serde::{Deserialize, Serialize};

/// How the errors of one kernel go together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// Kernel that it was learned of.
    pub kernel: String,
    /// What it was learned of: time, or time and energy.
    pub quantities: Vec<Quantity>,
    /// Whether coefficients stand alone, without what the model predicts: in spaces of few combinations, of which each has its own.
    pub alone: bool,
    /// Mean of the coefficients, 0 unless they stand alone: those of the first quantity, then of the next.
    pub mean: Vec<f32>,
    /// Lower triangle, row by row, of a factor of their covariance.
    pub factor: Vec<f32>,
    /// Problems that it was learned from.
    pub problems: usize,
}

/// A quantity that is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// Time or energy.
    pub of: Objective,
    /// What a difference counts in the logarithm of the predicted cost and in the pooled score.
    pub slopes: [f64; 2],
    /// Variance of what the coefficients do not tell.
    pub rest: f64,
}

impl Likeness {
    /// Which of its quantities an objective is made of; `None` where one was not learned.
    pub fn parts(&self, objective: Objective) -> Option<Vec<usize>> {
        let at = |of: Objective| self.quantities.iter().position(|q| q.of == of);
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
        let numbers = self.factor.iter().chain(&self.mean).map(|x| *x as f64);
        let own = self.quantities.iter().flat_map(|q| [q.slopes[0], q.slopes[1], q.rest]);
        let known = self.quantities.iter().all(|q| q.of != Objective::Edp && q.rest > 0.0);
        match (1..=2).contains(&self.quantities.len())
            && width > 0
            && width.is_multiple_of(self.quantities.len())
            && self.factor.len() == width * (width + 1) / 2
            && known
            && numbers.chain(own).all(f64::is_finite)
        {
            true => Ok(()),
            false => input("what it says of errors that go together holds numbers that no training finds"),
        }
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

/// What coefficients multiply. First 1; then, in a space of few combinations, 1 for the config's own; else the place of each value among
/// its parameter's and the square of that, and the kernel's features of the config, in deviations from their mean.
pub fn encoding(featurizer: &Featurizer, instance: &Instance, config: &Config) -> Vec<f64> {
    let mut encoding = vec![1.0];
    let parameters = &featurizer.kernel.parameters;
    if let Some(combinations) = few_combinations(&featurizer.kernel) {
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
