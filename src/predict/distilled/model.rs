//! What the small decoder answers: the beam's configs with calibrated probabilities and predicted costs.

use crate::confidence::calibration::Calibration;
use crate::distilled::exhaustive::Found;
use crate::distilled::network::Network;
use crate::distilled::scratch::{Scratch, Work};
use crate::distilled::search::Search;
use crate::features::featurizer::{Featurizer, Instance};
use crate::search::candidate::{Candidate, Scored};
use crate::search::query::Query;
use seqtune_kernel::elementary::exp;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Choice, Choices, Config, Objective, Problem};

/// Prefixes for each thread that walks a space, at least: so many that all end together.
const PREFIXES_PER_THREAD: usize = 64;

/// The small decoder of a kernel, ready to predict.
pub(crate) struct DistilledModel<'a> {
    pub(crate) featurizer: &'a Featurizer,
    pub(crate) network: &'a Network,
    pub(crate) calibration: Option<Calibration>,
}

impl DistilledModel<'_> {
    fn search<'s>(&'s self, instance: &'s Instance) -> Search<'s> {
        Search { network: self.network, featurizer: self.featurizer, instance }
    }

    /// The best legal configs of a problem, best first, of those that a beam of this width finds.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub(crate) fn predict(
        &self,
        instance: &Instance,
        objective: Objective,
        (top, width): (usize, usize),
        scratch: &mut Scratch,
    ) -> Result<Vec<Candidate>> {
        let search = self.search(instance);
        search.run(objective, width.max(top), scratch)?;
        let Scratch { work, beam, .. } = scratch;
        let found = beam.log.len().min(top);
        let probabilities = self.probabilities(&beam.log);
        work.states.clear();
        for row in 0..found {
            search.place(&beam.sums[row * self.network.d..][..self.network.d], search.parameters(), work);
        }
        self.network.states(&mut work.states, &mut work.buffers);
        let candidate = |row: usize| {
            let [time_us, joules] = search.costs(row, work);
            let config = Config(beam.prefix(row).to_vec());
            Candidate {
                config,
                log_probability: beam.log[row],
                probability: probabilities[row],
                time_us,
                joules,
                risk: f64::NAN,
                measured: false,
            }
        };
        Ok((0..found).map(candidate).collect())
    }

    /// How probably each of the configs of these log-probabilities, which a beam found, is the best of all: they share what they have together.
    fn probabilities(&self, log: &[f64]) -> Vec<f64> {
        let Some(calibration) = self.calibration else { return log.iter().map(|log| exp(*log)).collect() };
        let likelihood: f64 = log.iter().map(|log| exp(*log)).sum();
        let mut shares = calibration.probabilities(log);
        shares.iter_mut().for_each(|share| *share *= likelihood);
        shares
    }

    /// Scores given configs of one problem.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a config is illegal.
    pub(crate) fn score(&self, instance: &Instance, objective: Objective, configs: &[Config]) -> Result<Vec<Scored>> {
        self.search(instance).score(objective, configs, &mut Work::default())
    }

    /// The best `top` of given configs by their probability among all legal ones.
    ///
    /// # Errors
    /// As [`DistilledModel::score`].
    pub(crate) fn rank(
        &self,
        instance: &Instance,
        objective: Objective,
        configs: &[Config],
        top: usize,
    ) -> Result<Vec<Candidate>> {
        Ok(self.ranked(self.score(instance, objective, configs)?, configs, top))
    }

    fn ranked(&self, scored: Vec<Scored>, configs: &[Config], top: usize) -> Vec<Candidate> {
        let mut order: Vec<usize> = (0..configs.len()).collect();
        let log = |i: &usize| scored[*i].log_probability;
        order.sort_by(|a, b| log(b).total_cmp(&log(a)).then(configs[*a].cmp(&configs[*b])));
        let candidate = |i: usize| {
            let Scored { log_probability, time_us, joules, .. } = scored[i];
            Candidate {
                config: configs[i].clone(),
                log_probability,
                probability: exp(log_probability),
                time_us,
                joules,
                risk: f64::NAN,
                measured: false,
            }
        };
        order.into_iter().take(top).map(candidate).collect()
    }

    /// The best of every legal config of a problem, with their times, and how many configs' own likelihoods that took.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub(crate) fn exhaustive(
        &self,
        instance: &Instance,
        problem: &Problem,
        query: &Query,
    ) -> Result<(u64, Vec<Candidate>)> {
        let Query { device, objective, top, threads, .. } = *query;
        let search = self.search(instance);
        let parts: Vec<usize> = (0..threads.max(1)).collect();
        let least = self.least(&search, objective, top)?;
        let frontier = search.frontier(objective, PREFIXES_PER_THREAD * parts.len(), least, &mut Work::default())?;
        let walked = on_threads(&parts, threads, |part| {
            // each thread with its own compiled rules and features: they are not shared
            let (own, mut found) = (Instance::new(&self.featurizer.kernel, problem, device), Found::new(top, least));
            self.search(&own).walk(&frontier, (*part, parts.len()), &mut found, &mut Work::default())?;
            Ok(found)
        })?;
        let mut all = Found::new(top, least);
        walked.into_iter().for_each(|found| all.join(found));
        let configs: Vec<Config> = all.best.iter().map(|(_, config)| config.clone()).collect();
        Ok((all.scored, self.ranked(search.score(objective, &configs, &mut Work::default())?, &configs, top)))
    }

    /// What the best `top` of all configs are more probable than: a beam finds as many that are so.
    fn least(&self, search: &Search, objective: Objective, top: usize) -> Result<f64> {
        let mut scratch = Scratch::default();
        search.run(objective, 4 * top.max(8), &mut scratch)?;
        // less a little: in another batch a network may round otherwise
        Ok(scratch.beam.log.get(top.max(1) - 1).map_or(f64::NEG_INFINITY, |log| log - 1e-3))
    }

    /// See [`crate::Predictor::greedy`].
    pub(crate) fn greedy(&self, instance: &Instance, unbroken: bool) -> Option<Config> {
        let (search, mut work) = (self.search(instance), Work::default());
        search.begin(Objective::Time, &mut work);
        let (mut sum, mut prefix): (Vec<f32>, Vec<Choice>) = (work.sum.clone(), Vec::new());
        for (at, parameter) in self.featurizer.kernel.parameters.iter().enumerate() {
            let open: Choices = match unbroken {
                true => instance.space.unbroken(&prefix),
                false => (0..parameter.values.len() as Choice).collect(),
            };
            let choice = match open.only() {
                Some(forced) => forced,
                None => {
                    work.states.clear();
                    search.place(&sum, at, &mut work);
                    self.network.states(&mut work.states, &mut work.buffers);
                    search.choose(0, &prefix, open, &mut work);
                    let best = (0..work.log.len()).max_by(|a, b| work.log[*a].total_cmp(&work.log[*b]))?;
                    open.iter().nth(best)?
                }
            };
            search.grow(&mut sum, &prefix, choice, &mut work);
            prefix.push(choice);
        }
        Some(Config(prefix))
    }
}
