//! Configs that are predicted to be best in time, in energy, or in some trade between them.

use crate::posterior::conditioning::{MIN_BEAM_WIDTH, MeasuredConfig};
use crate::prediction::Prediction;
use crate::predictor::Predictor;
use crate::search::candidate::{Candidate, by_cost};
use crate::search::query::Query;
use seqtune_kernel::Objective;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Problem};

impl Predictor {
    /// The Pareto front of predicted time against predicted energy, fastest first: of all that a beam finds for each objective,
    /// the configs that no other is predicted to beat in both; as sure as of the best by each. `query.top` and `query.objective` are not used.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn pareto(&self, problem: &Problem, query: &Query) -> Result<Prediction> {
        let mut prediction = self.estimated_front(problem, query)?;
        self.hide_unknown_costs(problem, query.device, &mut prediction.candidates);
        Ok(prediction)
    }

    /// The configs of the front that are predicted to take at most a share longer than the fastest, those of the fewest joules first.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub(crate) fn fewest_joules(&self, problem: &Problem, query: &Query, share: f64) -> Result<Prediction> {
        let mut prediction = self.estimated_front(problem, query)?;
        keep_quick(&mut prediction.candidates, share);
        prediction.candidates.truncate(query.top);
        Ok(prediction)
    }

    fn estimated_front(&self, problem: &Problem, query: &Query) -> Result<Prediction> {
        let (mut found, mut unsure) = (Vec::new(), false);
        for objective in Objective::ALL {
            let wide = Query { objective, top: query.width, within_time: None, ..*query };
            let prediction = self.estimate_one(problem, &wide)?;
            unsure |= prediction.unsure;
            join(&mut found, prediction.candidates);
        }
        // what is compared is predicted in one go: the re-ranker's scores of a config differ a little with what is asked for
        let configs: Vec<Config> = found.iter().map(|c| c.config.clone()).collect();
        let scored = self.score(problem, query.device, Objective::Edp, &configs)?;
        for (candidate, scored) in found.iter_mut().zip(&scored) {
            (candidate.time_us, candidate.joules) = (scored.time_us, scored.joules);
        }
        Ok(self.prediction(query, front(found), unsure))
    }

    /// As [`Predictor::pareto`], of a problem of which some configs were measured: the best of these by each objective is among the answer, beaten
    /// or not.
    ///
    /// # Errors
    /// As [`Predictor::predict_measured`].
    pub fn pareto_measured(&self, problem: &Problem, query: &Query, known: &[MeasuredConfig]) -> Result<Prediction> {
        let (mut found, mut best_known, mut unsure) = (Vec::new(), Vec::new(), false);
        for objective in Objective::ALL {
            let wide = Query { objective, top: query.width.max(MIN_BEAM_WIDTH), ..*query };
            let measured_answer = self.predict_measured(problem, &wide, known)?;
            unsure |= measured_answer.unsure;
            let cost = |c: &&Candidate| objective.cost_of(c.time_us, c.joules);
            let measured = measured_answer.candidates.iter().filter(|c| c.measured);
            best_known.extend(measured.min_by(|a, b| by_cost(cost(a), cost(b))).cloned());
            join(&mut found, measured_answer.candidates);
        }
        let mut candidates = front(found);
        // what is known stands beside what is guessed to beat it
        join(&mut candidates, best_known);
        candidates.sort_by(|a, b| by_cost(a.time_us, b.time_us));
        Ok(self.prediction(query, candidates, unsure))
    }
}

/// Adds the candidates whose configs are not there yet.
fn join(found: &mut Vec<Candidate>, more: Vec<Candidate>) {
    for candidate in more {
        if !found.iter().any(|c| c.config == candidate.config) {
            found.push(candidate);
        }
    }
}

/// Keeps those of a front that take at most a share longer than the fastest, the slowest of these, which needs the fewest joules, first.
fn keep_quick(front: &mut Vec<Candidate>, share: f64) {
    let Some(least) = front.first().and_then(|fastest| fastest.time_us) else { return };
    front.retain(|candidate| candidate.time_us.is_some_and(|us| us <= (1.0 + share) * least));
    front.reverse();
}

/// Those that no other beats in time and energy, by rising time.
pub fn front(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| by_cost(a.time_us, b.time_us).then(by_cost(a.joules, b.joules)));
    let mut least = f64::INFINITY;
    candidates.retain(|c| {
        let better = c.joules.is_some_and(|joules| joules < least);
        least = least.min(c.joules.unwrap_or(least));
        better
    });
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_what_no_other_beats_in_both() {
        let points = [(3.0, 1.0), (1.0, 5.0), (2.0, 2.0), (2.5, 3.0), (1.0, 6.0), (4.0, 1.0), (2.0, 2.0)];
        let candidate = |(time_us, joules): (f64, f64)| Candidate {
            config: Config(Vec::new()),
            log_probability: 0.0,
            probability: Some(1.0),
            time_us: Some(time_us),
            joules: Some(joules),
            risk: None,
            measured: false,
        };
        let found: Vec<(f64, f64)> =
            front(points.into_iter().map(candidate).collect()).iter().filter_map(|c| c.time_us.zip(c.joules)).collect();
        assert_eq!(found, [(1.0, 5.0), (2.0, 2.0), (3.0, 1.0)]);
        let quick = |share: f64| {
            let mut front = front(points.into_iter().map(candidate).collect());
            keep_quick(&mut front, share);
            front.iter().filter_map(|c| c.joules).collect::<Vec<f64>>()
        };
        assert_eq!(quick(0.0), [5.0]);
        assert_eq!(quick(1.0), [2.0, 5.0], "twice the time may be taken");
        assert_eq!(quick(9.0), [1.0, 2.0, 5.0]);
    }
}
