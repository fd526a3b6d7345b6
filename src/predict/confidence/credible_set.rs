//! As few configs as hold the best one with a probability.

use crate::confidence::calibration::ScoredProblem;
use crate::prediction::Prediction;
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::query::{Query, WIDTH};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits;
use seqtune_kernel::{ConfigSpace, Device, Problem};

impl Predictor {
    /// The fewest of the most probable configs of a problem that hold the best one with probability `share`, from 0 to 1, by beams as wide as that
    /// takes. Their probabilities add up to less than `share` where [`limits::WIDTH`] configs do not hold it. What is asked of `query` is the
    /// device, the objective and the least width.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; [`Error::Input`](crate::Error::Input) where a sample of the problem's configs was measured, and the model
    /// learned from times.
    pub fn credible_set(&self, problem: &Problem, query: &Query, share: f64) -> Result<Prediction> {
        let mut width = query.width.max(WIDTH);
        if let Some(calibration) = self.calibration {
            let legal = ConfigSpace::new(&self.featurizer.kernel, problem, query.device).counter().total();
            if calibration.is_of_sample(legal) {
                return input(format!(
                    "{}: the model learned from a sample of its space, so that it knows no probability of the best of all configs; ask for as many as you can measure with --top",
                    self.featurizer.kernel.name
                ));
            }
        }
        loop {
            let wide = Query { top: width, width, ..*query };
            let mut prediction = self.predict_one(problem, &wide)?;
            let found = &mut prediction.candidates;
            if self.calibration.is_some() {
                // what the usual beam shares out comes before what keeps its own likelihood, however that is ranked
                let probability = |c: &Candidate| c.probability.unwrap_or(0.0);
                found.sort_by(|a, b| probability(b).total_cmp(&probability(a)));
                prediction.unsure = self.is_unsure(problem, query, found);
            }
            let enough = enough(found.iter().filter_map(|c| c.probability), share);
            if enough.is_some() || found.len() < width || width >= limits::WIDTH {
                found.truncate(enough.unwrap_or(found.len()));
                return Ok(prediction);
            }
            width = (4 * width).min(limits::WIDTH);
        }
    }

    /// As [`Predictor::credible_set`], of configs whose costs are known and which are all there are: their positions, best first; `None` without
    /// calibration.
    #[doc(hidden)]
    pub fn credible_set_of_known(&self, device: &Device, known: &ScoredProblem, share: f64) -> Option<Vec<usize>> {
        let ranked = known.rank(&self.calibration?);
        let corrected = self.device_scaling(device).correct_all(ranked.iter().map(|config| config.probability));
        let enough = enough(corrected, share).unwrap_or(ranked.len());
        Some(ranked.into_iter().take(enough).map(|config| config.position).collect())
    }
}

/// How many of the first probabilities add up to `share`; `None` where all do not.
fn enough(mut probabilities: impl Iterator<Item = f64>, share: f64) -> Option<usize> {
    let mut sum = 0.0;
    let last = probabilities.position(|probability| {
        sum += probability;
        sum >= share
    });
    last.map(|last| last + 1)
}
