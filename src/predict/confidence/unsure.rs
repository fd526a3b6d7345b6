//! Which answers are marked unsure.

use crate::confidence::calibration::{LOSS, MarkedPrediction, RISK, ScoredProblem, TopPrediction};
use crate::confidence::held_out::{HeldOutResult, HeldOutScore, TrainingRange};
use crate::prediction::Prediction;
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::query::Query;
use seqtune_kernel::{Device, Objective, Problem};

impl Predictor {
    /// Whether an answer (all that was asked for, best first) is less sure than what was shown of the model: the device was never seen, a field
    /// is beyond the learned ones, or the first choice is less probable than nine tenths of those on problems held out were. Of a model of which
    /// nothing was shown for the device and the objective: whether it is less probable than what the model was found reliable at, or it lost too
    /// often on problems that are like this one; unmarked, it then loses more than [`LOSS`] no more often than [`RISK`].
    pub(crate) fn is_unsure(&self, problem: &Problem, query: &Query, candidates: &[Candidate]) -> bool {
        !self.trained_on(query.device)
            || !self.beyond(problem).is_empty()
            || candidates.first().is_some_and(|first| self.exceeds_risk(query, first))
    }

    /// Whether the first choice of an answer may stand unmeasured: it is not unsure, and nine tenths of the first choices on problems held out lost
    /// [`LOSS`] at most, where that was recorded.
    pub fn settles(&self, query: &Query, prediction: &Prediction) -> bool {
        let keeps = |shown: &HeldOutResult| !matches!(shown.worth, HeldOutScore::Best { p10, .. } if p10 < 1.0 - LOSS);
        let known = self.held_out_result(query.device, query.objective);
        !prediction.candidates.is_empty() && !prediction.unsure && known.is_none_or(keeps)
    }

    /// Whether an answer with this first choice is unsure. A first choice without a probability is.
    fn exceeds_risk(&self, query: &Query, first: &Candidate) -> bool {
        let threshold = self.calibration.and_then(|c| c.threshold);
        let is_below = |least: f64| first.probability.is_none_or(|probability| probability < least);
        let is_above = |most: f64| first.risk.is_some_and(|risk| risk > most);
        match self.held_out_result(query.device, query.objective) {
            _ if !self.trained_on(query.device) => true,
            Some(HeldOutResult { riskiest: Some(riskiest), .. }) => is_above(*riskiest),
            Some(shown) => is_below(self.device_scaling(query.device).corrected_probability(shown.least)),
            None => is_above(RISK) || threshold.is_some_and(is_below),
        }
    }

    /// What comes first of configs whose costs are known, and whether the answer would be marked unsure of a model of which nothing was shown;
    /// `None` without calibration.
    #[doc(hidden)]
    pub fn top_prediction(&self, device: &Device, known: &ScoredProblem) -> Option<MarkedPrediction> {
        let calibration = self.calibration?;
        let first = known.top_prediction(&calibration)?;
        let ranked = known.rank(&calibration);
        let risk = ranked.first().and_then(|config| known.risks.get(config.position).copied().flatten());
        let first = TopPrediction {
            probability: self.device_scaling(device).corrected_probability(first.probability),
            ..first
        };
        let lossy = risk.is_some_and(|risk| risk > RISK);
        let improbable = calibration.threshold.is_some_and(|threshold| first.probability < threshold);
        Some(MarkedPrediction { first, unsure: !self.trained_on(device) || lossy || improbable })
    }

    /// What was shown of the model on a device that it saw, for an objective; `None` where that was not recorded.
    pub fn held_out_result(&self, device: &Device, objective: Objective) -> Option<&HeldOutResult> {
        let fits = |shown: &&HeldOutResult| shown.objective == objective && device.is_called(&shown.device);
        // what was shown of the kernel alone goes before
        self.held_out.iter().filter(fits).min_by_key(|shown| shown.kernels.len())
    }

    /// The fields of a problem that are beyond all that the model learned from.
    pub fn beyond(&self, problem: &Problem) -> Vec<&str> {
        self.training_range.as_ref().map_or_else(Vec::new, |range: &TrainingRange| range.beyond(self.kernel(), problem))
    }
}
