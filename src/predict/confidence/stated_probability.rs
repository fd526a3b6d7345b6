//! What is stated of candidates: the probability of a config among all legal ones, whatever found it.
//!
//! A network's likelihood adds up to 1 over all legal configs. What the configs have of it together that a beam of the usual width
//! ([`WIDTH`]) finds is shared out among them by the calibrated scores of likelihood, re-ranker and trees; every other config keeps its own.
//! So the probabilities of all legal configs add up to 1, and that of one is the same by any wider beam, among given configs and by an
//! exhaustive search. A narrower beam does not know what the usual one shares out, and states none.

use crate::confidence::device_calibration::PlattScaling;
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

    /// What a beam found of each problem, with probabilities among all legal configs as they turn out on the device. NaN stands for probabilities that a beam of this width does not know.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub(crate) fn stated(
        &self,
        problems: &[Problem],
        query: &Query,
        found: Vec<Vec<Candidate>>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let (usual, width) = (self.usual(query)?, self.width(query)?);
        let scaling = self.device_scaling(query.device);
        let mut answers = found;
        match self.calibration {
            Some(_) if width > usual.width => {
                let shared = self.search(problems, &usual)?;
                let both = answers.iter_mut().zip(shared);
                both.for_each(|(answer, shared)| restate(answer, shared, scaling));
            }
            Some(_) if width < usual.width => {
                answers.iter_mut().flatten().for_each(|candidate| candidate.probability = f64::NAN);
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
                let shared = self.search(std::slice::from_ref(problem), &self.usual(query)?)?.remove(0);
                restate(&mut answer, shared, scaling);
            }
            None => scaling.correct(&mut answer),
        }
        Ok(answer)
    }

    /// The question whose beam shares its likelihood out.
    fn usual<'q>(&self, query: &Query<'q>) -> Result<Query<'q>> {
        let width = self.width(&Query { width: WIDTH, top: 1, ..*query })?;
        Ok(Query { width, top: width, ..*query })
    }

    /// How many configs a beam finds.
    fn width(&self, query: &Query) -> Result<usize> {
        match self.is_distilled() {
            true => Ok(query.width.max(query.top)),
            false => Ok(self.decoder()?.width(query)),
        }
    }
}

/// Gives each candidate what is stated of it: those of `shared`, best first, their share as it turns out, any other its own likelihood, as the
/// line leaves of it.
fn restate(answer: &mut [Candidate], mut shared: Vec<Candidate>, scaling: PlattScaling) {
    let held: f64 = shared.iter().map(|c| c.probability).sum();
    scaling.correct(&mut shared);
    let rest = if held < 1.0 { (1.0 - scaling.at(held)) / (1.0 - held) } else { 0.0 };
    for candidate in answer {
        let own = shared.iter().find(|c| c.config == candidate.config);
        candidate.probability = own.map_or(rest * exp(candidate.log_probability), |own| own.probability);
    }
}
