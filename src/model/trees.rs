//! Boosted trees on problem, config and their features: what a model has beside its networks.
//!
//! They rank all candidates, as the published predictors do, and err in other places than networks: both together are better than either
//! (LOG.md). For training they label problems that nobody measured.

use super::calibration::softmax;
use super::forest::{Forest, Samples};
use super::goal::Goal;
use super::speller::Spelled;
use crate::dataset::{Objective, Table};
use crate::error::Result;
use crate::kernel::{Config, Kernel};
use crate::threads::on_threads;
use serde::{Deserialize, Serialize};

/// The trees of one kernel and objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trees {
    kernel: String,
    objective: Objective,
    /// The natural logarithm of a config's cost, relative to the mean of its problem.
    values: Forest,
    /// What orders a problem's configs, the higher the better.
    order: Forest,
    /// What each is multiplied by before the softmax that makes probabilities of it.
    sharpness: [f64; 2],
}

/// Sharpness where nothing was held out to learn it from: what was learned on A100 mm.
const USUAL: [f64; 2] = [16.0, 0.6];

impl Trees {
    /// Fits the problems `train` of a table. `held` out problems say when it is enough, and how far to trust what comes of it: the soft target of
    /// temperature `tau` is what they are to show.
    pub fn fit(
        kernel: &Kernel,
        table: &Table,
        (train, held): (&[usize], &[usize]),
        (objective, tau): (Objective, f64),
        (seed, threads): (u64, usize),
    ) -> Result<Trees> {
        // of very small data nothing is held out
        let held = if held == train { &[] } else { held };
        let fit = |ordered: &bool| {
            let of = |problems: &[usize]| samples(kernel, table, problems, objective, *ordered);
            let held = of(held);
            let forest = Forest::fit(&of(train), &held, seed);
            Ok((forest, held))
        };
        let mut forests = on_threads(&[false, true], threads, fit)?.into_iter();
        let (Some((values, held_values)), Some((order, held_order))) = (forests.next(), forests.next()) else {
            return Err(crate::Error::Failed("boosted trees were lost".into()));
        };
        let Goal::Order(lists, costs) = &held_order.goal else {
            return Err(crate::Error::Failed("boosted trees lost what they order".into()));
        };
        let said = |forest: &Forest, samples: &Samples, sign: f64| -> Vec<f64> {
            samples.rows.chunks_exact(samples.columns.max(1)).map(|row| sign * forest.say(row) as f64).collect()
        };
        let sharpness = match lists.is_empty() {
            true => USUAL,
            false => [
                sharpness(lists, costs, &said(&values, &held_values, -1.0), tau),
                sharpness(lists, costs, &said(&order, &held_order, 1.0), tau),
            ],
        };
        Ok(Trees { kernel: kernel.name.clone(), objective, values, order, sharpness })
    }

    /// The kernel's name.
    pub fn of(&self) -> &str {
        &self.kernel
    }

    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Configs of a problem, cheapest predicted first, with the natural logarithm of their cost beside the problem's mean.
    pub fn rank<'c>(&self, spelled: &Spelled, configs: &[&'c Config]) -> Vec<(&'c Config, f64)> {
        let mut ranked: Vec<(&Config, f64)> =
            configs.iter().map(|config| (*config, self.values.say(&spelled.row(config)) as f64)).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(b.0)));
        ranked
    }

    /// The natural logarithm of how probably each of the configs is the best of them: what both forests hold probable, multiplied.
    pub fn weigh(&self, spelled: &Spelled, configs: &[Config]) -> Vec<f64> {
        let [of_values, of_order] = self.sharpness;
        let merit = |config: &Config| {
            let row = spelled.row(config);
            of_order * self.order.say(&row) as f64 - of_values * self.values.say(&row) as f64
        };
        let merits: Vec<f64> = configs.iter().map(merit).collect();
        softmax(&merits, 1.0).into_iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect()
    }
}

/// What is known of problems, as trees learn it.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], objective: Objective, ordered: bool) -> Samples {
    let (mut samples, mut lists) = (Samples::default(), Vec::new());
    let (mut values, mut relative) = (Vec::new(), Vec::new());
    for tried in problems.iter().map(|i| &table.tried[*i]) {
        let costs = tried.costs(objective);
        let Some((_, best)) = costs.first().copied() else { continue };
        let mean = costs.iter().map(|(_, cost)| cost.ln()).sum::<f64>() / costs.len() as f64;
        let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
        for (config, cost) in &costs {
            let row = spelled.row(config);
            samples.columns = row.len();
            samples.rows.extend(row);
            // fast configs weigh more: the order at the top is what is asked for
            values.push(((cost.ln() - mean) as f32, (0.1 + (-(cost / best - 1.0)).exp()) as f32));
            relative.push((cost / best) as f32);
        }
        lists.push(costs.len());
    }
    samples.goal = if ordered { Goal::Order(lists, relative) } else { Goal::Values(values) };
    samples
}

/// What scores of lists are to be multiplied by, so that their softmax comes nearest to the soft target of temperature `tau` over configs
/// that cost so many times the best.
fn sharpness(lists: &[usize], costs: &[f32], scores: &[f64], tau: f64) -> f64 {
    let divergence = |sharpness: f64| {
        let (mut sum, mut at) = (0.0, 0);
        for count in lists {
            let (costs, scores) = (&costs[at..at + count], &scores[at..at + count]);
            at += count;
            let merits: Vec<f64> = costs.iter().map(|cost| 1.0 - *cost as f64).collect();
            let target = softmax(&merits, tau);
            let found = softmax(scores, 1.0 / sharpness);
            sum -= target.iter().zip(found).map(|(t, f)| t * f.max(f64::MIN_POSITIVE).ln()).sum::<f64>();
        }
        sum
    };
    // convex in the sharpness, so with one valley in its logarithm too
    let (mut low, mut high) = (1e-2f64.ln(), 1e3f64.ln());
    for _ in 0..50 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if divergence(a.exp()) < divergence(b.exp()) { high = b } else { low = a }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_are_the_target_already_are_left_as_sharp_as_they_are() {
        let costs = [1.0f32, 1.1, 1.5, 1.0, 1.02];
        let scores: Vec<f64> = costs.iter().map(|c| -(*c as f64) / 0.05).collect();
        let found = sharpness(&[3, 2], &costs, &scores, 0.05);
        assert!((found - 1.0).abs() < 1e-3, "{found}");
        let found = sharpness(&[3, 2], &costs, &scores, 0.1);
        assert!((found - 0.5).abs() < 1e-3, "half as sharp where the target is: {found}");
    }
}
