//! What a user could do without a model: the best config on average, the nearest measured problem, chance.

pub mod light_gbm_rankers;
pub mod lightgbm;
pub mod method;

use seqtune_data::MeasuredProblem;
use seqtune_kernel::Objective;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::{Config, Kernel, Problem};
use std::collections::HashMap;

/// Configs by their mean share of the best speed over the training problems.
pub struct Average(Vec<Config>);

impl Average {
    /// Configs measured for fewer than a quarter as many problems as the most measured one are left out.
    pub fn new(learned: &[&MeasuredProblem], objective: Objective) -> Average {
        let mut sums: HashMap<&Config, (f64, usize)> = HashMap::new();
        for tried in learned {
            let costs = tried.costs(objective);
            for known in &costs {
                let (sum, n) = sums.entry(known.config).or_default();
                *sum += costs[0].cost / known.cost;
                *n += 1;
            }
        }
        let most = sums.values().map(|(_, n)| *n).max().unwrap_or(0);
        let mut means: Vec<(&Config, f64)> =
            sums.into_iter().filter(|(_, (_, n))| n * 4 >= most).map(|(c, (sum, n))| (c, sum / n as f64)).collect();
        means.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        Average(means.into_iter().map(|(c, _)| c.clone()).collect())
    }

    /// Best first.
    pub fn ranking(&self) -> Vec<Config> {
        self.0.clone()
    }
}

/// The configs of the nearest training problems, by [`distance`].
pub struct Neighbours<'a> {
    kernel: &'a Kernel,
    learned: &'a [&'a MeasuredProblem],
    objective: Objective,
}

impl<'a> Neighbours<'a> {
    /// Neighbours among the problems that were learned from.
    pub fn new(kernel: &'a Kernel, learned: &'a [&'a MeasuredProblem], objective: Objective) -> Self {
        Neighbours { kernel, learned, objective }
    }

    /// The nearest problem's configs, best first, then the next one's, as far as needed.
    pub fn ranking(&self, problem: &Problem) -> Vec<Config> {
        let mut near: Vec<(&&MeasuredProblem, f64)> =
            self.learned.iter().map(|t| (t, distance(self.kernel, &t.problem, problem))).collect();
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut ranking: Vec<Config> = Vec::new();
        for (neighbour, _) in near.into_iter().take(5) {
            for config in neighbour.configs(self.objective) {
                if !ranking.contains(&config) {
                    ranking.push(config);
                }
            }
        }
        ranking
    }
}

/// Euclidean distance in log sizes; another choice counts as four octaves.
pub fn distance(kernel: &Kernel, a: &Problem, b: &Problem) -> f64 {
    let fields = kernel.fields.iter().zip(std::iter::zip(&a.values, &b.values));
    let square = fields.map(|(field, (a, b))| match field.kind {
        FieldKind::Choice => ((a != b) as u8 as f64 * 4.0).powi(2),
        _ => ((a.abs() + 1e-3).log2() - (b.abs() + 1e-3).log2()).powi(2),
    });
    square.sum::<f64>().sqrt()
}

/// Expected best of `draws` different values drawn from `sorted` (best first).
pub fn expected_of_random(sorted: &[f64], draws: usize) -> f64 {
    let n = sorted.len();
    if draws >= n {
        return sorted[0];
    }
    // P(the best of the draws is item i) = C(n - 1 - i, draws - 1) / C(n, draws), by its ratio from item to item
    let mut probability = draws as f64 / n as f64;
    let mut expected = 0.0;
    for (i, value) in sorted.iter().enumerate().take(n - draws + 1) {
        expected += probability * value;
        probability *= (n - draws - i) as f64 / (n - 1 - i).max(1) as f64;
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_best_of_random_draws_agrees_with_counting_all_draws() {
        let values = [1.0, 0.7, 0.4, 0.1];
        assert!((expected_of_random(&values, 1) - 0.55).abs() < 1e-12);
        // pairs: 1 three times, 0.7 twice, 0.4 once
        assert!((expected_of_random(&values, 2) - (3.0 + 1.4 + 0.4) / 6.0).abs() < 1e-12);
        assert_eq!(expected_of_random(&values, 4), 1.0);
        assert_eq!(expected_of_random(&values, 10), 1.0);
    }
}
