//! What a model's probabilities are worth, learned from the problems that chose its weights.
//!
//! A temperature for the scores (temperature scaling, Guo et al. 2017), a line through the log-odds of the first choice (Platt 1999), and
//! the threshold below which an answer is marked unsure (conformal risk control, Angelopoulos et al. 2022).

use crate::opinion_pool::{self, RankedProblem};
use seqtune_predict::confidence::{Calibration, LOSS, PlattScaling, PoolWeights, RISK, ScoredProblem, TopPrediction};
use seqtune_predict::numeric::softmax::{distribution, softmax};

/// Probabilities that the temperature is searched between, and steps of the golden section.
const TEMPERATURES: (f64, f64) = (0.02, 50.0);
const STEPS: usize = 60;

/// The likelihood alone: all that a small decoder says.
pub const LIKELIHOOD: PoolWeights = [1.0, 0.0, 0.0, 0.0];

/// Where nothing is held out to learn it of: on small parts of the library's sweeps first choices are faster than with equal weights,
/// because the likelihood is surest of what it knows by heart (docs/log).
const BY_HEART: PoolWeights = [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];

/// Where profiles of learned problems answer: what networks say config by config is not asked.
const PROFILES: PoolWeights = [0.0, 0.0, 0.5, 0.5];

/// Temperature of its scores there, under which first choices of 50 to 350 measurements were about as probable as they turned out right.
const DOUBT: f64 = 1.5;

/// A probability that none reaches.
const NEVER: f64 = 1.01;

/// A problem's configs with what they are ranked by.
struct Ranked<'a> {
    scores: Vec<f64>,
    costs: &'a [f64],
}

impl Ranked<'_> {
    fn top_prediction(&self, calibration: &Calibration) -> Option<TopPrediction> {
        TopPrediction::from_scores(&self.scores, &calibration.probabilities(&self.scores), self.costs)
    }

    fn first_at(&self, temperature: f64) -> Option<TopPrediction> {
        TopPrediction::from_scores(&self.scores, &softmax(&self.scores, temperature), self.costs)
    }
}

/// Learned from problems of known costs: how much each part of the model counts towards the soft target of temperature `tau`, the temperature
/// under which the best configs are most probable, the line under which first choices are as probable as they turn out right, and the
/// lowest threshold above which no more than [`RISK`] of the first choices lose more than [`LOSS`]; above 1, so that every answer is
/// marked, where there is none. `None` without problems of two configs. Without `tau` for problems that the model was trained on and knows by
/// heart: what its parts count is `BY_HEART`, and every answer is marked.
pub fn fit(known: &[ScoredProblem], tau: Option<f64>) -> Option<Calibration> {
    let comparable: Vec<&ScoredProblem> = known.iter().filter(|k| k.costs.len() > 1).collect();
    match tau {
        Some(_) if by_profiles(&comparable) => fit_weighed(known, PROFILES),
        Some(tau) => fit_weighed(known, pool_weights(&comparable, tau)),
        None => by_heart(&comparable),
    }
}

/// Of a model that knows the problems by heart: nothing of them says what it is worth.
fn by_heart(known: &[&ScoredProblem]) -> Option<Calibration> {
    let configs = median_configs(known)?;
    let likelihood_alone = known.iter().flat_map(|k| &k.opinions).all(|opinions| opinions[1..] == [0.0; 3]);
    let weights = match likelihood_alone {
        true => LIKELIHOOD,
        false if by_profiles(known) => PROFILES,
        false => BY_HEART,
    };
    let (slope, offset, threshold) = (PlattScaling::IDENTITY.slope, PlattScaling::IDENTITY.offset, Some(NEVER));
    let (problems, configs) = (known.len(), Some(configs));
    Some(Calibration { weights, temperature: DOUBT, slope, offset, threshold, problems, configs })
}

/// Whether profiles answer: they alone tell risks.
fn by_profiles(known: &[&ScoredProblem]) -> bool {
    let tells = |k: &&ScoredProblem| !k.risks.is_empty() && k.risks.iter().all(Option::is_some);
    !known.is_empty() && known.iter().all(tells)
}

/// Configs of a problem in the median; `None` of no problems.
fn median_configs(known: &[&ScoredProblem]) -> Option<usize> {
    let mut counts: Vec<usize> = known.iter().map(|k| k.costs.len()).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied()
}

/// As [`fit`], of a model whose parts count as they are given.
pub fn fit_weighed(known: &[ScoredProblem], weights: PoolWeights) -> Option<Calibration> {
    let known: Vec<&ScoredProblem> = known.iter().filter(|k| k.costs.len() > 1).collect();
    let configs = Some(median_configs(&known)?);
    let known: Vec<Ranked> =
        known.into_iter().map(|k| Ranked { scores: k.scores(&weights), costs: &k.costs }).collect();
    let temperature = fit_temperature(&known);
    // held to the plain line as strongly as two problems would
    let firsts: Vec<TopPrediction> = known.iter().filter_map(|k| k.first_at(temperature)).collect();
    let PlattScaling { slope, offset } = PlattScaling::fit(&firsts, PlattScaling::IDENTITY, [0.5; 2]);
    let problems = known.len();
    let mut fitted = Calibration { weights, temperature, slope, offset, threshold: None, problems, configs };
    fitted.threshold = Some(fit_threshold(known.iter().filter_map(|k| k.top_prediction(&fitted)).collect()));
    Some(fitted)
}

