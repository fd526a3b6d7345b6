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

    /// The natural logarithm of how probably each of the configs is the best of them: what both forests hold probable, multiplied.
    pub fn weigh(&self, spelled: &Spelled, configs: &[Config]) -> Vec<f64> {
        let merit = |config: &Config| {
            let row = spelled.row(config);
            // what a cost is in the soft target
            self.lists.say(&row) as f64 - self.values.say(&row) as f64 / self.tau
        };
        let merits: Vec<f64> = configs.iter().map(merit).collect();
        softmax(&merits, 1.0).into_iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect()
    }
}

/// What is known of problems, as trees learn it.
fn samples(kernel: &Kernel, table: &Table, problems: &[usize], objective: Objective, aim: Aim) -> Samples {
    let (mut samples, mut lists) = (Samples::default(), Vec::new());
    let (mut values, mut shares) = (Vec::new(), Vec::new());
    for tried in problems.iter().map(|i| &table.tried[*i]) {
        let costs = tried.costs(objective);
        let Some((_, best)) = costs.first().copied() else { continue };
        let mean = costs.iter().map(|(_, cost)| cost.ln()).sum::<f64>() / costs.len() as f64;
        let spelled = Spelled::new(kernel, &tried.problem, &table.devices[tried.device]);
        for (config, cost) in &costs {
            let row = spelled.row(config);
            samples.columns = row.len();
            samples.rows.extend(row);
            // fast configs weigh more: the order at the top is what is asked for
            values.push(((cost.ln() - mean) as f32, (0.1 + (-(cost / best - 1.0)).exp()) as f32));
        }
        if let Aim::Lists(tau) = aim {
            let relative: Vec<f64> = costs.iter().map(|(_, cost)| cost / best).collect();
            shares.extend(distribution(&relative, Some(tau)));
        }
        lists.push(costs.len());
    }
    samples.goal = if aim == Aim::Values { Goal::Values(values) } else { Goal::Lists(lists, shares) };
    samples
}
