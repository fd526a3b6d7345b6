//! Boosted trees that rank all candidates: the published competitor of a sequence model.

use crate::dataset::{Objective, Table, Tried};
use crate::error::{Error, Result};
use crate::kernel::spec::FieldKind;
use crate::kernel::{Config, Kernel};
use crate::model::vocab::{Spelled, Vocab};
use forust_ml::{GradientBooster, Matrix, objective::ObjectiveType};

/// Regression of the centred logarithm of the cost on problem, config and the same features that the model sees.
pub struct Trees(GradientBooster);

impl Trees {
    /// `None` where there is nothing to learn from.
    pub fn fit(
        kernel: &Kernel,
        table: &Table,
        learned: &[&Tried],
        objective: Objective,
        seed: u64,
    ) -> Result<Option<Trees>> {
        let (mut rows, mut target) = (Vec::new(), Vec::new());
        for tried in learned {
            let costs = tried.costs(objective);
            let mean = costs.iter().map(|(_, c)| c.ln()).sum::<f64>() / costs.len() as f64;
            let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
            for (config, cost) in &costs {
                rows.push(row(kernel, table, tried, &spelled, config));
                target.push(cost.ln() - mean);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let mut trees = GradientBooster::default()
            .set_objective_type(ObjectiveType::SquaredLoss)
            .set_iterations(600)
            .set_learning_rate(0.05)
            .set_max_depth(8)
            .set_max_leaves(63)
            .set_subsample(0.8)
            .set_seed(seed);
        let (data, columns) = column_major(&rows);
        trees
            .fit_unweighted(&Matrix::new(&data, rows.len(), columns), &target, None)
            .map_err(|e| Error::Failed(format!("fitting boosted trees: {e}")))?;
        Ok(Some(Trees(trees)))
    }

    /// The configs measured for a problem, cheapest predicted first.
    pub fn rank(&self, kernel: &Kernel, table: &Table, tried: &Tried, objective: Objective) -> Result<Vec<Config>> {
        let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
        let configs: Vec<&Config> = tried.costs(objective).into_iter().map(|(c, _)| c).collect();
        let rows: Vec<Vec<f64>> = configs.iter().map(|c| row(kernel, table, tried, &spelled, c)).collect();
        let (data, columns) = column_major(&rows);
        let predicted = self.0.predict(&Matrix::new(&data, rows.len(), columns), false);
        let mut order: Vec<(usize, f64)> = predicted.into_iter().enumerate().collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1).then(configs[a.0].cmp(configs[b.0])));
        Ok(order.into_iter().map(|(i, _)| configs[i].clone()).collect())
    }
}

fn row(kernel: &Kernel, table: &Table, tried: &Tried, spelled: &Spelled, config: &Config) -> Vec<f64> {
    let fields = kernel.fields.iter().zip(&tried.problem.values);
    let mut row: Vec<f64> =
        fields.map(|(f, v)| if f.kind == FieldKind::Size { (v + 1.0).log2() } else { *v }).collect();
    row.extend(kernel.parameters.iter().zip(&config.0).map(|(p, c)| p.values[*c as usize] as f64));
    row.extend(table.devices[tried.device].limits.values().map(|v| v.unwrap_or(f64::NAN)));
    row.extend(Vocab::features_of(kernel, spelled, config));
    row
}

fn column_major(rows: &[Vec<f64>]) -> (Vec<f64>, usize) {
    let columns = rows.first().map_or(0, Vec::len);
    ((0..columns).flat_map(|c| rows.iter().map(move |r| r[c])).collect(), columns)
}
