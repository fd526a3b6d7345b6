//! What some measured configs of the very problem add to a prediction, by replay.

use crate::measures::front::{TimeEnergy, share};
use crate::measures::replay::Tests;
use crate::pages::markdown;
use seqtune_data::stats::quantile;
use seqtune_data::{MeasuredProblem, Outcome, Table};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::{cores, on_threads};
use seqtune_kernel::{Config, Kernel, Objective};
use seqtune_predict::confidence::KnownCost;
use seqtune_predict::search::pareto::front;
use seqtune_predict::{Candidate, MeasuredConfig, Prediction, Predictor, Query};
use serde::Serialize;

/// Which configs of each problem count as measured.
#[derive(Clone, Debug)]
pub enum Given {
    /// So many, one after the other the one that is then most probably the best of those not measured yet.
    First(usize),
    /// These, as far as the problem was measured with them.
    These(Vec<Config>),
}

/// How good first choices are with so much measured.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredRow {
    /// Measured configs of a problem, in the mean.
    pub measured: f64,
    /// Problems judged.
    pub problems: usize,
    /// Mean of what the first choice costs more than the best, in shares of the best.
    pub excess: f64,
    /// Median of the same.
    pub median: f64,
    /// Ninth decile of the same.
    pub p90: f64,
    /// Mean of what the best of as many first choices costs more, measured without learning from them; `None` of given configs.
    pub unlearned: Option<f64>,
    /// The same where the answer is not marked unsure; `None` where all are.
    pub sure_excess: Option<f64>,
    /// Share of answers that are not marked.
    pub sure: f64,
    /// Mean share of the Pareto front's hypervolume, in time and energy, that the configs of the predicted front have; `None` of models
    /// or data without energy.
    pub front: Option<f64>,
    /// Median over all configs that were not measured of how far the predicted cost is off, in shares of the true one.
    pub error: Option<f64>,
}

/// One problem with so much measured.
struct PartlyMeasured {
    measured: usize,
    excess: f64,
    unlearned: Option<f64>,
    unsure: bool,
    front: Option<f64>,
    errors: Vec<f64>,
}

/// Judges predictions with and without measured configs: a row for each of `given`.
///
/// # Errors
/// As [`Predictor::predict_measured`]; `Error::Input` where no problem has two configs.
pub fn replay(
    predictor: &Predictor,
    table: &Table,
    tests: &Tests,
    objective: Objective,
    given: &[Given],
) -> Result<Vec<MeasuredRow>> {
    given
        .iter()
        .map(|given| {
            let judged = on_threads(&tests.tests, cores(), |tried| {
                let known = tried.costs(objective);
                if known.len() < 2 {
                    return Ok(None);
                }
                let device = &table.devices[tried.device];
                let query = Query { top: known.len(), objective, ..Query::new(device) };
                judge(predictor, tried, &query, &known, given).map(Some)
            })?;
            let judged: Vec<PartlyMeasured> = judged.into_iter().flatten().collect();
            if judged.is_empty() {
                return input("no problem has two configs that were measured");
            }
            Ok(row(&judged))
        })
        .collect()
}

fn judge(
    predictor: &Predictor,
    tried: &MeasuredProblem,
    query: &Query,
    known: &[KnownCost],
    given: &Given,
) -> Result<PartlyMeasured> {
    let outcome = |config: &Config| {
        let found = tried.outcome(config);
        MeasuredConfig {
            config: config.clone(),
            time_us: found.and_then(Outcome::time_us),
            joules: found.and_then(Outcome::joules),
        }
    };
    let all: Vec<Config> = known.iter().map(|known| known.config.clone()).collect();
    let cost = |config: &Config| known.iter().find(|own| own.config == config).map_or(f64::NAN, |own| own.cost);
    let mut measured: Vec<MeasuredConfig> = Vec::new();
    let ask =
        |measured: &[MeasuredConfig]| predictor.predict_measured_among(&tried.problem, query, measured, all.clone());
    let mut informed: Prediction;
    let mut unlearned = None;
    match given {
        Given::These(configs) => {
            measured.extend(configs.iter().filter(|c| all.contains(c)).map(outcome));
            informed = ask(&measured)?;
        }
        Given::First(count) => {
            informed = ask(&measured)?;
            let firsts = informed.candidates.iter().take((*count).max(1)).map(|c| cost(&c.config));
            unlearned = Some(firsts.fold(f64::INFINITY, f64::min) / known[0].cost - 1.0);
            while measured.len() < *count {
                let is_new = |c: &&Candidate| measured.iter().all(|known| known.config != c.config);
                let fresh = informed.candidates.iter().filter(is_new);
                let by_probability = |c: &Candidate| c.probability.unwrap_or(0.0);
                let Some(next) = fresh.max_by(|a, b| by_probability(a).total_cmp(&by_probability(b))) else { break };
                measured.push(outcome(&next.config));
                informed = ask(&measured)?;
            }
        }
    }
    let first = &informed.candidates[0].config;
    let fresh = informed.candidates.iter().filter(|c| measured.iter().all(|known| known.config != c.config));
    let errors = fresh.filter_map(|c| {
        let said = query.objective.cost_of(c.time_us, c.joules)?;
        said.is_finite().then(|| (said / cost(&c.config) - 1.0).abs())
    });
    Ok(PartlyMeasured {
        measured: measured.len(),
        excess: cost(first) / known[0].cost - 1.0,
        unlearned,
        unsure: informed.unsure,
        errors: errors.collect(),
        front: front_of(tried, informed.candidates),
    })
}

