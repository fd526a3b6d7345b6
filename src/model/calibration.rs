//! How sure a model may be: what its probabilities are worth, learned from the problems that chose its weights.
//!
//! How much each part of the model counts ([`super::pool`]), a temperature for the merits that candidates are ranked by (temperature
//! scaling, Guo et al. 2017), and then a line through the log-odds of the first choice (Platt 1999), make the probability of the first choice
//! how often it is the best. A temperature alone leaves A100 mm too sure where it is sure and too unsure where it is not (LOG.md), because
//! near ties are decided by noise. Below a threshold of that probability an answer is marked unsure.

use super::examples::distribution;
use super::pool::{self, EQUAL, Judged, Opinions, Weights, merit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Part of the best speed (or energy, or their product) that an answer which is not marked may lose in a share [`RISK`] of the problems.
pub const LOSS: f64 = 0.1;
/// Share of the unmarked answers that may lose more than [`LOSS`].
pub const RISK: f64 = 0.05;
/// Intervals of probability that the calibration error is counted in.
const BINS: usize = 15;

/// How sure a model may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How much each part of the model counts.
    pub weights: Weights,
    /// Merits are divided by it before the softmax.
    pub temperature: f64,
    /// Of the line through the log-odds of the first choice.
    pub slope: f64,
    pub offset: f64,
    /// Probability of the first choice below which an answer is unsure; `None` where nothing is known of other choices' costs.
    pub threshold: Option<f64>,
    /// Validation problems it was learned from.
    pub problems: usize,
}

/// A judged problem: what is said of each config whose cost is known, and that cost.
pub struct Known {
    pub opinions: Vec<Opinions>,
    pub costs: Vec<f64>,
}

/// As [`Known`], with what the configs are ranked by.
struct Ranked<'a> {
    merits: Vec<f64>,
    costs: &'a [f64],
}

/// What a first choice was worth: how probable it was said to be, whether it was the best, and what part of the best it lost.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub probability: f64,
    pub best: bool,
    pub lost: f64,
}

/// Softmax of merits at a temperature.
pub fn softmax(merits: &[f64], temperature: f64) -> Vec<f64> {
    let highest = merits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = merits.iter().map(|m| ((m - highest) / temperature).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

/// The natural logarithm of the odds, kept finite.
fn log_odds(probability: f64) -> f64 {
    let p = probability.clamp(1e-9, 1.0 - 1e-9);
    (p / (1.0 - p)).ln()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Known {
    fn judged(&self, tau: f64) -> Judged<'_> {
        let least = self.costs.iter().copied().fold(f64::INFINITY, f64::min);
        let relative: Vec<f64> = self.costs.iter().map(|cost| cost / least).collect();
        let target = distribution(&relative, Some(tau)).into_iter().map(f64::from).collect();
        Judged { opinions: &self.opinions, target }
    }

    fn ranked(&self, weights: &Weights) -> Ranked<'_> {
        Ranked { merits: self.opinions.iter().map(|o| merit(weights, o)).collect(), costs: &self.costs }
    }

    /// What comes first, as a calibration says.
    pub fn first(&self, calibration: &Calibration) -> Option<First> {
        self.ranked(&calibration.weights).first(calibration)
    }
}

impl Ranked<'_> {
    /// What comes first, with these probabilities of the configs.
    fn first_by(&self, probabilities: &[f64]) -> Option<First> {
        let first = (0..self.merits.len()).max_by(|a, b| self.merits[*a].total_cmp(&self.merits[*b]))?;
        let least = self.costs.iter().copied().fold(f64::INFINITY, f64::min);
        Some(First {
            probability: probabilities[first],
            best: self.costs[first] == least,
            lost: 1.0 - least / self.costs[first],
        })
    }

    fn first(&self, calibration: &Calibration) -> Option<First> {
        self.first_by(&calibration.probabilities(&self.merits))
    }
}

impl Calibration {
    /// How probably each of these configs is the best of them.
    pub fn probabilities(&self, merits: &[f64]) -> Vec<f64> {
        let mut shares = softmax(merits, self.temperature);
        let first = (0..merits.len()).max_by(|a, b| merits[*a].total_cmp(&merits[*b]));
        if let Some(first) = first.filter(|_| merits.len() > 1) {
            let said = logistic(self.slope * log_odds(shares[first]) + self.offset);
            let rest = (1.0 - said) / (1.0 - shares[first]).max(1e-12);
            shares.iter_mut().for_each(|share| *share *= rest);
            shares[first] = said;
        }
        shares
    }

