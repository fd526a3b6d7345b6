//! The measurements of a validation: predicted configs, the default and random ones, interleaved.

use crate::cli::validate::answer::{Beside, MeasuredAnswer, Predicted};
use crate::cli::validate::contenders::{Contenders, Rivals};
use seqtune_console::answer::warn;
use seqtune_data::recipe::Policy;
use seqtune_data::{Invalidity, Journal, Observed, Outcome, Record};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Objective, Problem};
use seqtune_measure::batch::{Batch, Contender, Ending};
use seqtune_measure::engine::Engine;
use seqtune_measure::launch::LaunchDims;
use seqtune_measure::measuring::roofline::device_fill;
use seqtune_predict::Candidate;
use std::collections::HashMap;

/// What is measured of each problem, and by what.
pub struct Bench {
    pub engine: Engine,
    pub policy: Policy,
    pub objective: Objective,
    /// What is measured beside predictions.
    pub rivals: Rivals,
    /// Whether the best and the first choice are checked with other data.
    pub confirm: bool,
    /// Whether the best predicted config is measured against the default once more, to be certified.
    pub certify: bool,
    /// What it is measured against, in the place of the kernel's default.
    pub against: Option<Config>,
    /// Configs that are certified in the place of the best predicted ones, by problem.
    pub certified: HashMap<String, Config>,
    /// Where what is measured is kept.
    pub learn: Option<Journal>,
    /// The vendor's library, where there is one.
    pub library: Option<String>,
    /// Why a config has no energy where it was asked for.
    pub unmetered: Option<String>,
}

/// What came of a problem.
pub enum Validation {
    /// What was measured.
    Measured(Box<MeasuredAnswer>),
    /// Why its data or reference cannot be made.
    Unmeasurable(String),
}

/// What was measured for a problem: its configs with what came of each.
struct Found {
    configs: Vec<Config>,
    results: Vec<Option<(Outcome, Observed)>>,
    library: Option<Outcome>,
}

impl Found {
    fn outcome(&self, config: &Config) -> Option<&Outcome> {
        let at = self.configs.iter().position(|c| c == config)?;
        self.results[at].as_ref().map(|(outcome, _)| outcome)
    }

    fn time(&self, config: &Config) -> Option<f64> {
        self.outcome(config).and_then(Outcome::time_us)
    }

    fn joules(&self, config: &Config) -> Option<f64> {
        self.outcome(config).and_then(Outcome::joules)
    }

    /// Books a config as failed.
    fn fail(&mut self, config: &Config, fault: Invalidity) {
        if let Some(at) = self.configs.iter().position(|c| c == config)
            && let Some((outcome, _)) = &mut self.results[at]
        {
            *outcome = Outcome::Invalid(fault);
        }
    }

