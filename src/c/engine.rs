//! The one place where the engine is asked.

use crate::predictor::Shared;
use crate::status::Answer;
use seqtune_kernel::{Device, Problem};
use seqtune_predict::{Candidate, Prediction, Query, TimeBasis};

/// What is asked besides the problem.
pub(crate) struct Asked<'a> {
    pub problem: &'a Problem,
    pub device: &'a Device,
    pub objective: seqtune_predict::Objective,
    pub top: usize,
    /// 0 for the usual one.
    pub width: usize,
    /// Share of the fastest config's time within which the fewest joules are asked for.
    pub within_time: Option<f64>,
}

/// Takes a candidate by its place.
pub(crate) type Each<'e> = dyn FnMut(usize, &Candidate, TimeBasis) + 'e;

/// Gives the candidates of a problem one by one, best first, each with what its time is; how many there are, and whether the first is unsure.
pub(crate) fn ask(shared: &Shared, asked: &Asked, each: &mut Each) -> Answer<(usize, bool)> {
    let usual = Query::new(asked.device);
    let width = if asked.width == 0 { usual.width } else { asked.width };
    let query = Query { objective: asked.objective, top: asked.top, width, within_time: asked.within_time, ..usual };
    let Prediction { candidates, unsure, .. } = shared.predictor.predict_one(asked.problem, &query)?;
    let least = shared.predictor.least_us(asked.problem, asked.device);
    for (at, candidate) in candidates.iter().enumerate() {
        each(at, candidate, TimeBasis::new(candidate.time_us, least));
    }
    Ok((candidates.len(), unsure))
}
