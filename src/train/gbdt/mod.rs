//! Boosted trees, fitted: to the costs of measured configs, and to how probably each is the best of its problem.

mod boosting;
mod loss;
mod samples;
mod tree;

use loss::Loss;
use samples::Samples;
use seqtune_data::Table;
use seqtune_data::learnable::{centred, known};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::forest::Forest;
use seqtune_predict::gbdt::Trees;
use seqtune_predict::kernel::{Kernel, Objective};
use seqtune_predict::softmax::distribution;
use seqtune_predict::threads::on_threads;

/// What a forest is fitted to.
#[derive(Clone, Copy, PartialEq)]
enum Aim {
    SquaredError,
    /// The soft target of this temperature.
    ListNet(f64),
}

/// Boosted trees to fit on a kernel's sweeps.
pub struct TreeFit<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its measured problems.
    pub table: &'a Table,
    /// Quantity that configs are ranked by.
    pub objective: Objective,
    /// Temperature of the soft target.
    pub tau: f64,
    /// Seed of the row sampling.
    pub seed: u64,
    /// Threads; both forests are fitted at once.
    pub threads: usize,
}

impl TreeFit<'_> {
    /// Fits the problems `train` of the table until the loss on the `held` out ones no longer falls.
    ///
    /// # Errors
    /// [`Error::Failed`] where a thread panics.
    pub fn fit(&self, train: &[usize], held: &[usize]) -> Result<Trees> {
        let fit = |aim: &Aim| {
            let of = |problems: &[usize]| samples(self.kernel, self.table, problems, self.objective, *aim);
            Ok(boosting::fit(&of(train), &of(held), self.seed))
        };
        let forests = on_threads(&[Aim::SquaredError, Aim::ListNet(self.tau)], self.threads, fit)?;
        let [values, lists] = forests
            .try_into()
            .map_err(|_| Error::Failed("fitting boosted trees: not as many forests as were asked for".into()))?;
        Ok(Trees::new(self.kernel, self.objective, self.tau, (values, lists)))
    }
}

/// Trees of the values of rows, each with how much it counts.
pub fn fit_values(columns: usize, rows: Vec<f32>, values: Vec<(f32, f32)>, seed: u64) -> Forest {
    boosting::fit(&Samples { columns, rows, loss: Loss::SquaredError(values) }, &Samples::default(), seed)
}

/// What is known of problems, as trees learn it.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], objective: Objective, aim: Aim) -> Samples {
    let (mut samples, mut lists) = (Samples::default(), Vec::new());
    let (mut values, mut shares) = (Vec::new(), Vec::new());
    for (rows, costs) in known(kernel, table, problems, objective) {
        let (Some(best), Some(row)) = (costs.first(), rows.first()) else { continue };
        samples.columns = row.len();
        samples.rows.extend(rows.into_iter().flatten());
        let relative: Vec<f64> = costs.iter().map(|cost| cost / best).collect();
        match aim {
            // fast configs weigh more: the order at the top is what is asked for
            Aim::SquaredError => values.extend(
                centred(&costs)
                    .iter()
                    .zip(&relative)
                    .map(|(ln, times)| (*ln as f32, (0.1 + (1.0 - times).exp()) as f32)),
            ),
            Aim::ListNet(tau) => shares.extend(distribution(&relative, Some(tau))),
        }
        lists.push(costs.len());
    }
    samples.loss = if aim == Aim::SquaredError { Loss::SquaredError(values) } else { Loss::ListNet(lists, shares) };
    samples
}