    /// The cheapest of these configs.
    fn best(&self, among: &[Config], objective: Objective) -> Option<Config> {
        let known = among.iter().filter_map(|c| Some((c, self.outcome(c)?.cost(objective)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(config, _)| config.clone())
    }
}

impl Bench {
    /// Measures a problem's candidates beside the default and the random configs.
    pub fn problem(
        &mut self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        candidates: &[Candidate],
    ) -> Result<Validation> {
        let Contenders { all, default, random } = self.rivals.contenders_of(kernel, device, problem, candidates)?;
        let (mut found, ending) = self.measure(kernel, problem, all)?;
        if let Ending::Unmeasurable(reason) = ending {
            return Ok(Validation::Unmeasurable(reason));
        }
        if self.confirm {
            let predicted: Vec<Config> = candidates.iter().map(|c| c.config.clone()).collect();
            self.confirm(kernel, device, problem, &predicted, &mut found)?;
        }
        self.keep(kernel, problem, &found)?;
        let predicted: Vec<Config> = candidates.iter().map(|c| c.config.clone()).collect();
        let known = self.certified.get(&kernel.show_problem(problem)).cloned();
        let choice = known.or_else(|| found.best(&predicted, self.objective));
        let space = ConfigSpace::new(kernel, problem, device);
        let rival = self.against.clone().filter(|config| space.is_legal(config)).or_else(|| default.clone());
        let row = match choice.zip(rival).filter(|_| self.certify) {
            Some((choice, default)) => Some(self.certify(kernel, problem, &choice, &default)?),
            None => None,
        };
        let filled = candidates.first().and_then(|first| occupancy(kernel, device, problem, &first.config, &found));
        let (searched, best) = (found.best(&random, self.objective), found.best(&found.configs, self.objective));
        let time = |config: Option<&Config>| config.and_then(|config| found.time(config));
        let joules = |config: Option<&Config>| config.and_then(|config| found.joules(config));
        Ok(Validation::Measured(Box::new(MeasuredAnswer {
            problem: kernel.show_problem(problem),
            device: device.name.clone(),
            objective: self.objective,
            predictions: candidates.iter().map(|candidate| beside_measured(kernel, candidate, &found)).collect(),
            default_us: time(default.as_ref()),
            default_joules: joules(default.as_ref()),
            search_config: searched.as_ref().map(|c| kernel.show_config(c)),
            search_us: time(searched.as_ref()),
            search_joules: joules(searched.as_ref()),
            beside: self
                .rivals
                .named
                .iter()
                .map(|c| Beside { config: kernel.show_config(c), measured_us: found.time(c) })
                .collect(),
            best_us: time(best.as_ref()),
            best_joules: joules(best.as_ref()),
            library: self.library.clone(),
            library_us: found.library.as_ref().and_then(Outcome::time_us),
            library_joules: found.library.as_ref().and_then(Outcome::joules),
            flops: kernel.flops(problem),
            bytes: kernel.bytes(problem),
            compute_share: None,
            memory_share: None,
            bound: None,
            filled,
            row,
        })))
    }

    /// What comes of configs that take turns, once more.
    ///
    /// # Errors
    /// The error of the engine.
    pub(super) fn outcomes(
        &mut self,
        kernel: &Kernel,
        problem: &Problem,
        configs: Vec<Config>,
    ) -> Result<Vec<Option<Outcome>>> {
        let (found, _) = self.measure(kernel, problem, configs)?;
        Ok(found.results.into_iter().map(|result| result.map(|(outcome, _)| outcome)).collect())
    }

    fn measure(&mut self, kernel: &Kernel, problem: &Problem, configs: Vec<Config>) -> Result<(Found, Ending)> {
        let mut results = vec![None; configs.len()];
        let (mut by_library, unmetered) = (None, &mut self.unmetered);
        let batch = Batch { problem, configs: &configs, library: self.library.is_some(), best_us: f64::INFINITY };
        let ending = self.engine.measure(kernel, batch, &self.policy, &mut |measured| {
            *unmetered = unmetered.take().or(measured.observed.unmetered.clone());
            match measured.contender {
                Contender::Config(at) => results[at] = Some((measured.outcome, measured.observed)),
                Contender::Library => by_library = Some(measured.outcome),
            }
            Ok(())
        })?;
        Ok((Found { configs, results, library: by_library }, ending))
    }

    /// Checks with other data what is to be called the best of all, the best predicted and the first choice; what fails is none of them.
    fn confirm(
        &mut self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        predicted: &[Config],
        found: &mut Found,
    ) -> Result<()> {
        let mut confirmed: Vec<Config> = Vec::new();
        loop {
            let first = predicted.first().filter(|first| found.time(first).is_some()).cloned();
            let best = [found.best(&found.configs, self.objective), found.best(predicted, self.objective), first];
            let mut open: Vec<Config> =
                best.into_iter().flatten().filter(|config| !confirmed.contains(config)).collect();
            open.sort();
            open.dedup();
            if open.is_empty() {
                return Ok(());
            }
            let faults = self.engine.confirm(kernel, device, problem, &open)?.faults;
            for (config, fault) in std::iter::zip(&open, faults) {
                let Some(fault) = fault else { continue };
                warn(&format!("{} of {}: {}", kernel.show_config(config), kernel.brief_problem(problem), fault.detail));
                found.fail(config, fault);
            }
            confirmed.append(&mut open);
        }
    }

    /// Appends what was found to the journal that is learned from, where one was named.
    fn keep(&mut self, kernel: &Kernel, problem: &Problem, found: &Found) -> Result<()> {
        let Some(journal) = &mut self.learn else { return Ok(()) };
        let library_us = found.library.as_ref().and_then(Outcome::time_us).map(|us| us as f32);
        for (config, result) in found.configs.iter().zip(&found.results) {
            let Some((outcome, observed)) = result.clone() else { continue };
            let (problem, config) = (kernel.show_problem(problem), kernel.show_config(config));
            let observed = Observed { library_us, ..observed };
            journal.append(Record { problem: problem.into(), config: config.into(), outcome, observed })?;
        }
        Ok(())
    }
}

/// Share of the device's places for work-items that a config fills, where the compiler tells what it needs.
fn occupancy(kernel: &Kernel, device: &Device, problem: &Problem, config: &Config, found: &Found) -> Option<f64> {
    let at = found.configs.iter().position(|c| c == config)?;
    let resources = found.results[at].as_ref()?.1.resources.as_ref()?;
    if resources.groups_per_unit == 0 {
        // of an architecture whose units are not known
        return None;
    }
    let groups = LaunchDims::new(kernel, device, &kernel.source().ok()?.program, problem, Some(config)).groups();
    Some(device_fill(resources, groups, device.limits.compute_units?))
}

/// A prediction beside what was measured of it.
fn beside_measured(kernel: &Kernel, candidate: &Candidate, found: &Found) -> Predicted {
    Predicted {
        config: kernel.show_config(&candidate.config),
        probability: candidate.probability,
        predicted_us: candidate.time_us,
        measured_us: found.time(&candidate.config),
        predicted_joules: candidate.joules,
        measured_joules: found.joules(&candidate.config),
        failure: match found.outcome(&candidate.config) {
            Some(Outcome::Invalid(invalidity)) => Some(invalidity.clone()),
            _ => None,
        },
    }
}
