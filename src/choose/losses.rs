//! What configs lose on problems, as a table: what break-points, selections and trees are computed from.

use crate::points::{Point, Points, log_ratio};
use seqtune_kernel::ConfigSpace;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::threads::on_threads;
use seqtune_predict::{Config, Device, Kernel, Objective, Problem};
use std::collections::HashMap;

/// How a table of predicted losses is made.
#[derive(Clone, Debug)]
pub struct LossOptions {
    /// Quantity that is minimised.
    pub objective: Objective,
    /// Most promising configs of each problem that may become columns.
    pub candidates: usize,
    /// Columns at most. The first choices of the problems come before all others.
    pub configs: usize,
    /// Threads that the model is asked on.
    pub threads: usize,
}

impl Default for LossOptions {
    fn default() -> LossOptions {
        LossOptions { objective: Objective::Time, candidates: 8, configs: 128, threads: 1 }
    }
}

impl LossOptions {
    /// How often a table of so many problems asks its points.
    pub fn questions(problems: usize) -> usize {
        2 * problems
    }
}

/// A row for each problem, a column for each config.
#[derive(Clone, Debug, PartialEq)]
pub struct LossTable {
    /// Configs, in the order of the columns.
    pub configs: Vec<Config>,
    /// By problem and config: the logarithm of the config's cost in units of the least; 0 of the best, infinite where it is illegal.
    pub losses: Vec<Vec<f64>>,
}

/// The share of the speed that a logarithm of a ratio of times stands for: 0.02 of a config that has 98 % of the speed.
pub fn speed_lost(log: f64) -> f64 {
    1.0 - (-log).exp()
}

/// The logarithm of a ratio of times that a share of the speed stands for, the inverse of [`speed_lost`].
pub fn log_of_loss(share: f64) -> f64 {
    -(1.0 - share).ln()
}

impl LossTable {
    /// Asks `points` for the most promising configs of each problem, and for what each of these loses on every problem.
    ///
    /// # Errors
    /// As [`Points::best`]; [`Error::NoLegalConfig`] where a problem has none.
    pub fn predict(
        kernel: &Kernel,
        points: &dyn Points,
        problems: &[Problem],
        options: &LossOptions,
    ) -> Result<LossTable> {
        let answers = on_threads(problems, options.threads, |problem| {
            match points.best(problem, options.objective, options.candidates.max(1))? {
                found if found.is_empty() => no_config(kernel, problem),
                found => Ok(found),
            }
        })?;
        let configs = columns(&answers, options.configs);
        let firsts: Vec<&Point> = answers.iter().map(|found| &found[0]).collect();
        LossTable::judge_configs(points, problems, &firsts, configs, options)
    }

    /// What given configs lose on every problem against the best of them.
    ///
    /// # Errors
    /// As [`Points::expect`].
    pub fn for_candidates(
        kernel: &Kernel,
        device: &Device,
        points: &dyn Points,
        problems: &[Problem],
        configs: &[Config],
        options: &LossOptions,
    ) -> Result<LossTable> {
        let losses = on_threads(problems, options.threads, |problem| {
            let space = ConfigSpace::new(kernel, problem, device);
            let Some(reference) = configs.iter().find(|config| space.is_legal(config)) else {
                return Ok(vec![f64::INFINITY; configs.len()]);
            };
            // ratios to any of them are as good as to the best
            let reference = Point { config: reference.clone(), time_us: Some(1.0), joules: Some(1.0) };
            let expected = points.expect(problem, options.objective, &reference, configs)?;
            let known: HashMap<&Config, f64> = expected
                .iter()
                .filter_map(|point| Some((&point.config, options.objective.cost_of(point.time_us, point.joules)?.ln())))
                .collect();
            let least = known.values().copied().fold(f64::INFINITY, f64::min);
            Ok(configs.iter().map(|config| known.get(config).map_or(f64::INFINITY, |log| log - least)).collect())
        })?;
        Ok(LossTable { configs: configs.to_vec(), losses })
    }

