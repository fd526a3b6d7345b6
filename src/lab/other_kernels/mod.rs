//! Kernels never seen: boosted trees learn, of the sweeps of all other kernels, what their launches and shared features say of a config,
//! and rank the measured configs of a kernel left out; then 20 measurements of it correct them.

mod columns;
mod report;

pub use report::LeftOutReport;

use crate::other_kernels::columns::Columns;
use crate::other_kernels::report::{Ranked, Row};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_data::learnable::centre_logs;
use seqtune_data::{KernelTable, Table};
use seqtune_fit::gbdt::{WeightedValue, fit_values};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, Kernel, Objective};
use seqtune_predict::features::Instance;
use seqtune_predict::numeric::linear::{cholesky, dot, solve};
use seqtune_predict::trees::Forest;

/// Rows of a kernel that trees learn at most: the largest sweep is not to outvote the others.
const ROWS: usize = 4_000;

/// Measurements of the new kernel, and over how many of its problems they are spread.
const MEASURED: usize = 20;
const OVER: usize = 4;

/// Times that these are drawn; a kernel's figures are means over the draws.
const DRAWS: u64 = 8;

/// Variances of logarithms of costs that are tried: what configs alike share, and what each has alone.
const VARIANCES: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// A problem of a kernel with its measured configs, the cheapest first.
struct Known {
    configs: Vec<Config>,
    costs: Vec<f64>,
    /// By [`Columns`].
    rows: Vec<Vec<f32>>,
    /// What the kernel alone says of its configs, standardised over them.
    own: Vec<Vec<f64>>,
}

/// Judges each kernel of the corpus by what is learned of the others.
///
/// # Errors
/// `Error::Input` for fewer than three kernels, or one with too few measured problems.
pub fn leave_kernel_out(corpus: &[KernelTable], objective: Objective, seed: u64) -> Result<LeftOutReport> {
    if corpus.len() < 3 {
        return input(format!(
            "the evaluation of unseen kernels needs sweeps of three kernels or more; these are of {}",
            corpus.len()
        ));
    }
    let columns = Columns::new(corpus.iter().map(|data| &data.kernel));
    let known =
        on_threads(corpus, cores(), |KernelTable { kernel, table }| Ok(problems(kernel, table, objective, &columns)))?;
    if let Some(at) = known.iter().position(|problems| problems.len() <= OVER) {
        return input(format!(
            "kernel {} has {} measured problems; more than {OVER} are needed",
            corpus[at].kernel.name,
            known[at].len()
        ));
    }
    let places: Vec<usize> = (0..corpus.len()).collect();
    let rows = on_threads(&places, cores(), |at| {
        let others: Vec<&Vec<Known>> = known.iter().enumerate().filter(|(i, _)| i != at).map(|(_, k)| k).collect();
        let forest = learn(&others, columns.count(), seed);
        Ok(judge(&corpus[*at].kernel, &known[*at], &forest, seed))
    })?;
    Ok(LeftOutReport { objective, rows })
}

/// The problems of a kernel of which two configs or more were measured.
fn problems(kernel: &Kernel, table: &Table, objective: Objective, columns: &Columns) -> Vec<Known> {
    let launch = kernel.source().ok().map(|source| &source.program);
    let known = table.problems.iter().filter_map(|tried| {
        let measured = tried.costs(objective);
        let configs: Vec<&Config> = measured.iter().map(|known| known.config).collect();
        let costs: Vec<f64> = measured.iter().map(|known| known.cost).collect();
        let device = &table.devices[tried.device];
        let rows = columns.rows(kernel, launch, &tried.problem, device, &configs);
        let instance = Instance::new(kernel, &tried.problem, device);
        let own = standardise(configs.iter().map(|c| instance.row(c)).collect());
        let configs: Vec<Config> = configs.into_iter().cloned().collect();
        (costs.len() >= 2).then_some(Known { configs, costs, rows, own })
    });
    known.collect()
}

