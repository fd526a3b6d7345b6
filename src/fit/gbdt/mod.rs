//! Boosted trees, fitted: to the costs of measured configs, and to how probably each is the best of its problem.

mod boosting;
mod loss;
mod samples;
mod tree;

pub use loss::WeightedValue;
use loss::{Groups, Loss};
use samples::Samples;
use seqtune_data::Table;
use seqtune_data::learnable::{LearnableProblem, known_problems};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Kernel, Objective};
use seqtune_predict::numeric::softmax::distribution;
use seqtune_predict::trees::{Forest, Trees};

/// Returns how much a config counts where costs are learned, by its cost relative to the best one's.
///
/// Fast configs count more, since the order at the top is asked for.
pub fn cost_weight(relative: f64) -> f64 {
    0.1 + (1.0 - relative).exp()
}

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
        Ok(Trees::new(self.kernel, self.objective, self.tau, values, lists))
    }
}

/// Trees of the values of rows.
pub fn fit_values(columns: usize, rows: Vec<f32>, values: Vec<WeightedValue>, seed: u64) -> Forest {
    boosting::fit(&Samples { columns, rows, loss: Loss::SquaredError(values) }, &Samples::default(), seed)
}

/// Rows of lists, list after list.
#[derive(Clone, Debug, Default)]
pub struct ListRows {
    /// Numbers of the rows: (rows, columns).
    pub rows: Vec<f32>,
    /// By list, how many rows it has.
    pub counts: Vec<usize>,
    /// By row, how probable it is in its list.
    pub shares: Vec<f32>,
}

/// Trees whose scores make, by a softmax over each list, how probable its rows are; until what is `held` out is no more probable.
pub fn fit_lists(columns: usize, train: ListRows, held: ListRows, seed: u64) -> Forest {
    let samples =
        |ListRows { rows, counts, shares }: ListRows| Samples { columns, rows, loss: Loss::ListNet(counts, shares) };
    boosting::fit(&samples(train), &samples(held), seed)
}

/// Rows of weight 1 that draw the offsets of problems to nought as strongly, of problems of one config; the more configs, the less. 4 to 8 are the
/// best on small parts of the library's sweeps; of many configs it does not matter (docs/log).
const DRAWN: f32 = 6.0;

/// What is known of problems, as trees learn it.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], objective: Objective, aim: Aim) -> Samples {
    let (mut samples, mut lists) = (Samples::default(), Vec::new());
    let (mut values, mut shares) = (Vec::new(), Vec::new());
    let mut compare = false;
    for (at, LearnableProblem { rows, costs }) in
        problems.iter().zip(known_problems(kernel, table, problems, objective))
    {
        let (Some(best), Some(row)) = (costs.first(), rows.first()) else { continue };
        samples.columns = row.len();
        samples.rows.extend(rows.into_iter().flatten());
        let relative: Vec<f64> = costs.iter().map(|cost| cost / best).collect();
        // by their work, costs of different problems compare; 1 where kernel.toml does not tell it
        let problem = &table.problems[*at].problem;
        let work = kernel.flops(problem).max(kernel.bytes(problem)).max(1.0);
        compare |= work > 1.0;
        match aim {
            Aim::SquaredError => values.extend(costs.iter().zip(&relative).map(|(cost, times)| WeightedValue {
                value: (cost / work).ln() as f32,
                weight: cost_weight(*times) as f32,
            })),
            Aim::ListNet(tau) => shares.extend(distribution(&relative, Some(tau))),
        }
        lists.push(costs.len());
    }
    let drawn = if compare { DRAWN * lists.len() as f32 / values.len().max(1) as f32 } else { 0.0 };
    let groups = Groups { rows: lists.clone(), drawn };
    samples.loss = if aim == Aim::SquaredError { Loss::Grouped(groups, values) } else { Loss::ListNet(lists, shares) };
    samples
}
