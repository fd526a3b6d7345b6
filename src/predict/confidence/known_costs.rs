//! Predictions: configs with their costs, as far as those are known of the device.

use crate::clock::Instant;
use crate::confidence::device::{Grounds, TimeBasis, least_us};
use crate::prediction::Prediction;
use crate::predictor::Predictor;
use crate::search::candidate::Candidate;
use crate::search::query::Query;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, Device, Problem};

/// Share of the quickest learned time below which none is told: a time that nothing like it was learned from is a guess, as of launches alone.
const MIN_TIME_SHARE: f64 = 0.5;

impl Predictor {
    /// The best legal configs of each problem, of those that the beam finds most probable: likelihood, re-ranker and trees together order them.
    /// Times and joules are told of devices that the model learned some of ([`TimeBasis`]), and are `None` of all others.
    ///
    /// # Errors
    /// [`Error::NoLegalConfig`](crate::Error::NoLegalConfig) where the constraints leave a problem none,
    /// [`Error::Input`](crate::Error::Input) where they are too entangled to look ahead, or the kernel does not exist for the device.
    pub fn predict(&self, problems: &[Problem], query: &Query) -> Result<Vec<Prediction>> {
        if query.within_time.is_some() {
            return on_threads(problems, query.threads, |problem| self.predict_one(problem, query));
        }
        let predictions = problems.iter().zip(self.estimates(problems, query)?).map(|(problem, mut candidates)| {
            self.hide_unknown_costs(problem, query.device, &mut candidates);
            self.mark_unsure(problem, query, candidates)
        });
        Ok(predictions.collect())
    }

    /// As [`Predictor::predict`], for one problem.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn predict_one(&self, problem: &Problem, query: &Query) -> Result<Prediction> {
        let mut prediction = self.estimate_one(problem, query)?;
        self.hide_unknown_costs(problem, query.device, &mut prediction.candidates);
        Ok(prediction)
    }

    /// As [`Predictor::predict_one`], with times and joules as they are estimated, whatever they are worth on the device: to compare configs by,
    /// not to be shown.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    #[doc(hidden)]
    pub fn estimate_one(&self, problem: &Problem, query: &Query) -> Result<Prediction> {
        if let Some(share) = query.within_time {
            return self.fewest_joules(problem, query, share);
        }
        let candidates = self.estimates(std::slice::from_ref(problem), query)?;
        Ok(self.mark_unsure(problem, query, candidates.into_iter().flatten().collect()))
    }

    /// As [`Predictor::predict_one`], but the search follows `configs` only: what replay asks. Probabilities are still those among all legal
    /// configs.
    ///
    /// # Errors
    /// As [`Predictor::predict`]; [`Error::Config`](crate::Error::Config) where a config is illegal.
    pub fn predict_among(&self, problem: &Problem, query: &Query, configs: &[Config]) -> Result<Prediction> {
        let ranked = self.engine.rank(problem, query, configs)?;
        let mut candidates = self.stated_apart(problem, query, ranked)?;
        self.hide_unknown_costs(problem, query.device, &mut candidates);
        Ok(self.mark_unsure(problem, query, candidates))
    }

    /// The best legal configs of each problem with estimated costs.
    fn estimates(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<Candidate>>> {
        self.kernel().check_device(query.device)?;
        let began = Instant::now();
        let answers = self.state_probabilities(problems, query)?;
        tracing::debug!(
            "{} problems for {}, beam of {}, {} threads: {:.2} ms",
            problems.len(),
            query.device.name,
            query.width.max(query.top),
            query.threads,
            1e3 * began.elapsed().as_secs_f64()
        );
        Ok(answers)
    }

    /// An answer with the mark `unsure` that the rule gives it.
    fn mark_unsure(&self, problem: &Problem, query: &Query, candidates: Vec<Candidate>) -> Prediction {
        let unsure = self.is_unsure(problem, query, &candidates);
        self.prediction(query, candidates, unsure)
    }

    /// An answer about a query's device.
    pub(crate) fn prediction(&self, query: &Query, candidates: Vec<Candidate>, unsure: bool) -> Prediction {
        Prediction { candidates, unsure, trained_on_device: self.trained_on(query.device), engine: self.engine.kind() }
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
            let is_too_short = candidate.time_us.is_some_and(|us| us < shortest);
            candidate.time_us = candidate.time_us.filter(|_| has_times && !is_too_short).map(|us| us.max(least));
            if !is_learned || is_too_short {
                candidate.joules = None;
            }
        }
    }

    /// Microseconds that a problem takes at least, as [`least_us`] knows them.
    #[doc(hidden)]
    pub fn least_us(&self, problem: &Problem, device: &Device) -> f64 {
        least_us(self.kernel(), problem, device)
    }

    /// Whether the times of an answer are the model's: one for each candidate.
    pub fn time_bases(&self, problem: &Problem, device: &Device, answer: &[Candidate]) -> Vec<TimeBasis> {
        let least = self.least_us(problem, device);
        answer.iter().map(|candidate| TimeBasis::new(candidate.time_us, least)).collect()
    }

    /// Devices that it learned from.
    pub fn learned_devices(&self) -> &[Device] {
        &self.devices
    }

    /// What answers for a device rest on.
    pub fn grounds(&self, device: &Device) -> Grounds {
        Grounds::new(&self.devices, self.device_calibration.as_ref().unwrap_or(&Default::default()), device)
    }
}
