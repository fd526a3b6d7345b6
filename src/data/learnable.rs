//! Measured problems as learners take them: rows of numbers, centred logarithms of costs, and relevance.

use crate::table::Table;
use seqtune_kernel::{Kernel, Objective};
use seqtune_predict::features::Instance;

/// Highest relevance, that of a problem's best config.
pub const LEVELS: f64 = 15.0;

/// Cost above the best, relative to it, at which the relevance has fallen to 1/e of [`LEVELS`].
pub const FALL: f64 = 0.16;

/// How much a config is worth that costs so many times the best: 15 for the best, 14 at 1 % above it, 11 at 5, 7 at 12. Gains double from one
/// to the next (Burges 2010). Boosted trees that learn an order are given it too.
pub fn relevance(cost: f64) -> f64 {
    LEVELS * (-(cost - 1.0) / FALL).exp()
}

/// Working configs of a problem as learners take them, cheapest first.
pub struct LearnableProblem {
    /// By config, the numbers that trees see of it.
    pub rows: Vec<Vec<f32>>,
    /// By config, its cost.
    pub costs: Vec<f64>,
}

/// What is known of each problem.
pub fn known_problems<'a>(
    kernel: &'a Kernel,
    table: &'a Table,
    problems: &'a [usize],
    objective: Objective,
) -> impl Iterator<Item = LearnableProblem> + 'a {
    problems.iter().map(move |i| {
        let tried = &table.problems[*i];
        let instance = Instance::new(kernel, &tried.problem, &table.devices[tried.device]);
        let known = tried.costs(objective);
        LearnableProblem {
            rows: known.iter().map(|known| instance.row(known.config)).collect(),
            costs: known.iter().map(|known| known.cost).collect(),
        }
    })
}

/// Natural logarithms of costs, less their mean.
pub fn centre_logs(costs: &[f64]) -> Vec<f64> {
    let mean = costs.iter().map(|cost| cost.ln()).sum::<f64>() / costs.len() as f64;
    costs.iter().map(|cost| cost.ln() - mean).collect()
}
