//! Measured configs as the sequences that the network is trained on and scored by.

pub mod batch;
pub mod drawn;
pub mod groups;
pub mod prefix_tree;
pub mod vocabulary;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{MeasuredProblem, Outcome, Table, TriedConfig};
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, Kernel, Problem};
use seqtune_predict::features::{Featurizer, Instance, Sequence};
use seqtune_predict::numeric::softmax::distribution;
use seqtune_predict::trees::TreesInStep;

/// How often an epoch sees a problem that a model is to learn beside what it knows, at most.
const MOST_REPEATS: usize = 10;

/// All that was measured for one problem and one objective.
pub struct Example {
    /// Raw, see [`Featurizer::quantities`].
    pub quantities: Vec<f32>,
    /// A sequence for each config, in the order of cost.
    pub sequences: Vec<Sequence>,
    /// Target distribution over the sequences; sums to 1.
    pub target: Vec<f32>,
    /// What the heads should say of the time and energy of each; NaN where it is not known.
    pub costs: Vec<[f32; 2]>,
    /// Cost relative to the best, 1 for the best.
    pub cost: Vec<f64>,
    /// Whether the target is among all legal configs, not only among the measured ones: of what was measured, the others are
    /// known to be worse; of what a tuner or the trees chose from, all the rest is.
    pub among_legal: bool,
}

/// One kernel's share of the training.
pub struct KernelData {
    /// Encoder of the kernel.
    pub featurizer: Featurizer,
    /// Examples to learn from.
    pub training: Vec<Example>,
    /// Examples that choose the weights to keep.
    pub validation: Vec<Example>,
    /// Sequences of each problem per update, and problems per update.
    pub rows: usize,
    /// Problems per update.
    pub batch: usize,
}

/// One example per problem of `indices` and objective that was measured, on all cores. With `tau`, the target is
/// p ~ exp(-(cost / best - 1) / tau); without, all of it is on the best config.
///
/// # Errors
/// `Error::Config` where a measured config is illegal.
pub fn examples(
    featurizer: &Featurizer,
    table: &Table,
    indices: &[usize],
    objectives: &[Objective],
    tau: Option<f64>,
) -> Result<Vec<Example>> {
    let make = |i: &usize| {
        let tried = &table.problems[*i];
        let instance = Instance::new(&featurizer.kernel, &tried.problem, &table.devices[tried.device]);
        let mut examples = Vec::new();
        for objective in objectives {
            let costs = tried.costs(*objective);
            let Some(best) = costs.first().map(|known| known.cost) else { continue };
            let cost: Vec<f64> = costs.iter().map(|known| known.cost / best).collect();
            let known = |config: &Config| {
                let outcome = tried.outcome(config);
                featurizer.encode_costs(
                    &instance,
                    outcome.and_then(Outcome::time_us),
                    outcome.and_then(Outcome::joules),
                )
            };
            let sequences = costs.iter().map(|known| Sequence::new(featurizer, &instance, known.config, true));
            examples.push(Example {
                quantities: featurizer.quantities(&instance, *objective),
                sequences: sequences.collect::<Result<_>>()?,
                target: distribution(&cost, tau),
                costs: costs.iter().map(|cost| known(cost.config)).collect(),
                cost,
                among_legal: false,
            });
        }
        Ok(examples)
    };
    Ok(on_threads(indices, cores(), make)?.into_iter().flatten().collect())
}

/// One example per problem of `indices` that a tuner chose a config for, on all cores.
///
/// # Errors
/// `Error::Config` where a tuned config is illegal.
pub fn tuned_examples(featurizer: &Featurizer, table: &Table, indices: &[usize]) -> Result<Vec<Example>> {
    let make = |i: &usize| {
        let tried = &table.problems[*i];
        let instance = Instance::new(&featurizer.kernel, &tried.problem, &table.devices[tried.device]);
        let Some(TriedConfig { config, outcome }) = tried.tuned_config() else {
            return input("a problem has no tuned config");
        };
        Ok(Example {
            quantities: featurizer.quantities(&instance, Objective::Time),
            sequences: vec![Sequence::new(featurizer, &instance, config, false)?],
            target: vec![1.0],
            costs: vec![featurizer.encode_costs(&instance, outcome.time_us(), None)],
            cost: vec![1.0],
            among_legal: true,
        })
    };
    on_threads(indices, cores(), make)
}

/// What examples of unmeasured problems are made from.
pub struct PseudoLabels<'a> {
    /// Encoder of the kernel.
    pub featurizer: &'a Featurizer,
    /// The measured problems.
    pub table: &'a Table,
    /// Measured problems that new ones are drawn between.
    pub indices: &'a [usize],
    /// Quantity that the trees predict.
    pub objective: Objective,
    /// Trees that label.
    pub trees: &'a TreesInStep,
    /// Configs that the trees are asked about, see [`contenders`].
    pub contenders: &'a [&'a Config],
}

