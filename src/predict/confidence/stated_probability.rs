//! What is stated of candidates: the probability of a config among all legal ones, whatever found it. Every probability is made here.
//!
//! A network's likelihood adds up to 1 over all legal configs. What the configs have of it together that a beam of the usual width
//! ([`WIDTH`]) finds is shared out among them by the calibrated scores of likelihood, re-ranker and trees; every other config keeps its own.
//! So the probabilities of all legal configs add up to 1, and that of one is the same by any wider beam, among given configs and by an
//! exhaustive search. A narrower beam does not know what the usual one shares out, and states none.

use crate::confidence::calibration::Calibration;
use crate::confidence::device_calibration::PlattScaling;
use crate::engine::BeamFinds;
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::query::{Query, WIDTH};
use seqtune_kernel::Problem;
use seqtune_kernel::elementary::exp;
use seqtune_kernel::error::Result;

impl Predictor {
    /// The width by which probabilities are stated where so much is asked for: at least [`WIDTH`] where re-ranker and trees have a say.
    pub fn stated_width(&self, width: usize) -> usize {
        if self.calibration.is_some() { width.max(WIDTH) } else { width }
    }

    /// What the beam finds of each problem, with the probabilities that it shares out itself.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub(crate) fn search(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        let found = self.engine.search(problems, query)?;
        Ok(found.into_iter().map(|found| share_likelihood(found, self.calibration.as_ref())).collect())
    }

    /// What a beam finds of each problem, with probabilities among all legal configs as they turn out on the device. A beam of this
    /// width may know none.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub(crate) fn state_probabilities(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        let (usual, width) = (self.usual(query), self.engine.width(query));
        let scaling = self.device_scaling(query.device);
        let mut answers = self.search(problems, query)?;
        match self.calibration {
            Some(_) if width > usual.width => {
                let shared = self.search(problems, &usual)?;
                let both = answers.iter_mut().zip(shared);
                both.for_each(|(answer, shared)| restate(answer, shared, scaling));
            }
            Some(_) if width < usual.width => {
                answers.iter_mut().flatten().for_each(|candidate| candidate.probability = None);
            }
            _ => answers.iter_mut().for_each(|answer| scaling.correct(answer)),
        }
        Ok(answers)
    }

    /// The same of candidates of one problem that no beam among all legal configs found.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub(crate) fn stated_apart(
        &self,
        problem: &Problem,
        query: &Query,
        mut answer: Vec<Candidate>,
    ) -> Result<Vec<Candidate>> {
        let scaling = self.device_scaling(query.device);
        match self.calibration {
            Some(_) => {
                let shared = self.search(std::slice::from_ref(problem), &self.usual(query))?;
                shared.into_iter().for_each(|shared| restate(&mut answer, shared, scaling));
            }
            None => {
                answer.iter_mut().for_each(|candidate| candidate.probability = Some(exp(candidate.log_probability)));
                scaling.correct(&mut answer);
            }
        }
        Ok(answer)
    }

    /// The question whose beam shares its likelihood out.
    fn usual<'q>(&self, query: &Query<'q>) -> Query<'q> {
        let width = self.engine.width(&Query { width: WIDTH, top: 1, ..*query });
        Query { width, top: width, ..*query }
    }
}

/// Gives the candidates that a beam found their probabilities: calibrated shares of the likelihood that all of it has together, or each its own.
fn share_likelihood(found: BeamFinds, calibration: Option<&Calibration>) -> Vec<Candidate> {
    let BeamFinds { mut candidates, scores, likelihood } = found;
    match calibration.filter(|_| !scores.is_empty()) {
        Some(calibration) => {
            let shares = calibration.probabilities(&scores);
            candidates.iter_mut().zip(shares).for_each(|(c, share)| c.probability = Some(likelihood * share));
        }
        None => candidates.iter_mut().for_each(|c| c.probability = Some(exp(c.log_probability))),
    }
    candidates
}

/// Gives each candidate what is stated of it: those of `shared`, best first, their share as it turns out, any other its own likelihood, as the
/// line leaves of it.
fn restate(answer: &mut [Candidate], mut shared: Vec<Candidate>, scaling: PlattScaling) {
    let held: f64 = shared.iter().filter_map(|c| c.probability).sum();
    scaling.correct(&mut shared);
    let rest = if held < 1.0 { (1.0 - scaling.corrected_probability(held)) / (1.0 - held) } else { 0.0 };
    for candidate in answer {
        let own = shared.iter().find(|c| c.config == candidate.config);
        candidate.probability = own.map_or(Some(rest * exp(candidate.log_probability)), |own| own.probability);
    }
}
