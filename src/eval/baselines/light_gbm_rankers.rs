//! LightGBM's two ways to rank the measured configs of sweeps: by the cost, and by the order.

use crate::baselines::lightgbm::{LightGbm, Samples, Task, Trees};
use crate::baselines::method::Method;
use seqtune_data::Table;
use seqtune_data::learnable::{LearnableProblem, centre_logs, known_problems, relevance};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Device, Kernel, Objective, Problem};
use seqtune_predict::features::Instance;

/// Both ways, fitted to the same problems.
pub struct Rankers(Vec<Ranker>);

/// One way, fitted.
struct Ranker {
    method: Method,
    /// Makes the lowest score the best.
    sign: f64,
    trees: Trees,
}

/// Scores of configs by one way, the lowest the best.
pub struct MethodScores {
    /// The way.
    pub method: Method,
    /// Scores in the order of the configs.
    pub scores: Vec<f64>,
}

impl Rankers {
    /// Fits both to the problems of a table that are learned from, until those that choose the number of trees gain no more: `[train, valid]`.
    ///
    /// # Errors
    /// The error of [`LightGbm::fit`].
    pub fn fit(
        library: &LightGbm,
        kernel: &Kernel,
        table: &Table,
        [train, valid]: [&[usize]; 2],
        objective: Objective,
        seed: u64,
    ) -> Result<Rankers> {
        let tasks =
            [(Method::LightGbmRegression, Task::Regression, 1.0), (Method::LightGbmRanking, Task::Ranking, -1.0)];
        let fit = |(method, task, sign)| {
            let of = |problems: &[usize]| samples(kernel, table, problems, objective, task);
            Ok(Ranker { method, sign, trees: library.fit(&of(train), &of(valid), task, 1, seed)? })
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
        problem: &Problem,
        device: &Device,
        configs: &[Config],
    ) -> Result<Vec<MethodScores>> {
        let instance = Instance::new(kernel, problem, device);
        let rows: Vec<f64> = configs.iter().flat_map(|c| instance.row(c)).map(f64::from).collect();
        let score = |Ranker { method, sign, trees }: &Ranker| {
            let scores = trees.predict(&rows, 1)?.into_iter().map(|score| sign * score).collect();
            Ok(MethodScores { method: *method, scores })
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
    for LearnableProblem { rows, costs } in known_problems(kernel, table, problems, objective) {
        samples.columns = rows.first().map_or(samples.columns, Vec::len);
        samples.rows.extend(rows.into_iter().flatten().map(f64::from));
        match task {
            Task::Ranking => {
                samples.labels.extend(costs.iter().map(|cost| relevance(cost / costs[0]).round() as f32));
                samples.groups.push(costs.len() as i32);
            }
            _ => samples.labels.extend(centre_logs(&costs).into_iter().map(|ln| ln as f32)),
        }
    }
    samples
}
