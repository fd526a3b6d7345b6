//! Boosted trees beside the networks of tuned configs: how probable each legal value of a parameter is after those before it.
//!
//! A forest for each parameter gives every legal value a score by problem, prefix and what the value decides; the softmax over the values is fitted
//! to what was tuned (ListNet, Cao et al. 2007). Of some ten thousand problems trees and networks together need fewer nats than either (docs/log).

use seqtune_data::{Table, TriedConfig};
use seqtune_fit::gbdt::{ListRows, fit_lists};
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Choice, Objective};
use seqtune_predict::features::{Featurizer, Instance};
use seqtune_predict::numeric::softmax::softmax;
use seqtune_predict::trees::InStep;

/// Rows of a forest at most, of all values of its parameter: of one with hundreds of values fewer problems are seen.
const MOST_ROWS: usize = 1_000_000;

/// Forests of one kernel.
pub struct Chain {
    /// By position; `None` where there was never a choice.
    forests: Vec<Option<InStep>>,
}

/// Rows of the choices of problems at one position, list after list.
#[derive(Default)]
struct Lists {
    columns: usize,
    rows: Vec<f32>,
    counts: Vec<usize>,
    tuned: Vec<f32>,
}

impl Chain {
    /// Fits on the tuned configs of problems `train` until those of the `held` out ones are no more probable.
    ///
    /// # Errors
    /// The error of a look ahead in the space.
    pub fn fit(featurizer: &Featurizer, table: &Table, train: &[usize], held: &[usize], seed: u64) -> Result<Chain> {
        let positions: Vec<usize> = (0..featurizer.kernel.parameters.len()).collect();
        let forests = on_threads(&positions, cores(), |at| {
            let known = lists(featurizer, table, train, *at)?;
            if known.counts.is_empty() {
                return Ok(None);
            }
            let held = lists(featurizer, table, held, *at)?;
            let of = |lists: Lists| ListRows { rows: lists.rows, counts: lists.counts, shares: lists.tuned };
            Ok(Some(fit_lists(known.columns, of(known), of(held), seed).in_step()))
        })?;
        Ok(Chain { forests })
    }

    /// Natural logarithms of the probabilities of `choices` after a prefix, of a problem with these quantities; `None` where the trees saw no choice.
    pub fn log(
        &self,
        featurizer: &Featurizer,
        instance: &Instance,
        quantities: &[f32],
        prefix: &[Choice],
        choices: &[Choice],
    ) -> Option<Vec<f64>> {
        let forest = self.forests[prefix.len()].as_ref()?;
        let mut rows = Vec::new();
        choices.iter().for_each(|choice| row(featurizer, instance, quantities, prefix, *choice, &mut rows));
        let scores: Vec<f64> = forest.predict(&rows, rows.len() / choices.len()).into_iter().map(f64::from).collect();
        Some(softmax(&scores, 1.0).into_iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect())
    }
}

/// What may be chosen at a position of each problem after its tuned prefix, where there is a choice.
fn lists(featurizer: &Featurizer, table: &Table, problems: &[usize], at: usize) -> Result<Lists> {
    let mut lists = Lists::default();
    let most = MOST_ROWS / featurizer.kernel.parameters[at].values.len().max(1);
    for i in problems.iter().step_by(problems.len().div_ceil(most.max(1)).max(1)) {
        let tried = &table.problems[*i];
        let Some(TriedConfig { config, .. }) = tried.tuned_config() else { continue };
        let instance = Instance::new(&featurizer.kernel, &tried.problem, &table.devices[tried.device]);
        let open = instance.space.completions(&config.0[..at])?;
        if open.only().is_some() {
            continue;
        }
        let quantities = featurizer.quantities(&instance, Objective::Time);
        for choice in open.iter() {
            let first = lists.rows.len();
            row(featurizer, &instance, &quantities, &config.0[..at], choice, &mut lists.rows);
            lists.columns = lists.rows.len() - first;
            lists.tuned.push((choice == config.0[at]) as u8 as f32);
        }
        lists.counts.push(open.len());
    }
    Ok(lists)
}

/// Appends what trees see of a choice after a prefix: the problem, the values so far, and the features that they decide.
fn row(
    featurizer: &Featurizer,
    instance: &Instance,
    quantities: &[f32],
    prefix: &[Choice],
    choice: Choice,
    out: &mut Vec<f32>,
) {
    let first = out.len();
    let chosen: Vec<Choice> = prefix.iter().copied().chain([choice]).collect();
    out.extend(quantities);
    out.extend(featurizer.kernel.parameters.iter().zip(&chosen).map(|(p, c)| p.values[*c as usize] as f32));
    featurizer.push_known(instance, &chosen, out);
    // what is not known is lower than any number
    out[first..].iter_mut().for_each(|x| *x = if x.is_nan() { f32::MIN } else { x.clamp(f32::MIN, f32::MAX) });
}
