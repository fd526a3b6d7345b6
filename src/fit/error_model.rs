//! Learns how a model's errors go together ([`seqtune_predict::posterior::error_model`]): slopes by least squares within problems, mean and covariance of the
//! coefficients by expectation and maximisation (Laird & Ware 1982), held to independent ones as strongly as a few problems would.

use seqtune_data::{MeasuredProblem, Table};
use seqtune_kernel::Objective;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_predict::confidence::KnownCost;
use seqtune_predict::numeric::linear::{cholesky, dot, forward, solve};
use seqtune_predict::posterior::cost_neighbours::small_space_size;
use seqtune_predict::posterior::{ErrorModel, ErrorQuantity, Regressors};
use seqtune_predict::{Config, Predictor};

/// Passes of expectation and maximisation.
const PASSES: usize = 25;
/// Configs that cost more than so many times the best say little of the good ones.
const WORTH: f64 = 4.0;
/// Configs of a problem at most, the best ones.
const MOST: usize = 150;
/// Variances that coefficients of a quantity are held to: of the first, which shifts all configs of a problem, and of the others together.
const HELD: [f64; 2] = [0.2, 0.1];
/// Problems that this counts as.
const HOLDERS: f64 = 10.0;
/// Quantities that a likeness may be of.
const QUANTITIES: [Objective; 2] = [Objective::Time, Objective::Energy];

/// A measured quantity of a config with what the model makes of it.
#[derive(Clone)]
struct FittedRow {
    /// Which quantity.
    quantity: usize,
    encoding: Vec<f64>,
    /// Logarithm of the cost, beside the predicted one of the config with the highest score.
    log: f64,
    /// How far the logarithm of the predicted cost and the score are from those of that config.
    x: [f64; 2],
}

/// Learns from problems that the weights were not fitted to, `validation`; in a space of few combinations from those of `train` too, because
/// what the model predicts is left out. `None` of fewer than two problems.
///
/// # Errors
/// As [`Predictor::score`].
pub fn learn(
    predictor: &Predictor,
    table: &Table,
    [train, validation]: [&[&MeasuredProblem]; 2],
    threads: usize,
) -> Result<Option<ErrorModel>> {
    let alone = small_space_size(predictor.kernel()).is_some();
    let problems = if alone { [train, validation].concat() } else { validation.to_vec() };
    let has = |of: &Objective| problems.iter().any(|tried| !tried.costs(*of).is_empty());
    let quantities: Vec<Objective> = QUANTITIES.into_iter().filter(has).collect();
    let rows = on_threads(&problems, threads, |tried| {
        let mut all = Vec::new();
        for (at, of) in quantities.iter().enumerate() {
            all.extend(rows(predictor, table, tried, at, *of, alone)?);
        }
        Ok(all)
    })?;
    Ok(fit(&predictor.kernel().name, &quantities, alone, rows))
}

/// The configs of a problem that are near the best in a quantity.
fn rows(
    predictor: &Predictor,
    table: &Table,
    tried: &MeasuredProblem,
    quantity: usize,
    of: Objective,
    alone: bool,
) -> Result<Vec<FittedRow>> {
    let mut costs = tried.costs(of);
    let most = costs.first().map_or(0.0, |least| WORTH * least.cost);
    costs.retain(|known| known.cost <= most);
    costs.truncate(MOST);
    let configs: Vec<Config> = costs.iter().map(|known| known.config.clone()).collect();
    let device = &table.devices[tried.device];
    let instance = predictor.instance(&tried.problem, device);
    let Regressors { base, rows: regressors } = match alone {
        true => Regressors::none(configs.len()),
        false => predictor.regressors(&predictor.score(&tried.problem, device, of, &configs)?, of),
    };
    let of_config = |(known, x): (&KnownCost, [f64; 2])| FittedRow {
        quantity,
        encoding: predictor.encoding(&instance, known.config),
        log: known.cost.ln() - base,
        x,
    };
    Ok(costs.iter().zip(regressors).map(of_config).collect())
}

