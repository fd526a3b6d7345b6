//! Boosted trees on problem, config and their features: what a model has beside its networks.
//!
//! They rank all candidates, as the published predictors do, and err in other places than networks: both together are better than either
//! (LOG.md). For training they label problems that nobody measured.

use super::calibration::softmax;
use super::examples::distribution;
use super::forest::{Forest, Samples};
use super::goal::Goal;
use super::speller::Spelled;
use crate::dataset::{Objective, Table};
use crate::error::{Error, Result, input};
use crate::kernel::{Config, Kernel, LIMIT_NAMES, hex};
use crate::threads::on_threads;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The trees of one kernel and objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trees {
    kernel: String,
    objective: Objective,
    /// Temperature of the soft target.
    tau: f64,
    /// The natural logarithm of a config's cost, relative to the mean of its problem.
    values: Forest,
    /// What makes the soft target by a softmax over a problem's configs.
    lists: Forest,
    /// Hash of the columns' names.
    columns: String,
}

/// Names of the numbers of [`Spelled::row`].
fn columns(kernel: &Kernel) -> Vec<&str> {
    let fields = kernel.fields.iter().map(|f| f.name.as_str());
    let parameters = kernel.parameters.iter().map(|p| p.name.as_str());
    fields.chain(parameters).chain(LIMIT_NAMES).chain(kernel.features.iter().map(|f| f.name.as_str())).collect()
}

fn stable_hash(names: &[&str]) -> String {
    hex(&Sha256::digest(names.join("\n"))[..8])
}

/// What a forest is fitted to.
#[derive(Clone, Copy, PartialEq)]
enum Aim {
    Values,
    /// The soft target of this temperature.
    Lists(f64),
}

impl Trees {
    /// Fits the problems `train` of a table; `held` out ones say when it is enough. `tau` is the temperature of the soft target.
    pub fn fit(
        kernel: &Kernel,
        table: &Table,
        (train, held): (&[usize], &[usize]),
        (objective, tau): (Objective, f64),
        (seed, threads): (u64, usize),
    ) -> Result<Trees> {
        let fit = |aim: &Aim| {
            let of = |problems: &[usize]| samples(kernel, table, problems, objective, *aim);
            Ok(Forest::fit(&of(train), &of(held), seed))
        };
        let forests = on_threads(&[Aim::Values, Aim::Lists(tau)], threads, fit)?;
        let [values, lists] = forests
            .try_into()
            .map_err(|_| Error::Failed("fitting boosted trees: not as many forests as were asked for".into()))?;
        Ok(Trees { kernel: kernel.name.clone(), objective, tau, values, lists, columns: stable_hash(&columns(kernel)) })
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Refuses trees whose columns are not those that the kernel has now, or that are damaged.
    pub fn check(&self, kernel: &Kernel) -> Result<()> {
        let columns = columns(kernel);
        let sound = [&self.values, &self.lists].into_iter().all(|forest| forest.is_sound(columns.len()));
        match self.columns == stable_hash(&columns) && sound {
            true => Ok(()),
            false => input(format!(
                "the model's trees were made for other features of kernel {}, or are damaged; fetch or train it again",
                kernel.name
            )),
        }
    }

    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Configs of a problem, cheapest predicted first, with the natural logarithm of their cost beside the problem's mean.
    pub fn rank<'c>(&self, spelled: &Spelled, configs: &[&'c Config]) -> Vec<(&'c Config, f64)> {
        let mut ranked: Vec<(&Config, f64)> =
            configs.iter().map(|config| (*config, self.values.say(&spelled.row(config)) as f64)).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(b.0)));
        ranked
    }

    /// The natural logarithms of how probably each of the configs is the best of them: by the values, and by the lists.
    pub fn weigh(&self, spelled: &Spelled, configs: &[Config]) -> Vec<[f64; 2]> {
        let said = |config: &Config| {
            let row = spelled.row(config);
            // what a cost is in the soft target
            (-self.values.say(&row) as f64 / self.tau, self.lists.say(&row) as f64)
        };
        let (values, lists): (Vec<f64>, Vec<f64>) = configs.iter().map(said).unzip();
        let ln = |p: f64| p.max(f64::MIN_POSITIVE).ln();
        softmax(&values, 1.0).into_iter().zip(softmax(&lists, 1.0)).map(|(v, l)| [ln(v), ln(l)]).collect()
    }
}

/// Of each problem the numbers that trees see of its working configs, and these configs' costs; cheapest first.
pub fn known<'a>(
    kernel: &'a Kernel,
    table: &'a Table,
    problems: &'a [usize],
    objective: Objective,
) -> impl Iterator<Item = (Vec<Vec<f32>>, Vec<f64>)> + 'a {
    problems.iter().map(move |i| {
        let tried = &table.tried[*i];
        let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
        tried.costs(objective).into_iter().map(|(config, cost)| (spelled.row(config), cost)).unzip()
    })
}

/// Natural logarithms of costs, less their mean.
pub fn centred(costs: &[f64]) -> Vec<f64> {
    let mean = costs.iter().map(|cost| cost.ln()).sum::<f64>() / costs.len() as f64;
    costs.iter().map(|cost| cost.ln() - mean).collect()
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
            Aim::Values => values.extend(
                centred(&costs)
                    .iter()
                    .zip(&relative)
                    .map(|(ln, times)| (*ln as f32, (0.1 + (1.0 - times).exp()) as f32)),
            ),
            Aim::Lists(tau) => shares.extend(distribution(&relative, Some(tau))),
        }
        lists.push(costs.len());
    }
    samples.goal = if aim == Aim::Values { Goal::Values(values) } else { Goal::Lists(lists, shares) };
    samples
}