/// Share of the true front's hypervolume that the predicted front has; `None` where energy is not predicted or was not measured.
fn front_of(tried: &MeasuredProblem, candidates: Vec<Candidate>) -> Option<f64> {
    let costs = |outcome: &Outcome| Some(TimeEnergy { time: outcome.time_us()?, energy: outcome.joules()? });
    let all: Vec<TimeEnergy> = tried.results.iter().filter_map(|trial| costs(&trial.outcome)).collect();
    if all.is_empty() || candidates.iter().any(|c| c.time_us.is_none() || c.joules.is_none()) {
        return None;
    }
    let chosen = front(candidates);
    let is_chosen = |config: &Config| chosen.iter().any(|c| c.config == *config);
    let chosen = tried.results.iter().filter(|trial| is_chosen(&trial.config));
    share(&all, &chosen.filter_map(|trial| costs(&trial.outcome)).collect::<Vec<_>>())
}

fn row(judged: &[PartlyMeasured]) -> MeasuredRow {
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let excess = sorted(judged.iter().map(|j| j.excess).collect());
    let sure: Vec<f64> = judged.iter().filter(|j| !j.unsure).map(|j| j.excess).collect();
    let errors = sorted(judged.iter().flat_map(|j| j.errors.iter().copied()).collect());
    MeasuredRow {
        measured: mean(&judged.iter().map(|j| j.measured as f64).collect::<Vec<_>>()),
        problems: judged.len(),
        excess: mean(&excess),
        median: quantile(&excess, 0.5),
        p90: quantile(&excess, 0.9),
        unlearned: mean_of_all(judged.iter().map(|j| j.unlearned)),
        sure_excess: (!sure.is_empty()).then(|| mean(&sure)),
        sure: sure.len() as f64 / judged.len() as f64,
        front: mean_of_all(judged.iter().map(|j| j.front)),
        error: (!errors.is_empty()).then(|| quantile(&errors, 0.5)),
    }
}

/// Mean of values that are all known.
fn mean_of_all(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let count = values.len() as f64;
    values.sum::<Option<f64>>().map(|sum| sum / count)
}

/// The rows as a table of Markdown.
pub fn markdown(kernel: &Kernel, objective: Objective, rows: &[MeasuredRow]) -> String {
    let mut table = markdown::Table::new(&[
        "measured",
        "above the best, mean %",
        "median %",
        "9th decile %",
        "best of as many first choices, mean %",
        "not marked unsure, %",
        "these above the best, mean %",
        "hypervolume of the Pareto front, %",
        "predicted costs off by, median %",
    ]);
    let percent = |x: f64| if x.is_finite() { format!("{:.2}", 100.0 * x) } else { "-".into() };
    for row in rows {
        table.row(&[
            format!("{:.1}", row.measured),
            percent(row.excess),
            percent(row.median),
            percent(row.p90),
            percent(row.unlearned.unwrap_or(f64::NAN)),
            format!("{:.0}", 100.0 * row.sure),
            percent(row.sure_excess.unwrap_or(f64::NAN)),
            percent(row.front.unwrap_or(f64::NAN)),
            percent(row.error.unwrap_or(f64::NAN)),
        ]);
    }
    let problems = rows.first().map_or(0, |row| row.problems);
    format!(
        "{objective} of {}: what measured configs of the very problem add, by replay of {problems} problems\n\n{table}",
        kernel.name
    )
}