/// How much each part of the model counts towards the soft targets.
fn pool_weights(known: &[&ScoredProblem], tau: f64) -> PoolWeights {
    let target = |k: &&'_ ScoredProblem| {
        let least = k.costs.iter().copied().fold(f64::INFINITY, f64::min);
        let relative: Vec<f64> = k.costs.iter().map(|cost| cost / least).collect();
        distribution(&relative, Some(tau)).into_iter().map(f64::from).collect::<Vec<f64>>()
    };
    let targets: Vec<Vec<f64>> = known.iter().map(target).collect();
    let problems = known.iter().zip(targets).map(|(k, target)| RankedProblem { opinions: &k.opinions, target });
    opinion_pool::fit(&problems.collect::<Vec<_>>())
}

/// The temperature under which the best configs are most probable: convex in its inverse, so there is one minimum.
fn fit_temperature(known: &[Ranked]) -> f64 {
    let (mut low, mut high) = (TEMPERATURES.0.ln(), TEMPERATURES.1.ln());
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..STEPS {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        match improbability(known, left.exp()) < improbability(known, right.exp()) {
            true => high = right,
            false => low = left,
        }
    }
    (0.5 * (low + high)).exp()
}

/// The lowest probability above which no more than [`RISK`] of the first choices lose more than [`LOSS`].
fn fit_threshold(mut firsts: Vec<TopPrediction>) -> f64 {
    firsts.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let (mut lossy, mut threshold) = (0.0, NEVER);
    for (i, first) in firsts.iter().enumerate() {
        lossy += (first.lost > Some(LOSS)) as u8 as f64;
        // as if the next one lost too: of few problems luck does not pass for skill
        if (lossy + 1.0) / (i + 2) as f64 <= RISK {
            threshold = first.probability;
        }
    }
    threshold
}

/// Mean negative log-probability of the best config.
fn improbability(known: &[Ranked], temperature: f64) -> f64 {
    let of = |k: &Ranked| {
        let best = (0..k.costs.len()).min_by(|a, b| k.costs[*a].total_cmp(&k.costs[*b])).unwrap_or(0);
        -softmax(&k.scores, temperature)[best].max(1e-12).ln()
    };
    known.iter().map(of).sum::<f64>() / known.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use seqtune_eval::measures::reliability::{calibration_error, calibration_error_by_chance};

    /// Problems of five configs, the best drawn with the probabilities of a softmax at `temperature`.
    fn drawn(temperature: f64, count: usize) -> Vec<ScoredProblem> {
        let mut rng = crate::drawn::test_generator(3);
        let problem = |_| {
            let scores: Vec<f64> = (0..5).map(|_| 4.0 * rng.random::<f64>()).collect();
            let mut left: f64 = rng.random();
            let probabilities = softmax(&scores, temperature);
            let best = probabilities.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            let costs = (0..5).map(|i| if Some(i) == best { 1.0 } else { 1.05 + rng.random::<f64>() }).collect();
            // by equal weights, what they were drawn by
            ScoredProblem {
                opinions: scores.into_iter().map(|m| [4.0 * m, 0.0, 0.0, 0.0]).collect(),
                costs,
                risks: vec![None],
            }
        };
        (0..count).map(problem).collect()
    }

    #[test]
    fn a_dozen_problems_that_were_all_right_make_nothing_certain() {
        // the first is the best, and far ahead in the scores
        let problem = |at: usize| ScoredProblem {
            opinions: (0..5).map(|i| [if i == at % 5 { 0.0 } else { -40.0 }, 0.0, 0.0, 0.0]).collect(),
            costs: (0..5).map(|i| if i == at % 5 { 1.0 } else { 2.0 }).collect(),
            risks: vec![None],
        };
        let known: Vec<ScoredProblem> = (0..12).map(problem).collect();
        let fitted = fit(&known, Some(0.05)).unwrap();
        let said = known[0].top_prediction(&fitted).unwrap().probability;
        assert!((0.85..0.96).contains(&said), "{said}");
    }

    #[test]
    fn the_temperature_that_the_best_were_drawn_with_is_found_and_makes_probabilities_true() {
        // where all are nearly as probable, the best tell less of it
        for (temperature, within) in [(0.3, 0.1), (1.0, 0.1), (4.0, 0.3)] {
            let fitted = fit(&drawn(temperature, 4_000), Some(0.01)).unwrap();
            let found = fitted.temperature / (4.0 * fitted.weights[0]);
            assert!((found / temperature).ln().abs() < within, "{temperature}: {fitted:?}");
            let error = |by: &Calibration| {
                let firsts: Vec<TopPrediction> =
                    drawn(temperature, 4_000).iter().filter_map(|k| k.top_prediction(by)).collect();
                calibration_error(&firsts)
            };
            assert!(error(&fitted) < 0.03);
            let firsts = |count: usize| -> Vec<TopPrediction> {
                drawn(temperature, count).iter().filter_map(|k| k.top_prediction(&fitted)).collect()
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
            fit(&known, Some(0.01)).unwrap().threshold.unwrap()
        };
        assert!(harmless(18) > 1.0 && harmless(19) < 1.0);
    }

    #[test]
    fn answers_above_the_threshold_keep_the_stated_risk_and_more_would_not() {
        let known = drawn(0.5, 4_000);
        let fitted = fit(&known, Some(0.01)).unwrap();
        let firsts: Vec<TopPrediction> = known.iter().filter_map(|k| k.top_prediction(&fitted)).collect();
        let threshold = fitted.threshold.unwrap();
        let risk = |above: f64| {
            let sure: Vec<&TopPrediction> = firsts.iter().filter(|f| f.probability >= above).collect();
            (sure.iter().filter(|f| f.lost > Some(LOSS)).count() as f64 / sure.len() as f64, sure.len())
        };
        let (kept, count) = risk(threshold);
        assert!(kept <= RISK && count > 400 && count < 4_000, "{kept} of {count}");
        assert!(risk(0.8 * threshold).0 > RISK);
    }
}
