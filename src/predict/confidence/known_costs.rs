//! What a predictor tells: configs with their costs, as far as those are known of the device.

use crate::confidence::device::{Grounds, TimeBasis, least_us};
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::query::Query;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Device, Problem};

/// Share of the quickest learned time below which none is told: a time that nothing like it was learned from is a guess, as of launches alone.
const MIN_TIME_SHARE: f64 = 0.5;

impl Predictor {
    /// The best legal configs of each problem, of those that the beam finds most probable: likelihood, re-ranker and trees together order them.
    /// Times and joules are told of devices that the model learned some of ([`TimeBasis`]), and are NaN of all others.
    ///
    /// # Errors
    /// [`Error::NoLegalConfig`](crate::Error::NoLegalConfig) where the constraints leave a problem none,
    /// [`Error::Input`](crate::Error::Input) where they are too entangled to look ahead, or the kernel does not exist for the device.
    pub fn predict(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        let mut answers = self.estimates(problems, query)?;
        problems
            .iter()
            .zip(&mut answers)
            .for_each(|(problem, answer)| self.hide_unknown_costs(problem, query.device, answer));
        Ok(answers)
    }

    /// As [`Predictor::predict`] for one problem, but the search follows `configs` only: what replay asks. Probabilities are
    /// still those among all legal configs.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn predict_among(&self, problem: &Problem, query: &Query, configs: &[Config]) -> Result<Vec<Candidate>> {
        let mut answer = self.estimates_among(problem, query, configs)?;
        self.hide_unknown_costs(problem, query.device, &mut answer);
        Ok(answer)
    }

    /// Takes estimated times and joules from an answer where the model learned none of the device, or none nearly so short, and raises other times
    /// to what the device can do. A predictor that is [uncorrected](Predictor::uncorrected) leaves them.
    pub(crate) fn hide_unknown_costs(&self, problem: &Problem, device: &Device, answer: &mut [Candidate]) {
        let Some(calibration) = &self.device_calibration else { return };
        let is_learned = self.trained_on(device);
        let has_times = is_learned && calibration.knows_times(device);
        let least = if has_times { self.least_us(problem, device) } else { 0.0 };
        let shortest =
            MIN_TIME_SHARE * self.training_range.as_ref().and_then(|range| range.quickest_us(device)).unwrap_or(0.0);
        for candidate in answer {
            let is_too_short = candidate.time_us < shortest;
            match has_times && !is_too_short {
                true if candidate.time_us < least => candidate.time_us = least,
                true => {}
                false => candidate.time_us = f64::NAN,
            }
            if !is_learned || is_too_short {
                candidate.joules = f64::NAN;
            }
        }
    }

    /// Microseconds that a problem takes at least, as [`least_us`] knows them.
    pub fn least_us(&self, problem: &Problem, device: &Device) -> f64 {
        least_us(self.kernel(), problem, device)
    }

    /// Whether the times of an answer are the model's: one for each candidate.
    pub fn time_bases(&self, problem: &Problem, device: &Device, answer: &[Candidate]) -> Vec<TimeBasis> {
        let least = self.least_us(problem, device);
        answer.iter().map(|candidate| TimeBasis::new(candidate.time_us, least)).collect()
    }

    /// Devices that it learned from.
    pub fn learned(&self) -> &[Device] {
        &self.devices
    }

    /// What answers for a device rest on.
    pub fn grounds(&self, device: &Device) -> Grounds {
        Grounds::new(&self.devices, self.device_calibration.as_ref().unwrap_or(&Default::default()), device)
    }
}
