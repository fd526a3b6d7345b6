//! The model beside what tuning the same problems another time chose: labels that near ties change are no measure of a choice.

use seqtune_data::{MeasuredProblem, Table};
use seqtune_eval::tuned::answers::{Answer, TestSet, tuned_config};
use seqtune_kernel::Config;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_predict::{Predictor, Query};
use serde::Serialize;
use std::collections::HashMap;

/// A parameter that tuning again changes in at most this share of the problems is one that it keeps.
const KEPT: f64 = 0.1;

/// Width of the beam whose probabilities are added up.
const WIDTH: usize = 320;

/// How far tuning again names the same config, and the model either.
#[derive(Clone, Debug, Serialize)]
pub struct Retuned {
    /// Problems that were tuned twice, whether held out or not.
    pub problems: usize,
    /// Share of them that were tuned alike.
    pub agree: f64,
    /// Names of the parameters that tuning again keeps in nine tenths of them.
    pub kept: Vec<String>,
    /// Share of them whose kept parameters agree, all of them together.
    pub agree_in_kept: f64,
    /// The held-out ones among them.
    pub judged: usize,
    /// Share of these whose other tuning is the tuned config.
    pub again: f64,
    /// Share of these whose tuned config is the model's first choice.
    pub exact: f64,
    /// Share of these whose tuned config, or what the other tuning chose, is the model's first choice.
    pub either: f64,
    /// Share of these where the model's first choice agrees with the tuned config in the kept parameters.
    pub exact_in_kept: f64,
    /// Mean probability that the model gives to the configs that agree with the tuned one in the kept parameters.
    pub probability_of_kept: f64,
}

/// Judges answers by a table of other tunings of the same problems; `None` where no held-out problem is in it.
///
/// # Errors
/// The error of a prediction.
pub fn judge_by_retuned(
    asked: &TestSet,
    other: &Table,
    predictor: &Predictor,
    answers: &[Answer],
    threads: usize,
) -> Result<Option<Retuned>> {
    let kernel = asked.kernel;
    let key =
        |table: &Table, t: &MeasuredProblem| (table.devices[t.device].name.clone(), kernel.show_problem(&t.problem));
    let others: HashMap<(String, String), &Config> =
        other.problems.iter().filter_map(|t| Some((key(other, t), &t.tuned_config()?.config))).collect();
    let twice = |t: &MeasuredProblem| others.get(&key(asked.table, t)).copied();
    let all: Vec<(&Config, &Config)> =
        asked.table.problems.iter().filter_map(|t| Some((&t.tuned_config()?.config, twice(t)?))).collect();
    let judged: Vec<(&MeasuredProblem, &Answer, &Config)> =
        asked.judged.iter().zip(answers).filter_map(|(t, answer)| Some((*t, answer, twice(t)?))).collect();
    if judged.is_empty() {
        return Ok(None);
    }
    let share = |count: usize, of: usize| count as f64 / of as f64;
    let changed = |p: usize| share(all.iter().filter(|(a, b)| a.0[p] != b.0[p]).count(), all.len());
    let kept: Vec<usize> = (0..kernel.parameters.len()).filter(|p| changed(*p) <= KEPT).collect();
    let agree = |a: &Config, b: &Config| kept.iter().all(|p| a.0[*p] == b.0[*p]);
    let mass = |(t, _, _): &(&MeasuredProblem, &Answer, &Config)| {
        let query = Query { top: WIDTH, width: WIDTH, ..Query::new(asked.device(t)) };
        let found = predictor.predict_one(&t.problem, &query)?.candidates;
        Ok(found.iter().filter(|c| agree(&c.config, tuned_config(t))).filter_map(|c| c.probability).sum::<f64>())
    };
    let probabilities = on_threads(&judged, threads, mass)?;
    let of_judged = |right: &dyn Fn(&Config, &Config, &Config) -> bool| {
        let holds = |(t, answer, again): &&(&MeasuredProblem, &Answer, &Config)| {
            answer.ranking.first().is_some_and(|first| right(first, tuned_config(t), again))
        };
        share(judged.iter().filter(holds).count(), judged.len())
    };
    Ok(Some(Retuned {
        problems: all.len(),
        agree: share(all.iter().filter(|(a, b)| a == b).count(), all.len()),
        kept: kept.iter().map(|p| kernel.parameters[*p].name.clone()).collect(),
        agree_in_kept: share(all.iter().filter(|(a, b)| agree(a, b)).count(), all.len()),
        judged: judged.len(),
        again: of_judged(&|_, tuned, again| tuned == again),
        exact: of_judged(&|first, tuned, _| first == tuned),
        either: of_judged(&|first, tuned, again| first == tuned || first == again),
        exact_in_kept: of_judged(&|first, tuned, _| agree(first, tuned)),
        probability_of_kept: probabilities.iter().sum::<f64>() / judged.len() as f64,
    }))
}