/// How the errors of a kernel's problems go together; `None` of fewer than two problems.
fn fit(kernel: &str, quantities: &[Objective], alone: bool, problems: Vec<Vec<FittedRow>>) -> Option<ErrorModel> {
    let problems: Vec<Vec<FittedRow>> = problems.into_iter().filter(|rows| rows.len() > 1).collect();
    if problems.len() < 2 {
        return None;
    }
    let slopes: Vec<[f64; 2]> = (0..quantities.len()).map(|at| slopes(&problems, at)).collect();
    let width = problems[0][0].encoding.len();
    let sets: Vec<ProblemRows> = problems.iter().map(|rows| ProblemRows::new(rows, &slopes, width)).collect();
    let mut law = Law::law_of_widths(width, quantities.len(), alone);
    for _ in 0..PASSES {
        law.improve(&sets);
    }
    let factor = cholesky(law.mean.len(), &|i, j| law.covariance[i][j]).concat();
    let own = |set: &ProblemRows| {
        law.mean.iter().zip(law.tell(set).deviation).map(|(mean, own)| (mean + own) as f32).collect()
    };
    let quantities = quantities.iter().zip(slopes).zip(&law.rest);
    Some(ErrorModel {
        kernel: kernel.into(),
        independent: alone,
        quantities: quantities
            .map(|((of, slopes), rest)| ErrorQuantity { objective: *of, slopes, rest: *rest })
            .collect(),
        mean: law.mean.iter().map(|x| *x as f32).collect(),
        factor: factor.into_iter().map(|x| x as f32).collect(),
        problems: sets.len(),
        coefficients: if alone { sets.iter().map(own).collect() } else { Vec::new() },
    })
}

/// Slopes of the logarithm of a cost, each problem with its own mean, the best configs counting most; held to small ones.
fn slopes(problems: &[Vec<FittedRow>], quantity: usize) -> [f64; 2] {
    let (mut square, mut right) = ([[1e-3, 0.0], [0.0, 1e-3]], [0.0; 2]);
    for rows in problems {
        let rows: Vec<&FittedRow> = rows.iter().filter(|row| row.quantity == quantity).collect();
        let least = rows.iter().map(|row| row.log).fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = rows.iter().map(|row| (2.0 * (least - row.log)).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mean =
            |of: &dyn Fn(&FittedRow) -> f64| rows.iter().zip(&weights).map(|(r, w)| w * of(r)).sum::<f64>() / total;
        let (log, x) = (mean(&|r| r.log), [mean(&|r| r.x[0]), mean(&|r| r.x[1])]);
        for (row, weight) in rows.iter().zip(&weights) {
            let d = [row.x[0] - x[0], row.x[1] - x[1]];
            for a in 0..2 {
                right[a] += weight / total * d[a] * (row.log - log);
                for b in 0..2 {
                    square[a][b] += weight / total * d[a] * d[b];
                }
            }
        }
    }
    let solved = solve(&cholesky(2, &|i, j| square[i][j]), &right);
    [solved[0], solved[1]]
}

/// A problem's rows: where each has its coefficients, their factors, and what the slopes leave.
struct ProblemRows<'a> {
    rows: Vec<(usize, &'a [f64])>,
    quantities: Vec<usize>,
    off: Vec<f64>,
}

impl<'a> ProblemRows<'a> {
    fn new(rows: &'a [FittedRow], slopes: &[[f64; 2]], width: usize) -> ProblemRows<'a> {
        ProblemRows {
            rows: rows.iter().map(|row| (row.quantity * width, &row.encoding[..])).collect(),
            quantities: rows.iter().map(|row| row.quantity).collect(),
            off: rows.iter().map(|row| row.log - dot(&slopes[row.quantity], &row.x)).collect(),
        }
    }
}

/// What coefficients are drawn from, and the variance of what they do not tell of each quantity.
struct Law {
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
    rest: Vec<f64>,
    width: usize,
    alone: bool,
}

/// What the rows of a problem tell of its coefficients: their covariances with each row, the factor of the rows' own, the rows' weights, and by
/// how much the coefficients are off the mean.
struct Told {
    cross: Vec<Vec<f64>>,
    factor: Vec<Vec<f64>>,
    weights: Vec<f64>,
    deviation: Vec<f64>,
}

/// Sums of expectations over problems.
struct Sums {
    deviation: Vec<f64>,
    square: Vec<Vec<f64>>,
    left: Vec<f64>,
    count: Vec<f64>,
}

impl Law {
    fn law_of_widths(width: usize, quantities: usize, alone: bool) -> Law {
        let all = width * quantities;
        let entry = |i: usize, j: usize| if i == j { prior_variance(i, width) } else { 0.0 };
        Law {
            mean: vec![0.0; all],
            covariance: (0..all).map(|i| (0..all).map(|j| entry(i, j)).collect()).collect(),
            rest: vec![0.02; quantities],
            width,
            alone,
        }
    }

    /// A pass of expectation and maximisation.
    fn improve(&mut self, sets: &[ProblemRows]) {
        let (all, quantities) = (self.mean.len(), self.rest.len());
        let mut sums = Sums {
            deviation: vec![0.0; all],
            square: vec![vec![0.0; all]; all],
            left: vec![0.0; quantities],
            count: vec![0.0; quantities],
        };
        sets.iter().for_each(|set| self.expect(set, &mut sums));
        // coefficients that stand alone are not held
        let holders = if self.alone { 0.0 } else { HOLDERS };
        let weight = sets.len() as f64 + holders;
        if self.alone {
            self.mean.iter_mut().zip(&sums.deviation).for_each(|(mean, sum)| *mean += sum / weight);
        }
        for (i, row) in self.covariance.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                let own = if i == j { holders * prior_variance(i, self.width) } else { 0.0 };
                *entry = (sums.square[i][j] + own) / weight;
            }
        }
        for (rest, (left, count)) in self.rest.iter_mut().zip(sums.left.iter().zip(&sums.count)) {
            *rest = (left / count.max(1.0)).max(1e-8);
        }
    }

    /// What a problem's rows tell of its coefficients.
    fn tell(&self, set: &ProblemRows) -> Told {
        let part = |row: &[f64], (at, encoding): (usize, &[f64])| dot(&row[at..at + encoding.len()], encoding);
        let cross: Vec<Vec<f64>> =
            set.rows.iter().map(|of| self.covariance.iter().map(|row| part(row, *of)).collect()).collect();
        let rest = |i: usize| self.rest[set.quantities[i]];
        let factor = cholesky(set.off.len(), &|i, j| part(&cross[i], set.rows[j]) + if i == j { rest(i) } else { 0.0 });
        let off: Vec<f64> = set.off.iter().zip(&set.rows).map(|(off, of)| off - part(&self.mean, *of)).collect();
        let weights = solve(&factor, &off);
        let mut deviation = vec![0.0; self.mean.len()];
        for (weight, c) in weights.iter().zip(&cross) {
            deviation.iter_mut().zip(c).for_each(|(sum, c)| *sum += weight * c);
        }
        Told { cross, factor, weights, deviation }
    }

    /// Adds what is expected of a problem's coefficients and of what they leave.
    fn expect(&self, set: &ProblemRows, sums: &mut Sums) {
        let Told { cross, factor, weights, deviation } = self.tell(set);
        let all = self.mean.len();
        // halves of what measuring takes from the covariance
        let column = |k: usize| cross.iter().map(|c| c[k]).collect::<Vec<f64>>();
        let halves: Vec<Vec<f64>> = (0..all).map(|k| forward(&factor, &column(k))).collect();
        for i in 0..all {
            sums.deviation[i] += deviation[i];
            for j in 0..all {
                sums.square[i][j] += self.covariance[i][j] - dot(&halves[i], &halves[j]) + deviation[i] * deviation[j];
            }
        }
        for (i, weight) in weights.iter().enumerate() {
            let quantity = set.quantities[i];
            let rest = self.rest[quantity];
            sums.left[quantity] += rest - rest * rest * inverse_at(&factor, i) + (rest * weight).powi(2);
            sums.count[quantity] += 1.0;
        }
    }
}

