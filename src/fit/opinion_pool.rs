//! How much each part of a model counts in its opinion pool, learned from problems that it did not learn from.

use seqtune_predict::confidence::opinion_pool::pooled_score;
use seqtune_predict::confidence::{EQUAL, LogProbs, MIN_LOG_PROBABILITY, PoolWeights};
use seqtune_predict::numeric::softmax::softmax;

/// How strongly the weights are held to [`EQUAL`]: as squares of the distance, beside the nats of as many problems.
const HELD: f64 = 2.0;
/// Rounds over the weights at most; they end sooner, when none moves by more than [`STILL`].
const ROUNDS: usize = 500;
const STILL: f64 = 1e-5;

/// Log-probabilities of a problem's configs, and their soft target.
pub struct RankedProblem<'a> {
    /// Log-probabilities of its configs by the parts of the model.
    pub opinions: &'a [LogProbs],
    /// Soft target of the same configs.
    pub target: Vec<f64>,
}

impl RankedProblem<'_> {
    /// Cross-entropy of the target, and its first and second derivative by one of the weights.
    fn loss(&self, weights: &PoolWeights, by: usize) -> [f64; 3] {
        let scores: Vec<f64> = self.opinions.iter().map(|o| pooled_score(weights, o)).collect();
        let probabilities = softmax(&scores, 1.0);
        let (mut nats, mut wanted, mut mean, mut square) = (0.0, 0.0, 0.0, 0.0);
        for ((opinions, p), target) in self.opinions.iter().zip(&probabilities).zip(&self.target) {
            let opinion = opinions[by].max(MIN_LOG_PROBABILITY);
            nats -= target * p.max(f64::MIN_POSITIVE).ln();
            wanted += target * opinion;
            mean += p * opinion;
            square += p * opinion * opinion;
        }
        [nats, mean - wanted, square - mean * mean]
    }
}

/// The weights under which the soft targets are most probable, none below 0: Newton's method, a weight at a time. The loss is convex.
pub fn fit(problems: &[RankedProblem]) -> PoolWeights {
    let held = HELD / problems.len().max(1) as f64;
    let loss = |weights: &PoolWeights, by: usize| {
        let mut sum = [0.0; 3];
        for problem in problems {
            sum.iter_mut().zip(problem.loss(weights, by)).for_each(|(sum, one)| *sum += one / problems.len() as f64);
        }
        let far = |at: usize| weights[at] - EQUAL[at];
        sum[0] += held * (0..weights.len()).map(|at| far(at) * far(at)).sum::<f64>();
        [sum[0], sum[1] + 2.0 * held * far(by), sum[2] + 2.0 * held]
    };
    let mut weights = EQUAL;
    for _ in 0..ROUNDS {
        let before = weights;
        for by in 0..weights.len() {
            let [nats, slope, curve] = loss(&weights, by);
            let mut step = slope / curve;
            // a whole step may go too far
            for _ in 0..20 {
                let mut next = weights;
                next[by] = (weights[by] - step).max(0.0);
                if loss(&next, by)[0] <= nats {
                    weights = next;
                    break;
                }
                step *= 0.5;
            }
        }
        if weights.iter().zip(&before).all(|(a, b)| (a - b).abs() < STILL) {
            break;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    /// LogProbs of six configs each at random, of which only the first and the third have a part in the truth.
    fn drawn(count: usize) -> (Vec<Vec<LogProbs>>, PoolWeights) {
        let mut rng = crate::drawn::test_generator(5);
        let mut opinion = || std::array::from_fn(|_| -6.0 * rng.random::<f64>());
        ((0..count).map(|_| (0..6).map(|_| opinion()).collect()).collect(), [0.8, 0.0, 0.3, 0.0])
    }

    fn ranked<'a>(problems: &'a [Vec<LogProbs>], truth: &PoolWeights) -> Vec<RankedProblem<'a>> {
        let of = |opinions: &'a Vec<LogProbs>| {
            let scores: Vec<f64> = opinions.iter().map(|o| pooled_score(truth, o)).collect();
            RankedProblem { opinions, target: softmax(&scores, 1.0) }
        };
        problems.iter().map(of).collect()
    }

    #[test]
    fn opinions_count_as_much_as_they_had_a_part_in_the_truth() {
        let (problems, truth) = drawn(2_000);
        let fitted = fit(&ranked(&problems, &truth));
        for (fitted, truth) in fitted.iter().zip(truth) {
            assert!((fitted - truth).abs() < 0.02, "{fitted:?}");
        }
    }

    #[test]
    fn what_was_rounded_to_impossible_is_weighed_too() {
        let never = f64::NEG_INFINITY;
        let opinions = [[-0.1, -0.1, never, -0.1], [-3.0, never, -0.1, -3.0], [never; 4]];
        assert!(pooled_score(&[0.5, 0.5, 0.0, 0.0], &opinions[0]) > pooled_score(&[0.5, 0.5, 0.0, 0.0], &opinions[1]));
        let fitted = fit(&[RankedProblem { opinions: &opinions, target: vec![0.7, 0.3, 0.0] }]);
        assert!(fitted.iter().all(|weight| weight.is_finite()), "{fitted:?}");
    }

    #[test]
    fn without_problems_or_opinions_all_count_alike_and_few_problems_move_them_little() {
        assert_eq!(fit(&[]), EQUAL);
        let (problems, truth) = drawn(2_000);
        // of one problem some say much: the mean of many fits
        let far = |count: usize| {
            let parts = problems.chunks(count).take(50);
            let distances: Vec<f64> = parts
                .map(|part| fit(&ranked(part, &truth)).iter().zip(EQUAL).map(|(a, b)| (a - b).powi(2)).sum())
                .collect();
            distances.iter().sum::<f64>() / distances.len() as f64
        };
        assert!(far(1) < 0.5 * far(20) && far(20) < far(2_000), "{} {} {}", far(1), far(20), far(2_000));
        // a part that a model has not says nothing of any config
        let silent: Vec<Vec<LogProbs>> =
            problems.iter().map(|p| p.iter().map(|o| [o[0], o[1], 0.0, 0.0]).collect()).collect();
        let fitted = fit(&ranked(&silent, &truth));
        assert_eq!(fitted[2..], EQUAL[2..]);
        assert!((fitted[0] - 0.8).abs() < 0.02 && fitted[1] < 0.02, "{fitted:?}");
    }
}
