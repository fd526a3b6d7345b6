//! Problems of which the best or the tuned config is known, with the probabilities that a model states.

use seqtune_data::{MeasuredProblem, Table, TriedConfig};
use seqtune_kernel::Objective;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_predict::confidence::{BestRank, PlattScaling, TopPrediction};
use seqtune_predict::{Predictor, Query};

/// Width of the beam that a tuned config is first looked for in, and of the widest.
const WIDTHS: [usize; 2] = [20, 320];

/// What a model said of a problem of which the best or the tuned config is known.
#[derive(Clone, Copy, Debug)]
pub struct StatedAnswers {
    /// Its first choice.
    pub first: TopPrediction,
    /// Where the config stands that should have been the first.
    pub place: BestRank,
}

/// What a model says of the problems of a table at `indices`, on `threads` threads. Of sweeps among the measured configs, and nothing of
/// problems with fewer than two of them; of what a tuner chose among all legal ones.
///
/// # Errors
/// The error of a prediction.
pub fn answers_of(
    predictor: &Predictor,
    table: &Table,
    indices: &[usize],
    objective: Objective,
    threads: usize,
) -> Result<Vec<StatedAnswers>> {
    let said = |i: &usize| match table.is_tuned() {
        true => of_tuned(predictor, table, &table.problems[*i]),
        false => of_sweep(predictor, table, &table.problems[*i], objective),
    };
    Ok(on_threads(indices, threads, said)?.into_iter().flatten().collect())
}

/// What the likelihoods of a model of tuned configs are worth on the devices that it learned from, by where tuned configs stood; `None` of no
/// problem.
pub fn trust_in_seen(said: &[StatedAnswers]) -> Option<PlattScaling> {
    let places: Vec<BestRank> = said.iter().map(|s| s.place).collect();
    (!places.is_empty()).then(|| PlattScaling::fit_best_ranks(&places, PlattScaling::IDENTITY, [1.0; 2]))
}

fn of_tuned(predictor: &Predictor, table: &Table, tried: &MeasuredProblem) -> Result<Option<StatedAnswers>> {
    let Some(TriedConfig { config: tuned, .. }) = tried.tuned_config() else { return Ok(None) };
    let [mut width, widest] = WIDTHS;
    loop {
        let query = Query { top: width, width, ..Query::new(&table.devices[tried.device]) };
        let found = predictor.predict_one(&tried.problem, &query)?.candidates;
        let Some((first, probability)) = found.first().and_then(|c| Some((c, c.probability?))) else { return Ok(None) };
        let best = first.config == *tuned;
        let first = TopPrediction { probability, best, lost: Some(!best as u8 as f64) };
        let sum = |upto: usize| found[..upto].iter().filter_map(|c| c.probability).sum::<f64>().min(1.0);
        let place = match found.iter().position(|c| c.config == *tuned) {
            Some(at) => BestRank { ahead: sum(at), own: found[at].probability.unwrap_or(0.0) },
            None if width < widest && found.len() == width => {
                width *= 4;
                continue;
            }
            None => BestRank { ahead: sum(found.len()), own: 1.0 - sum(found.len()) },
        };
        return Ok(Some(StatedAnswers { first, place }));
    }
}

fn of_sweep(
    predictor: &Predictor,
    table: &Table,
    tried: &MeasuredProblem,
    objective: Objective,
) -> Result<Option<StatedAnswers>> {
    let (device, costs) = (&table.devices[tried.device], tried.costs(objective));
    if costs.len() < 2 {
        return Ok(None);
    }
    let known = predictor.score_known(&tried.problem, device, objective, &costs)?.problem;
    Ok(predictor
        .top_prediction(device, &known)
        .zip(predictor.best_rank(&known))
        .map(|(marked, place)| StatedAnswers { first: marked.first, place }))
}