impl PseudoLabels<'_> {
    /// Examples of `count` problems: the trees say what each contender would cost, and the best `keep` make up the target
    /// as in [`examples`]. They say nothing of the time.
    ///
    /// # Errors
    /// `Error::Config` where a config is illegal.
    pub fn examples(&self, count: usize, keep: usize, tau: Option<f64>, rng: &mut ChaCha8Rng) -> Result<Vec<Example>> {
        let tried: Vec<&MeasuredProblem> = self.indices.iter().map(|i| &self.table.problems[*i]).collect();
        // drawn one after the other, so that the same seed gives the same on any number of cores
        let drawn: Vec<UnmeasuredProblem> =
            (0..count).map(|_| draw_between(&self.featurizer.kernel, &tried, rng)).collect();
        Ok(on_threads(&drawn, cores(), |drawn| self.example(drawn, keep, tau))?.into_iter().flatten().collect())
    }

    /// The example of a problem; none where fewer than two contenders are legal.
    fn example(&self, drawn: &UnmeasuredProblem, keep: usize, tau: Option<f64>) -> Result<Option<Example>> {
        let UnmeasuredProblem { problem, device } = drawn;
        let instance = Instance::new(&self.featurizer.kernel, problem, &self.table.devices[*device]);
        let legal: Vec<&Config> = self.contenders.iter().copied().filter(|c| instance.space.is_legal(c)).collect();
        if legal.len() < 2 {
            return Ok(None);
        }
        let mut ranked = self.trees.rank(&instance, &legal);
        ranked.truncate(keep);
        let cost: Vec<f64> = ranked.iter().map(|predicted| (predicted.log - ranked[0].log).exp()).collect();
        Ok(Some(Example {
            quantities: self.featurizer.quantities(&instance, self.objective),
            sequences: ranked
                .iter()
                .map(|predicted| Sequence::new(self.featurizer, &instance, predicted.config, true))
                .collect::<Result<_>>()?,
            target: distribution(&cost, tau),
            costs: vec![[f32::NAN; 2]; ranked.len()],
            cost,
            among_legal: true,
        }))
    }
}

/// A problem of which nothing was measured.
pub(crate) struct UnmeasuredProblem {
    /// The problem.
    pub problem: Problem,
    /// Index of its device in the table.
    pub device: usize,
}

/// A problem between measured ones: each size log-uniform between those of two random problems, choices of the first, and
/// now and then rounded to a power of two or a multiple of 16, as people's sizes are.
pub(crate) fn draw_between(kernel: &Kernel, tried: &[&MeasuredProblem], rng: &mut ChaCha8Rng) -> UnmeasuredProblem {
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
            return UnmeasuredProblem { problem, device: a.device };
        }
    }
    let a = tried[rng.random_range(0..tried.len())];
    UnmeasuredProblem { problem: a.problem.clone(), device: a.device }
}

/// Problems to go on with: those of datasets that a model did not learn from come several times, so that they count as much as the `known`,
/// but no more than `MOST_REPEATS` times.
pub fn oversample_new(table: &Table, train: &[usize], known: &[String]) -> Vec<usize> {
    let is_known = |i: &usize| known.contains(&table.hashes[table.problems[*i].dataset]);
    let (old, new): (Vec<usize>, Vec<usize>) = train.iter().partition(|i| is_known(i));
    let times = (old.len() / new.len().max(1)).clamp(1, MOST_REPEATS);
    [old, new.repeat(times)].concat()
}

/// Configs that somewhere came within twice the best cost: others need not be asked about.
pub fn contenders<'t>(table: &'t Table, indices: &[usize], objective: Objective) -> Vec<&'t Config> {
    let mut known = Vec::new();
    for tried in indices.iter().map(|i| &table.problems[*i]) {
        let costs = tried.costs(objective);
        let near = costs.iter().take_while(|own| own.cost <= 2.0 * costs[0].cost);
        known.extend(near.map(|own| own.config));
    }
    known.sort();
    known.dedup();
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_did_not_learn_from_counts_as_much_as_what_it_did_up_to_a_limit() {
        let table = |old: usize, new: usize| Table {
            devices: Vec::new(),
            problems: (0..old + new)
                .map(|i| MeasuredProblem {
                    problem: Problem { values: Vec::new() },
                    device: 0,
                    dataset: (i >= old) as usize,
                    results: Vec::new(),
                    library_us: None,
                })
                .collect(),
            hashes: vec!["old".into(), "new".into()],
        };
        let drawn = |old: usize, new: usize, known: &[&str]| {
            let known: Vec<String> = known.iter().map(|k| k.to_string()).collect();
            let train: Vec<usize> = (0..old + new).collect();
            let drawn = oversample_new(&table(old, new), &train, &known);
            (drawn.iter().filter(|i| **i < old).count(), drawn.iter().filter(|i| **i >= old).count())
        };
        assert_eq!(drawn(30, 6, &["old"]), (30, 30));
        assert_eq!(drawn(300, 6, &["old"]), (300, 60), "ten times at most");
        assert_eq!(drawn(5, 20, &["old"]), (5, 20));
        assert_eq!(drawn(30, 6, &["old", "new"]), (30, 6), "nothing is new");
        assert_eq!(drawn(30, 6, &[]), (30, 6), "everything is");
    }
}