/// Variance that a coefficient is held to.
fn prior_variance(at: usize, width: usize) -> f64 {
    if at.is_multiple_of(width) { HELD[0] } else { HELD[1] / (width - 1).max(1) as f64 }
}

/// Diagonal entry of the inverse.
fn inverse_at(factor: &[Vec<f64>], at: usize) -> f64 {
    let mut x = vec![0.0; factor.len()];
    for i in at..factor.len() {
        let unit = if i == at { 1.0 } else { 0.0 };
        x[i] = (unit - dot(&factor[i][at..i], &x[at..i])) / factor[i][i];
    }
    dot(&x, &x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;

    #[test]
    fn slopes_mean_covariance_and_rest_of_drawn_problems_are_found() {
        let mut rng = test_generator(7);
        // sums of twelve uniform numbers are nearly normal
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let problem = |_| {
            let shift = 0.5 * normal();
            let tilt = 0.3 + 0.2 * normal() + 0.4 * shift;
            let row = |_| {
                let (x, place) = ([0.3 * normal(), 0.2 * normal()], 0.5 * normal());
                let log = 0.8 * x[0] - 0.5 * x[1] + shift + tilt * place + 0.05 * normal();
                FittedRow { quantity: 0, encoding: vec![1.0, place], log, x }
            };
            (0..30).map(row).collect()
        };
        let found = fit("k", &[Objective::Time], true, (0..400).map(problem).collect()).unwrap();
        let ErrorQuantity { slopes, rest, .. } = found.quantities[0];
        assert!((slopes[0] - 0.8).abs() < 0.1 && (slopes[1] + 0.5).abs() < 0.1, "{found:?}");
        assert!(found.mean[0].abs() < 0.08 && (found.mean[1] - 0.3).abs() < 0.05, "{found:?}");
        let [a, b, c] = [found.factor[0] as f64, found.factor[1] as f64, found.factor[2] as f64];
        assert!((a * a - 0.25).abs() < 0.04 && (a * b - 0.1).abs() < 0.03, "{found:?}");
        assert!((b * b + c * c - 0.08).abs() < 0.02 && (rest.sqrt() - 0.05).abs() < 0.01, "{found:?}");
    }
}
