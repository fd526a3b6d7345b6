//! First choices of problems of which the best or the tuned config is known, with the probabilities that a model states.

use seqtune_data::{MeasuredProblem, Table};
use seqtune_predict::calibration::First;
use seqtune_predict::error::Result;
use seqtune_predict::kernel::Objective;
use seqtune_predict::threads::on_threads;
use seqtune_predict::{Predictor, Query};

/// First choices of the problems of a table at `indices`, on `threads` threads. Of sweeps among the measured configs, and none of problems
/// with fewer than two of them; of what a tuner chose among all legal ones.
///
/// # Errors
/// The error of a prediction.
pub fn firsts(
    predictor: &Predictor,
    table: &Table,
    indices: &[usize],
    objective: Objective,
    threads: usize,
) -> Result<Vec<First>> {
    let first = |i: &usize| match table.is_tuned() {
        true => of_tuned(predictor, table, &table.tried[*i]),
        false => of_sweep(predictor, table, &table.tried[*i], objective),
    };
    Ok(on_threads(indices, threads, first)?.into_iter().flatten().collect())
}

fn of_tuned(predictor: &Predictor, table: &Table, tried: &MeasuredProblem) -> Result<Option<First>> {
    let query = Query::new(&table.devices[tried.device]);
    let found = predictor.predict(std::slice::from_ref(&tried.problem), &query)?;
    Ok(found[0].first().zip(tried.tuned()).map(|(first, (tuned, _))| {
        let best = first.config == *tuned;
        First { probability: first.probability, best, lost: !best as u8 as f64 }
    }))
}

fn of_sweep(
    predictor: &Predictor,
    table: &Table,
    tried: &MeasuredProblem,
    objective: Objective,
) -> Result<Option<First>> {
    let (device, costs) = (&table.devices[tried.device], tried.costs(objective));
    if costs.len() < 2 {
        return Ok(None);
    }
    let (_, known) = predictor.score_known(&tried.problem, device, objective, &costs)?;
    Ok(predictor.first(device, &known).map(|(first, _)| first))
}
