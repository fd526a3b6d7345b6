//! Profiles of problems ([`seqtune_predict::posterior::cost_neighbours`]), fitted.

use crate::extra_trees::{Targets, TreeSamples, fit as fit_trees};
use crate::parts::Problems;
use seqtune_data::learnable::centre_logs;
use seqtune_data::{KernelTable, Table};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Kernel, Objective};
use seqtune_predict::features::Instance;
use seqtune_predict::posterior::CostNeighbours;
use seqtune_predict::posterior::cost_neighbours::{columns, combination, row, small_space_size};
use std::sync::Arc;

/// Trees that are fitted: the weights of problems that are like one change little with more.
const TREES: usize = 200;

/// What profiles are fitted to.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Kernel with its sweeps.
    pub data: &'a KernelTable,
    /// Its problems.
    pub problems: &'a Problems,
    /// Whether problems that choose weights count too: at the end, when they have told what profiles are worth.
    pub validation_too: bool,
    /// Quantities that are learned.
    pub objectives: &'a [Objective],
    /// Temperature of the target.
    pub tau: f64,
    /// Threads that may be used.
    pub threads: usize,
    /// Seed of the draws.
    pub seed: u64,
}

/// By objective, profiles of a kernel that asks for them.
///
/// # Errors
/// [`Error::Failed`](seqtune_predict::Error::Failed) where a thread panics.
pub fn fit(of: &Known) -> Result<Vec<Arc<CostNeighbours>>> {
    let Known { data: KernelTable { kernel, table }, problems, validation_too, objectives, tau, threads, seed } = *of;
    let Some(combinations) = small_space_size(kernel).filter(|_| kernel.profiles) else { return Ok(Vec::new()) };
    let mut known = problems.train.clone();
    // of very small data the same problems are in both parts
    known.extend(problems.validation.iter().filter(|i| validation_too && !problems.train.contains(i)));
    let mut found = Vec::new();
    for objective in objectives {
        let (rows, profiles) = profiles_of(kernel, table, &known, *objective, combinations);
        if profiles.len() < 2 {
            continue;
        }
        let costs = fill_profiles(&profiles);
        let samples = TreeSamples { rows: &rows, columns: columns(kernel), targets: Targets::Vectors(&costs) };
        let forest = fit_trees(&samples, TREES, threads, seed)?;
        found.push(Arc::new(CostNeighbours { kernel: kernel.name.clone(), objective: *objective, tau, forest, costs }));
    }
    Ok(found)
}

/// Of problems with two costs at least, what tells them apart, and the centred logarithms of their costs by combination.
fn profiles_of(
    kernel: &Kernel,
    table: &Table,
    problems: &[usize],
    objective: Objective,
    combinations: usize,
) -> (Vec<f32>, Vec<Vec<Option<f32>>>) {
    let (mut rows, mut known) = (Vec::new(), Vec::new());
    for tried in problems.iter().map(|i| &table.problems[*i]) {
        let costs = tried.costs(objective);
        if costs.len() < 2 {
            continue;
        }
        rows.extend(row(kernel, &Instance::new(kernel, &tried.problem, &table.devices[tried.device])));
        let mut profile = vec![None; combinations];
        let logs = centre_logs(&costs.iter().map(|known| known.cost).collect::<Vec<f64>>());
        for (known, log) in costs.into_iter().zip(logs) {
            profile[combination(kernel, known.config)] = Some(log as f32);
        }
        known.push(profile);
    }
    (rows, known)
}

/// Profiles in which what was not measured costs what it does in the mean of the others, and the most of all where nobody measured it.
fn fill_profiles(known: &[Vec<Option<f32>>]) -> Vec<Vec<f32>> {
    let most = known.iter().flatten().flatten().copied().fold(0.0, f32::max);
    let mean = |at: usize| {
        let (mut sum, mut count) = (0.0, 0);
        known.iter().filter_map(|profile| profile[at]).for_each(|log| (sum, count) = (sum + log, count + 1));
        if count > 0 { sum / count as f32 } else { most }
    };
    let means: Vec<f32> = (0..known[0].len()).map(mean).collect();
    known.iter().map(|profile| profile.iter().zip(&means).map(|(log, mean)| log.unwrap_or(*mean)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_costs_the_mean_of_others_or_the_most() {
        let known = [vec![Some(-0.5), Some(0.5), None], vec![Some(-0.1), None, None], vec![Some(0.1), Some(1.5), None]];
        assert_eq!(fill_profiles(&known)[1], [-0.1, 1.0, 1.5]);
        assert_eq!(fill_profiles(&known)[0][2], 1.5);
    }
}
