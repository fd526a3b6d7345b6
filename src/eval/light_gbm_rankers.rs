//! LightGBM's two ways to rank the measured configs of sweeps: by the cost, and by the order.

use crate::lightgbm::{LightGbm, Samples, Task, Trees};
use crate::method::Method;
use seqtune_data::Table;
use seqtune_data::learnable::{centred, known, relevance};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem};
use seqtune_predict::features::Instance;

/// Fitted trees, each with the sign that makes the lowest score the best.
pub struct Rankers(Vec<(Method, f64, Trees)>);

impl Rankers {
    /// Fits both to the problems of a table that are learned from, until those that choose the number of trees gain no more: `[train, valid]`.
    ///
    /// # Errors
    /// The error of [`LightGbm::fit`].
    pub fn fit(
        library: &LightGbm,
        (kernel, table): (&Kernel, &Table),
        [train, valid]: [&[usize]; 2],
        objective: Objective,
        seed: u64,
    ) -> Result<Rankers> {
        let tasks =
            [(Method::LightGbmRegression, Task::Regression, 1.0), (Method::LightGbmRanking, Task::Ranking, -1.0)];
        let fit = |(method, task, sign)| {
            let of = |problems: &[usize]| samples(kernel, table, problems, objective, task);
            Ok((method, sign, library.fit(&of(train), &of(valid), task, 1, seed)?))
        };
        tasks.into_iter().map(fit).collect::<Result<_>>().map(Rankers)
    }

    /// Scores of the configs of a problem by each, the lowest the best.
    ///
    /// # Errors
    /// The error of [`Trees::predict`].
    pub fn scores(
        &self,
        kernel: &Kernel,
        at: (&Problem, &Device),
        configs: &[Config],
    ) -> Result<Vec<(Method, Vec<f64>)>> {
        let instance = Instance::new(kernel, at.0, at.1);
        let rows: Vec<f64> = configs.iter().flat_map(|c| instance.row(c)).map(f64::from).collect();
        let score = |(method, sign, trees): &(Method, f64, Trees)| {
            Ok((*method, trees.predict(&rows, 1)?.into_iter().map(|score| sign * score).collect()))
        };
        self.0.iter().map(score).collect()
    }
}

/// The places of configs by a score, the lowest first; ties by the config, so that the order of measuring does not help.
pub fn by_score(configs: &[Config], score: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..configs.len()).collect();
    order.sort_by(|a, b| score(*a).total_cmp(&score(*b)).then(configs[*a].cmp(&configs[*b])));
    order
}

/// What is learned of problems: the logarithm of the cost beside the problem's mean, or how near a config comes to the best.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], objective: Objective, task: Task) -> Samples {
    let mut samples = Samples::default();
    for (rows, costs) in known(kernel, table, problems, objective) {
        samples.columns = rows.first().map_or(samples.columns, Vec::len);
        samples.rows.extend(rows.into_iter().flatten().map(f64::from));
        match task {
            Task::Ranking => {
                samples.labels.extend(costs.iter().map(|cost| relevance(cost / costs[0]).round() as f32));
                samples.groups.push(costs.len() as i32);
            }
            _ => samples.labels.extend(centred(&costs).into_iter().map(|ln| ln as f32)),
        }
    }
    samples
}
