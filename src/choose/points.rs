//! Where the configs of a problem come from, with what is expected of each: a model, or the caller.

use seqtune_kernel::error::{Error, Result};
use seqtune_predict::{Config, Device, Kernel, Model, Objective, Predictor, Problem, Query};
use std::borrow::Borrow;

/// A config with what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Legal config.
    pub config: Config,
    /// Expected microseconds. Ratios between points matter, a common factor is learned.
    pub time_us: Option<f64>,
    /// Expected joules.
    pub joules: Option<f64>,
}

/// Gives the configs of a problem.
pub trait Points: Send + Sync {
    /// The most promising configs of a problem, best first.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    fn best(&self, problem: &Problem, objective: Objective, top: usize) -> Result<Vec<Point>>;

    /// What is expected of given configs, on the scale of `first`, the first of [`Points::best`]; those that are illegal for the problem
    /// are left out.
    ///
    /// # Errors
    /// As [`Points::best`].
    fn expect(
        &self,
        _problem: &Problem,
        _objective: Objective,
        _first: &Point,
        _configs: &[Config],
    ) -> Result<Vec<Point>> {
        Ok(Vec::new())
    }

    /// What tells these answers from those of another source: choices that were remembered for another are forgotten.
    fn identity(&self) -> String;

    /// What they rest on, in words for people: the devices that a model learned from. Empty where nothing is known.
    fn grounds(&self) -> String {
        String::new()
    }
}

/// What a logarithm of a ratio of predicted probabilities is worth as a logarithm of a ratio of times: by regression through 0 on the held-out
/// sizes of the shipped sweep of gemm, of the first five of each.
const PROBABILITY_TO_TIME: f64 = 0.1;
/// The same for scores that are pooled before calibration.
const SCORE_TO_TIME: f64 = 0.15;

/// The answers of a model, by a predictor of one's own or one that others hold too.
pub struct Predicted<P = Predictor> {
    kernel: Kernel,
    predictor: P,
    device: Device,
    digest: String,
    width: usize,
}

impl Predicted {
    /// The configs that a model predicts for a device.
    ///
    /// # Errors
    /// As [`Predictor::new`].
    pub fn new(kernel: &Kernel, model: &Model, device: &Device) -> Result<Predicted> {
        Ok(Predicted::with_predictor(kernel, Predictor::new(kernel, model)?, model.digest(), device))
    }
}

impl<P: Borrow<Predictor>> Predicted<P> {
    /// The configs that a predictor of `kernel`, made of the model of that [`Model::digest`], predicts for a device.
    pub fn with_predictor(kernel: &Kernel, predictor: P, digest: String, device: &Device) -> Predicted<P> {
        let width = seqtune_predict::search::WIDTH;
        Predicted { kernel: kernel.clone(), predictor, device: device.clone(), digest, width }
    }

    /// With another width of the beam.
    pub fn with_width(self, width: usize) -> Predicted<P> {
        Predicted { width, ..self }
    }

    fn query(&self, objective: Objective, top: usize) -> Query<'_> {
        Query { objective, top, width: self.width, ..Query::new(&self.device) }
    }
}

/// The logarithm of the ratio of two costs; `None` where one is unknown.
pub(crate) fn log_ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some((of? / to?).ln()).filter(|log| log.is_finite())
}

/// The mean of two estimates of a ratio, as logarithms, of which one may be unknown.
fn pool_ratios(by_time: Option<f64>, by_rank: f64) -> f64 {
    by_time.map_or(by_rank, |by_time| 0.5 * (by_time + by_rank))
}

/// A time for a first config that has none: a common factor is learned anyway.
fn time_or_unit(value: Option<f64>) -> f64 {
    value.filter(|us| us.is_finite() && *us > 0.0).unwrap_or(1.0)
}

impl<P: Borrow<Predictor> + Send + Sync> Points for Predicted<P> {
    fn best(&self, problem: &Problem, objective: Objective, top: usize) -> Result<Vec<Point>> {
        let found = self.predictor.borrow().estimate_one(problem, &self.query(objective, top))?.candidates;
        let Some(first) = found.first().cloned() else { return Ok(Vec::new()) };
        // the ranking is of the objective; of the other quantity only its own head knows
        let point = |candidate: seqtune_predict::Candidate| {
            // a first choice on a device never seen may be less probable than the second, and comes first all the same
            let odds = match first.probability.zip(candidate.probability) {
                Some((first, own)) => (first / own.max(1e-12)).max(1.0),
                // a beam narrower than the usual one states no probabilities
                None => (first.log_probability - candidate.log_probability).exp().max(1.0),
            };
            let by_rank = PROBABILITY_TO_TIME * odds.ln();
            let is_time = objective == Objective::Time;
            let by_time = log_ratio(candidate.time_us, first.time_us);
            let time = if is_time { Some(pool_ratios(by_time, by_rank)) } else { by_time };
            let by_energy = log_ratio(candidate.joules, first.joules);
            let energy = if is_time { by_energy } else { Some(pool_ratios(by_energy, by_rank)) };
            Point {
                config: candidate.config,
                time_us: Some(time_or_unit(first.time_us) * time.map_or(1.0, f64::exp)),
                joules: first.joules.zip(energy).map(|(joules, energy)| joules * energy.exp()),
            }
        };
        Ok(found.into_iter().map(point).collect())
    }

    fn expect(&self, problem: &Problem, objective: Objective, first: &Point, configs: &[Config]) -> Result<Vec<Point>> {
        let space = seqtune_kernel::ConfigSpace::new(&self.kernel, problem, &self.device);
        let legal = configs.iter().filter(|config| space.is_legal(config)).cloned();
        let all: Vec<Config> = std::iter::once(first.config.clone()).chain(legal).collect();
        let scored = self.predictor.borrow().score(problem, &self.device, objective, &all)?;
        let [reference, rest @ ..] = &scored[..] else { return Ok(Vec::new()) };
        let score = |scored: &seqtune_predict::Scored| self.predictor.borrow().pooled_score(scored);
        let point = |(config, scored): (&Config, &seqtune_predict::Scored)| {
            let by_rank = SCORE_TO_TIME * (score(reference) - score(scored));
            let gap = pool_ratios(log_ratio(scored.time_us, reference.time_us), by_rank);
            let energy = scored.joules.zip(reference.joules).map(|(own, reference)| own / reference);
            Point {
                config: config.clone(),
                time_us: first.time_us.map(|us| us * gap.exp()),
                joules: first.joules.zip(energy).map(|(joules, energy)| joules * energy),
            }
        };
        Ok(all[1..].iter().zip(rest).map(point).collect())
    }

    fn identity(&self) -> String {
        self.digest.clone()
    }

    fn grounds(&self) -> String {
        self.predictor.borrow().grounds(&self.device).words()
    }
}

/// The configs that a caller gives, with expected times from measurements or from elsewhere.
pub struct Given<F> {
    identity: String,
    give: F,
}

impl<F: Fn(&Problem) -> Vec<Point> + Send + Sync> Given<F> {
    /// By a function of the problem; `identity` names it (a version of a table): what was remembered for another is forgotten.
    pub fn new(identity: impl Into<String>, give: F) -> Given<F> {
        Given { identity: identity.into(), give }
    }
}

impl<F: Fn(&Problem) -> Vec<Point> + Send + Sync> Points for Given<F> {
    fn best(&self, problem: &Problem, _: Objective, top: usize) -> Result<Vec<Point>> {
        let mut points = (self.give)(problem);
        points.truncate(top);
        match points.is_empty() {
            true => Err(Error::NoLegalConfig("no config was given for the problem".into())),
            false => Ok(points),
        }
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }
}