    /// What given configs lose on every problem against its first choice.
    ///
    /// # Errors
    /// As [`Points::expect`].
    pub(crate) fn judge_configs(
        points: &dyn Points,
        problems: &[Problem],
        firsts: &[&Point],
        configs: Vec<Config>,
        options: &LossOptions,
    ) -> Result<LossTable> {
        let asked: Vec<(&Problem, &&Point)> = problems.iter().zip(firsts).collect();
        let losses = on_threads(&asked, options.threads, |(problem, first)| {
            let expected = points.expect(problem, options.objective, first, &configs)?;
            let known: HashMap<&Config, f64> =
                expected.iter().map(|point| (&point.config, loss(point, first, options.objective))).collect();
            let loss = |config: &Config| match known.get(config) {
                Some(loss) => *loss,
                // a source of points that expects nothing of others knows its first choice alone
                None if *config == first.config => 0.0,
                None => f64::INFINITY,
            };
            Ok(configs.iter().map(loss).collect())
        })?;
        Ok(LossTable { configs, losses })
    }

    /// The columns alone that are named, in that order.
    pub fn with_columns(&self, columns: &[usize]) -> LossTable {
        LossTable {
            configs: columns.iter().map(|at| self.configs[*at].clone()).collect(),
            losses: self.losses.iter().map(|row| columns.iter().map(|at| row[*at]).collect()).collect(),
        }
    }
}

fn no_config<A>(kernel: &Kernel, problem: &Problem) -> Result<A> {
    Err(Error::NoLegalConfig(format!("no config for {}", kernel.brief_problem(problem))))
}

/// What a config loses against the first, as a logarithm.
pub(crate) fn loss(point: &Point, first: &Point, objective: Objective) -> f64 {
    let (time, energy) = (log_ratio(point.time_us, first.time_us), log_ratio(point.joules, first.joules));
    let loss = match objective {
        Objective::Time => time,
        Objective::Energy => energy.or(time),
        Objective::Edp => energy.zip(time).map(|(energy, time)| energy + time).or(time),
    };
    loss.map_or(0.0, |loss| loss.max(0.0))
}

/// First choices, most frequent first, then the other configs by how often and how early they were answered.
fn columns(answers: &[Vec<Point>], most: usize) -> Vec<Config> {
    let mut weights: HashMap<&Config, Weight> = HashMap::new();
    for found in answers {
        for (rank, point) in found.iter().enumerate() {
            let weight = weights.entry(&point.config).or_default();
            weight.first += usize::from(rank == 0);
            weight.all += 1.0 / (rank + 1) as f64;
        }
    }
    let mut weights: Vec<(&Config, Weight)> = weights.into_iter().collect();
    weights.sort_by(|(a, x), (b, y)| y.first.cmp(&x.first).then(y.all.total_cmp(&x.all)).then(a.cmp(b)));
    weights.into_iter().take(most.max(1)).map(|(config, _)| config.clone()).collect()
}

/// How often a config was answered.
#[derive(Clone, Copy, Default)]
struct Weight {
    /// As the first choice.
    first: usize,
    /// Sum of the inverses of its ranks.
    all: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(choice: u16) -> Point {
        Point { config: Config(vec![choice]), time_us: None, joules: None }
    }

    #[test]
    fn first_choices_are_columns_before_configs_that_are_answered_more_often() {
        let answers = [vec![point(1), point(9)], vec![point(2), point(9)], vec![point(2), point(9)]];
        let at = |most| columns(&answers, most).iter().map(|config| config.0[0]).collect::<Vec<_>>();
        assert_eq!(at(9), [2, 1, 9]);
        assert_eq!(at(2), [2, 1]);
    }

    #[test]
    fn a_share_of_the_speed_and_its_logarithm_are_inverse() {
        assert!((speed_lost(log_of_loss(0.02)) - 0.02).abs() < 1e-12);
        assert!((speed_lost(2f64.ln()) - 0.5).abs() < 1e-12, "half the speed takes twice the time");
    }
}
