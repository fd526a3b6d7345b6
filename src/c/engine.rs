//! The one place where the engine is asked.

use crate::predictor::Shared;
use crate::status::Answer;
use seqtune_predict::kernel::{Device, Problem};
use seqtune_predict::{Candidate, Query};

/// What is asked besides the problem.
pub(crate) struct Asked<'a> {
    pub problem: &'a Problem,
    pub device: &'a Device,
    pub objective: seqtune_predict::Objective,
    pub top: usize,
    /// 0 for the usual one.
    pub width: usize,
}

/// Gives the candidates of a problem one by one, best first; how many there are, and whether the first is unsure.
pub(crate) fn ask(shared: &Shared, asked: &Asked, each: &mut dyn FnMut(usize, &Candidate)) -> Answer<(usize, bool)> {
    let usual = Query::new(asked.device);
    let width = if asked.width == 0 { usual.width } else { asked.width };
    let query = Query { objective: asked.objective, top: asked.top, width, ..usual };
    let candidates = shared.predictor.predict(std::slice::from_ref(asked.problem), &query)?.remove(0);
    candidates.iter().enumerate().for_each(|(at, candidate)| each(at, candidate));
    Ok((candidates.len(), shared.predictor.is_unsure(asked.device, &candidates)))
}