/// Columns less their mean, in units of their deviation; without those that do not vary.
fn standardise(rows: Vec<Vec<f32>>) -> Vec<Vec<f64>> {
    let mut out = vec![Vec::new(); rows.len()];
    for column in 0..rows.first().map_or(0, Vec::len) {
        let values: Vec<f64> = rows.iter().map(|row| row[column].max(-1e6) as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        if deviation > 1e-9 {
            out.iter_mut().zip(values).for_each(|(row, x)| row.push((x - mean) / deviation));
        } else {
            out.iter_mut().for_each(|row| row.push(0.0));
        }
    }
    out
}

/// Trees of how far each config's cost is from its problem's mean, each kernel with the same weight.
fn learn(others: &[&Vec<Known>], columns: usize, seed: u64) -> Forest {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for problems in others {
        let mut order: Vec<&Known> = problems.iter().collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut taken = 0;
        order.retain(|known| {
            taken += known.costs.len();
            taken <= ROWS.max(known.costs.len())
        });
        let count: usize = order.iter().map(|known| known.costs.len()).sum();
        for known in order {
            rows.extend(known.rows.iter().flatten());
            let fast = |cost: &f64| 0.1 + (1.0 - cost / known.costs[0]).exp();
            let learned = centre_logs(&known.costs).into_iter().zip(&known.costs);
            values.extend(learned.map(|(ln, cost)| WeightedValue {
                value: ln as f32,
                weight: (fast(cost) * ROWS as f64 / count as f64) as f32,
            }));
        }
    }
    fit_values(columns, rows, values, seed)
}

/// What the trees of other kernels choose for a kernel, before and after some of its problems were measured a little.
fn judge(kernel: &Kernel, problems: &[Known], forest: &Forest, seed: u64) -> Row {
    let say = |known: &Known| -> Vec<f64> { known.rows.iter().map(|row| forest.predict(row) as f64).collect() };
    let said: Vec<Vec<f64>> = problems.iter().map(say).collect();
    let mut row = Row::new(&kernel.name);
    for draw in 0..DRAWS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed * DRAWS + draw);
        let mut order: Vec<usize> = (0..problems.len()).collect();
        order.shuffle(&mut rng);
        let (tried, asked) = order.split_at(OVER);
        let measured = |at: &usize| {
            let mut places: Vec<usize> = (0..problems[*at].costs.len()).collect();
            places.shuffle(&mut rng);
            places.truncate(MEASURED / OVER);
            Sampled { problem: *at, places }
        };
        let measured: Vec<Sampled> = tried.iter().map(measured).collect();
        let after = Correction::new(problems, &measured, &|at, i| said[at][i]);
        let alone = Correction::new(problems, &measured, &|_, _| 0.0);
        for at in asked {
            let known = &problems[*at];
            let both: Vec<f64> = said[*at].iter().zip(after.estimate(known)).map(|(a, b)| a + b).collect();
            let default = known.configs.iter().position(|c| *c == kernel.default_config());
            let ranked = Ranked { others: &said[*at], alone: &alone.estimate(known), both: &both };
            row.add(&known.costs, default, ranked);
        }
    }
    row.finish(problems.len())
}

/// What was measured of a problem.
struct Sampled {
    /// Its place among the problems.
    problem: usize,
    /// Places of configs among its own.
    places: Vec<usize>,
}

/// What a few measurements say of configs alike: a Gaussian process over the kernel's own columns, whose variances are the most probable ones.
struct Correction<'a> {
    seen: Vec<&'a [f64]>,
    weights: Vec<f64>,
}

impl<'a> Correction<'a> {
    /// Learns what is left of `measured` costs beside what `said` expects of them.
    fn new(problems: &'a [Known], measured: &[Sampled], said: &dyn Fn(usize, usize) -> f64) -> Correction<'a> {
        let (mut seen, mut left): (Vec<&[f64]>, Vec<f64>) = (Vec::new(), Vec::new());
        for Sampled { problem: at, places } in measured {
            let residual: Vec<f64> = places.iter().map(|i| problems[*at].costs[*i].ln() - said(*at, *i)).collect();
            let mean = residual.iter().sum::<f64>() / residual.len() as f64;
            seen.extend(places.iter().map(|i| &problems[*at].own[*i][..]));
            left.extend(residual.iter().map(|x| x - mean));
        }
        let fit = |(shared, alone): (f64, f64)| {
            let entry = |i: usize, j: usize| shared * alike(seen[i], seen[j]) + if i == j { alone } else { 0.0 };
            let factor = cholesky(seen.len(), &entry);
            let weights = solve(&factor, &left);
            // twice the logarithm of the evidence, but for a constant
            let evidence =
                -dot(&left, &weights) - 2.0 * factor.iter().enumerate().map(|(i, row)| row[i].ln()).sum::<f64>();
            (evidence, weights.iter().map(|w| shared * w).collect::<Vec<f64>>())
        };
        let pairs = VARIANCES.into_iter().flat_map(|shared| VARIANCES.map(|alone| (shared, alone)));
        let best = pairs.map(fit).max_by(|a, b| a.0.total_cmp(&b.0));
        Correction { seen, weights: best.map_or(Vec::new(), |(_, weights)| weights) }
    }

    /// What is added to the natural logarithm of each config's cost.
    fn estimate(&self, known: &Known) -> Vec<f64> {
        let say = |row: &Vec<f64>| self.seen.iter().zip(&self.weights).map(|(seen, w)| w * alike(seen, row)).sum();
        known.own.iter().map(say).collect()
    }
}

/// Similarity of two configs of a kernel: 1 of a usual one with itself.
fn alike(a: &[f64], b: &[f64]) -> f64 {
    dot(a, b) / a.len().max(1) as f64
}
