//! How far what a tuner chose reproduces.

use crate::tuned::answers::{TestSet, tuned_config};
use seqtune_data::MeasuredProblem;
use seqtune_data::formats::miopen::BATCH;
use serde::Serialize;
use std::collections::HashMap;

/// How far labels reproduce: the share of twins that were tuned to the same config, with their number. A lower bound of what a
/// perfect predictor could name: two draws agree less often than the likelier value is drawn. Twins whose config is illegal for
/// the other are not counted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Labels {
    /// Problems judged by and the one that differs from them in the batch size alone, at most by a factor of 2.
    pub batch: (f64, usize),
    /// The same problem on another device, legal there too.
    pub device: (f64, usize),
}

/// How far labels reproduce.
pub fn labels(asked: &TestSet) -> Labels {
    let kernel = asked.kernel;
    let batch = kernel.fields.iter().position(|f| f.name == BATCH);
    let mut twins: HashMap<(usize, String), Vec<&MeasuredProblem>> = HashMap::new();
    let mut elsewhere: HashMap<String, Vec<&MeasuredProblem>> = HashMap::new();
    let key = |t: &MeasuredProblem| {
        let mut problem = t.problem.clone();
        if let Some(i) = batch {
            problem.values[i] = 1.0;
        }
        (t.device, kernel.show_problem(&problem))
    };
    for tried in asked.table.problems.iter().filter(|t| t.tuned_config().is_some()) {
        twins.entry(key(tried)).or_default().push(tried);
        elsewhere.entry(kernel.show_problem(&tried.problem)).or_default().push(tried);
    }
    let mut labels = Labels::default();
    let interchangeable = |a: &MeasuredProblem, b: &MeasuredProblem| {
        asked.is_legal(tuned_config(a), b) && asked.is_legal(tuned_config(b), a)
    };
    let count = |(share, n): &mut (f64, usize), same: bool| {
        *share += same as u8 as f64;
        *n += 1;
    };
    for tried in &asked.judged {
        if let Some(i) = batch {
            let ratio = |t: &MeasuredProblem| (t.problem.values[i] / tried.problem.values[i]).log2().abs();
            let others = twins.get(&key(tried)).into_iter().flatten().filter(|t| ratio(t) > 0.0 && ratio(t) <= 1.0);
            if let Some(twin) =
                others.filter(|t| interchangeable(t, tried)).min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            {
                count(&mut labels.batch, tuned_config(twin) == tuned_config(tried));
            }
        }
        let others = elsewhere.get(&kernel.show_problem(&tried.problem)).into_iter().flatten();
        for other in others.filter(|t| t.device != tried.device && interchangeable(t, tried)) {
            count(&mut labels.device, tuned_config(other) == tuned_config(tried));
        }
    }
    for (share, n) in [&mut labels.batch, &mut labels.device] {
        *share /= (*n).max(1) as f64;
    }
    labels
}