    /// Learned from judged problems: how much each part of the model counts towards the soft target of temperature `tau`, the temperature
    /// under which the best configs are most probable, the line under which first choices are as probable as they turn out right, and the
    /// lowest threshold above which no more than [`RISK`] of the first choices lose more than [`LOSS`]; above 1, so that every answer is
    /// marked, where there is none. `None` without problems of two configs. Without `tau` all parts count alike: for problems that the model
    /// was trained on, which its trees know by heart.
    pub fn fit(known: &[Known], tau: Option<f64>) -> Option<Calibration> {
        let known: Vec<&Known> = known.iter().filter(|k| k.costs.len() > 1).collect();
        if known.is_empty() {
            return None;
        }
        let learned = |tau| pool::fit(&known.iter().map(|k| k.judged(tau)).collect::<Vec<_>>());
        let weights = tau.map_or(EQUAL, learned);
        let known: Vec<Ranked> = known.into_iter().map(|k| k.ranked(&weights)).collect();
        // convex in 1 / temperature, so there is one minimum
        let (mut low, mut high) = (0.02f64.ln(), 50f64.ln());
        let golden = (5f64.sqrt() - 1.0) / 2.0;
        for _ in 0..60 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            match improbability(&known, left.exp()) < improbability(&known, right.exp()) {
                true => high = right,
                false => low = left,
            }
        }
        let temperature = (0.5 * (low + high)).exp();
        let plain: Vec<First> = known.iter().filter_map(|k| k.first_by(&softmax(&k.merits, temperature))).collect();
        let (slope, offset) = line(&plain);
        let mut fitted = Calibration { weights, temperature, slope, offset, threshold: None, problems: known.len() };
        let mut firsts: Vec<First> = known.iter().filter_map(|k| k.first(&fitted)).collect();
        firsts.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        let (mut lossy, mut threshold) = (0.0, 1.01);
        for (i, first) in firsts.iter().enumerate() {
            lossy += (first.lost > LOSS) as u8 as f64;
            // as if the next one lost too (conformal risk control, Angelopoulos et al. 2022): of few problems luck does not pass for skill
            if (lossy + 1.0) / (i + 2) as f64 <= RISK {
                threshold = first.probability;
            }
        }
        fitted.threshold = Some(threshold);
        Some(fitted)
    }
}

/// Mean negative log-probability of the best config.
fn improbability(known: &[Ranked], temperature: f64) -> f64 {
    let of = |k: &Ranked| {
        let best = (0..k.costs.len()).min_by(|a, b| k.costs[*a].total_cmp(&k.costs[*b])).unwrap_or(0);
        -softmax(&k.merits, temperature)[best].max(1e-12).ln()
    };
    known.iter().map(of).sum::<f64>() / known.len() as f64
}

/// Slope and offset of the log-odds under which first choices are as probable as they turn out right: logistic regression by Newton's
/// method, held to the plain line (1, 0) as strongly as two problems would.
fn line(firsts: &[First]) -> (f64, f64) {
    let (mut slope, mut offset) = (1.0, 0.0);
    for _ in 0..30 {
        let held = 0.5;
        let (mut g, mut h) = ([held * (slope - 1.0), held * offset], [held, 0.0, held]);
        for first in firsts {
            let x = log_odds(first.probability);
            let p = logistic(slope * x + offset);
            let (error, weight) = (p - first.best as u8 as f64, p * (1.0 - p));
            g = [g[0] + error * x, g[1] + error];
            h = [h[0] + weight * x * x, h[1] + weight * x, h[2] + weight];
        }
        let determinant = h[0] * h[2] - h[1] * h[1];
        slope -= (h[2] * g[0] - h[1] * g[1]) / determinant;
        offset -= (h[0] * g[1] - h[1] * g[0]) / determinant;
    }
    match slope.is_finite() && offset.is_finite() && slope > 0.0 {
        true => (slope, offset),
        false => (1.0, 0.0),
    }
}

