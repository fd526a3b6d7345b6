//! Boosted trees on problem, config and their features: what a model has beside its networks.
//!
//! They rank all candidates, as the published predictors do, and err in other places than networks: both together are better than either
//! (docs/log). For training they label problems that nobody measured.

use crate::features::featurizer::Instance;
use crate::numeric::softmax::softmax;
use crate::posterior::cost_neighbours::{CostNeighbours, TreeOpinion};
use crate::trees::forest::{Forest, InStep};
use bincode::{Decode, Encode};
use seqtune_kernel::Objective;
use seqtune_kernel::elementary;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Config, Kernel, LIMIT_NAMES, hex};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The trees of one kernel and objective.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Trees {
    kernel: String,
    objective: Objective,
    /// Temperature of the soft target.
    tau: f64,
    /// The natural logarithm of a config's cost, but for an offset of its problem.
    values: Forest,
    /// What makes the soft target by a softmax over a problem's configs.
    lists: Forest,
    /// Hash of the columns' names.
    columns: String,
}

/// Names of the numbers of [`Instance::row`].
fn columns(kernel: &Kernel) -> Vec<&str> {
    let fields = kernel.fields.iter().map(|f| f.name.as_str());
    let parameters = kernel.parameters.iter().map(|p| p.name.as_str());
    fields.chain(parameters).chain(LIMIT_NAMES).chain(kernel.features.iter().map(|f| f.name.as_str())).collect()
}

fn stable_hash(names: &[&str]) -> String {
    hex(&Sha256::digest(names.join("\n"))[..8])
}

impl Trees {
    /// Trees of a kernel and an objective: forests of values and of lists, fitted towards the soft target of temperature `tau`.
    pub fn new(kernel: &Kernel, objective: Objective, tau: f64, values: Forest, lists: Forest) -> Trees {
        Trees { kernel: kernel.name.clone(), objective, tau, values, lists, columns: stable_hash(&columns(kernel)) }
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Refuses trees whose columns are not those that the kernel has now, or that are damaged.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) where they were fitted for another version of the kernel.
    pub fn check(&self, kernel: &Kernel) -> Result<()> {
        let columns = columns(kernel);
        let sound = [&self.values, &self.lists].into_iter().all(|forest| forest.is_sound(columns.len()));
        match self.columns == stable_hash(&columns) && sound && self.tau.is_finite() && self.tau > 0.0 {
            true => Ok(()),
            false => input(format!(
                "the features of kernel {} are not those that the model was trained with: train it again (what was swept stays good)",
                kernel.name
            )),
        }
    }

    /// Objective that the trees were fitted to.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// The trees for many configs at once; cost neighbours answer in their place.
    pub fn in_step(&self, neighbours: Option<Arc<CostNeighbours>>) -> TreesInStep {
        let Trees { objective, tau, values, lists, .. } = self;
        TreesInStep { objective: *objective, tau: *tau, values: values.in_step(), lists: lists.in_step(), neighbours }
    }
}

/// A config with its predicted cost.
#[derive(Clone, Copy, Debug)]
pub struct PredictedCost<'c> {
    /// The config.
    pub config: &'c Config,
    /// Natural logarithm of its cost, but for an offset of the problem.
    pub log: f64,
}

/// [`Trees`] for many configs at once.
pub struct TreesInStep {
    /// Objective that the trees were fitted to.
    pub objective: Objective,
    tau: f64,
    values: InStep,
    lists: InStep,
    neighbours: Option<Arc<CostNeighbours>>,
}

impl TreesInStep {
    /// What answers in the place of the trees.
    pub fn neighbours(&self) -> Option<&CostNeighbours> {
        self.neighbours.as_deref()
    }

    /// Configs of a problem, cheapest predicted first.
    pub fn rank<'c>(&self, instance: &Instance, configs: &[&'c Config]) -> Vec<PredictedCost<'c>> {
        let rows: Vec<f32> = configs.iter().flat_map(|config| instance.row(config)).collect();
        let values = self.values.predict(&rows, (rows.len() / configs.len().max(1)).max(1));
        let predicted = |(config, log): (&&'c Config, f32)| PredictedCost { config, log: f64::from(log) };
        let mut ranked: Vec<PredictedCost> = configs.iter().zip(values).map(predicted).collect();
        ranked.sort_by(|a, b| a.log.total_cmp(&b.log).then(a.config.cmp(b.config)));
        ranked
    }

    /// What the trees, or the cost neighbours, say of configs of one problem.
    pub fn weigh(&self, instance: &Instance, configs: &[Config]) -> Vec<TreeOpinion> {
        if let Some(neighbours) = &self.neighbours {
            return neighbours.weigh(instance, configs);
        }
        let rows: Vec<f32> = configs.iter().flat_map(|config| instance.row(config)).collect();
        let columns = (rows.len() / configs.len().max(1)).max(1);
        // what a cost is in the soft target
        let values: Vec<f64> =
            self.values.predict(&rows, columns).into_iter().map(|value| -value as f64 / self.tau).collect();
        let lists: Vec<f64> = self.lists.predict(&rows, columns).into_iter().map(f64::from).collect();
        let ln = |p: f64| elementary::ln(p.max(f64::MIN_POSITIVE));
        let pairs = softmax(&values, 1.0).into_iter().zip(softmax(&lists, 1.0));
        pairs.map(|(v, l)| TreeOpinion { logs: [ln(v), ln(l)], risk: None }).collect()
    }
}
