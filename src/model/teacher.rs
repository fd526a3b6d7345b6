//! A cost model that generalises over configs: boosted trees on problem, config and their features.
//!
//! Alone it ranks all candidates, as the published predictors do. For training it labels problems that nobody measured:
//! sizes between the measured ones, and every config that was measured for any problem.

use super::speller::Spelled;
use crate::dataset::{Objective, Table, Tried};
use crate::error::{Error, Result};
use crate::kernel::spec::FieldKind;
use crate::kernel::{Config, Kernel, Problem};
use forust_ml::{GradientBooster, Matrix, objective::ObjectiveType, sampler::SampleMethod};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Boosted trees that predict ln(cost) of a config, relative to the mean of its problem.
pub struct Teacher<'k> {
    kernel: &'k Kernel,
    trees: Vec<GradientBooster>,
}

/// Fits of different seeds that are averaged.
const MEMBERS: u64 = 3;

impl<'k> Teacher<'k> {
    /// Fits the problems `indices` of a table. Fast configs weigh more: the order at the top is what is asked for.
    pub fn fit(
        kernel: &'k Kernel,
        table: &Table,
        indices: &[usize],
        objective: Objective,
        seed: u64,
    ) -> Result<Teacher<'k>> {
        let (mut rows, mut target, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for tried in indices.iter().map(|i| &table.tried[*i]) {
            let costs = tried.costs(objective);
            let mean = costs.iter().map(|(_, c)| c.ln()).sum::<f64>() / costs.len() as f64;
            let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
            for (config, cost) in &costs {
                rows.push(row(kernel, &tried.problem, &spelled, config));
                target.push(cost.ln() - mean);
                weights.push(0.1 + (-(cost / costs[0].1 - 1.0)).exp());
            }
        }
        let (data, columns) = column_major(&rows);
        let (data, rows, target, weights) = (&data, rows.len(), &target, &weights);
        let fit = move |member: u64| {
            let mut trees = GradientBooster::default()
                .set_objective_type(ObjectiveType::SquaredLoss)
                .set_iterations(400)
                .set_learning_rate(0.06)
                .set_max_depth(9)
                .set_max_leaves(40)
                .set_sample_method(SampleMethod::Random)
                .set_subsample(0.7)
                .set_colsample_bytree(0.6)
                // in parallel its sums depend on the schedule
                .set_parallel(false)
                .set_seed(seed.wrapping_add(member));
            trees
                .fit(&Matrix::new(data, rows, columns), target, weights, None)
                .map_err(|e| Error::Failed(format!("fitting boosted trees: {e}")))?;
            Ok(trees)
        };
        let trees: Result<Vec<GradientBooster>> = std::thread::scope(|scope| {
            let fits: Vec<_> = (0..MEMBERS).map(|member| scope.spawn(move || fit(member))).collect();
            let died = |_| Error::Failed("a thread that fits boosted trees panicked".into());
            fits.into_iter().map(|thread| thread.join().map_err(died)?).collect()
        });
        Ok(Teacher { kernel, trees: trees? })
    }

    /// Predicted ln(cost) of each config, comparable within the problem.
    pub fn costs(&self, problem: &Problem, spelled: &Spelled, configs: &[&Config]) -> Vec<f64> {
        let rows: Vec<Vec<f64>> = configs.iter().map(|c| row(self.kernel, problem, spelled, c)).collect();
        let (data, columns) = column_major(&rows);
        let data = Matrix::new(&data, rows.len(), columns);
        let mut sums = vec![0.0; rows.len()];
        for trees in &self.trees {
            sums.iter_mut().zip(trees.predict(&data, true)).for_each(|(sum, cost)| *sum += cost);
        }
        sums.iter().map(|sum| sum / self.trees.len() as f64).collect()
    }

    /// `configs`, cheapest predicted first, with their predicted ln(cost).
    pub fn rank<'c>(&self, problem: &Problem, spelled: &Spelled, configs: &[&'c Config]) -> Vec<(&'c Config, f64)> {
        let mut ranked: Vec<(&Config, f64)> =
            configs.iter().copied().zip(self.costs(problem, spelled, configs)).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(b.0)));
        ranked
    }
}

/// A problem between measured ones: each size log-uniform between those of two random problems, choices of the first, and
/// now and then rounded to a power of two or a multiple of 16, as people's sizes are.
pub fn between(kernel: &Kernel, tried: &[&Tried], rng: &mut ChaCha8Rng) -> (Problem, usize) {
    for _ in 0..100 {
        let a = tried[rng.random_range(0..tried.len())];
        let b = tried[rng.random_range(0..tried.len())];
        let mut problem = a.problem.clone();
        for ((field, value), other) in kernel.fields.iter().zip(&mut problem.values).zip(&b.problem.values) {
            if field.kind == FieldKind::Size && value != other {
                // sizes mix independently, so that a thin problem and a square one give thin and square ones too
                let t: f64 = [0.0, 1.0, rng.random()][rng.random_range(0..3)];
                let x = ((*value + 1.0).ln() * (1.0 - t) + (other + 1.0).ln() * t).exp() - 1.0;
                let x = match rng.random_range(0..3) {
                    0 => 2f64.powf(x.max(1.0).log2().round()),
                    1 if x >= 16.0 => (x / 16.0).round() * 16.0,
                    _ => x.round(),
                };
                *value = x.clamp(field.min as f64, field.max as f64);
            }
        }
        // reading it back applies the kernel's rules
        if let Ok(problem) = kernel.problem(&kernel.show_problem(&problem)) {
            return (problem, a.device);
        }
    }
    let a = tried[rng.random_range(0..tried.len())];
    (a.problem.clone(), a.device)
}

/// A problem and a config as numbers: sizes as logarithms, the config's values, the device's limits, all features.
pub fn row(kernel: &Kernel, problem: &Problem, spelled: &Spelled, config: &Config) -> Vec<f64> {
    let fields = kernel.fields.iter().zip(&problem.values);
    let mut row: Vec<f64> =
        fields.map(|(f, v)| if f.kind == FieldKind::Size { (v + 1.0).log2() } else { *v }).collect();
    row.extend(kernel.parameters.iter().zip(&config.0).map(|(p, c)| p.values[*c as usize] as f64));
    row.extend(spelled.limits());
    row.extend(spelled.features_of(config));
    row
}

fn column_major(rows: &[Vec<f64>]) -> (Vec<f64>, usize) {
    let columns = rows.first().map_or(0, Vec::len);
    ((0..columns).flat_map(|c| rows.iter().map(move |r| r[c])).collect(), columns)
}