/// Expected calibration error (Naeini et al. 2015): by how much the mean probability of the first choices differs from the share of
/// them that were the best, in [`BINS`] intervals of equal width, weighted by how many fall into each.
pub fn calibration_error(firsts: &[First]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for first in firsts {
        let bin = &mut bins[((first.probability * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += first.probability;
        bin.1 += first.best as u8 as f64;
    }
    bins.iter().map(|(said, were)| f64::abs(said - were)).sum::<f64>() / firsts.len().max(1) as f64
}

/// The mean of [`calibration_error`] where each first choice is the best as probably as was said: what is left of it, on so few problems, by
/// chance. By a thousand seeded draws.
pub fn calibration_error_by_chance(firsts: &[First]) -> f64 {
    const DRAWS: usize = 1_000;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut draw = || {
        let drawn = |f: &First| First { best: rng.random::<f64>() < f.probability, ..*f };
        calibration_error(&firsts.iter().map(drawn).collect::<Vec<_>>())
    };
    (0..DRAWS).map(|_| draw()).sum::<f64>() / DRAWS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Problems of five configs, the best drawn with the probabilities of a softmax at `temperature`.
    fn drawn(temperature: f64, count: usize) -> Vec<Known> {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let problem = |_| {
            let merits: Vec<f64> = (0..5).map(|_| 4.0 * rng.random::<f64>()).collect();
            let mut left: f64 = rng.random();
            let probabilities = softmax(&merits, temperature);
            let best = probabilities.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            let costs = (0..5).map(|i| if Some(i) == best { 1.0 } else { 1.05 + rng.random::<f64>() }).collect();
            // by equal weights, what they were drawn by
            Known { opinions: merits.into_iter().map(|m| [4.0 * m, 0.0, 0.0, 0.0]).collect(), costs }
        };
        (0..count).map(problem).collect()
    }

    #[test]
    fn the_temperature_that_the_best_were_drawn_with_is_found_and_makes_probabilities_true() {
        for temperature in [0.3, 1.0, 4.0] {
            let fitted = Calibration::fit(&drawn(temperature, 4_000), Some(0.01)).unwrap();
            let found = fitted.temperature / (4.0 * fitted.weights[0]);
            assert!((found / temperature).ln().abs() < 0.1, "{temperature}: {fitted:?}");
            let error = |by: &Calibration| {
                let firsts: Vec<First> = drawn(temperature, 4_000).iter().filter_map(|k| k.first(by)).collect();
                calibration_error(&firsts)
            };
            assert!(error(&fitted) < 0.03);
            let firsts = |count: usize| -> Vec<First> {
                drawn(temperature, count).iter().filter_map(|k| k.first(&fitted)).collect()
            };
            let by_chance = [4_000, 400, 40].map(|count| calibration_error_by_chance(&firsts(count)));
            assert!(by_chance[0] < 0.025 && by_chance[2] > 0.05 && by_chance.is_sorted(), "{by_chance:?}");
            assert!(error(&Calibration { offset: fitted.offset + 1.0, ..fitted }) > 0.1, "what is wrong is found");
        }
    }

    #[test]
    fn too_few_problems_leave_everything_unsure_even_where_none_lost() {
        let harmless = |count: usize| {
            let mut known = drawn(1.0, count);
            known.iter_mut().for_each(|k| k.costs.iter_mut().for_each(|cost| *cost = cost.min(1.06)));
            Calibration::fit(&known, Some(0.01)).unwrap().threshold.unwrap()
        };
        assert!(harmless(18) > 1.0 && harmless(19) < 1.0);
    }

    #[test]
    fn answers_above_the_threshold_keep_the_stated_risk_and_more_would_not() {
        let known = drawn(0.5, 4_000);
        let fitted = Calibration::fit(&known, Some(0.01)).unwrap();
        let firsts: Vec<First> = known.iter().filter_map(|k| k.first(&fitted)).collect();
        let threshold = fitted.threshold.unwrap();
        let risk = |above: f64| {
            let sure: Vec<&First> = firsts.iter().filter(|f| f.probability >= above).collect();
            (sure.iter().filter(|f| f.lost > LOSS).count() as f64 / sure.len() as f64, sure.len())
        };
        let (kept, count) = risk(threshold);
        assert!(kept <= RISK && count > 400 && count < 4_000, "{kept} of {count}");
        assert!(risk(0.8 * threshold).0 > RISK);
    }
}
