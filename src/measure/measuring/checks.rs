//! Checks of results against the reference: before a config is timed, after it, and with other data.

use super::{Bench, Pass};
use crate::batch::{Contender, Measured};
use crate::executor::Timing;
use crate::measuring::subject::Subject;
use crate::measuring::trial::{LONG_US, Trial};
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::Config;
use seqtune_kernel::error::Result;

/// Launches of a config that is confirmed, each of which has to be right.
const LAUNCHES: usize = 5;

/// A first launch that is long, and beyond so many times what is hopeless, is not timed once more.
const FIRST: f64 = 1.5;

impl<S: Subject> Bench<S> {
    /// Compiles a contender, compares the result of its first launch with the expected one, and times a second launch; the first one
    /// where each launch is checked, or where it took so long that the contender is hopeless.
    pub(super) fn check(&mut self, contender: Contender, pass: &Pass) -> Result<Attempt<Trial<S::Work>>> {
        let config = match contender {
            Contender::Config(at) => Some(&pass.batch.configs[at]),
            Contender::Library => None,
        };
        let work = match self.subject.prepare(config) {
            Ok(work) => work,
            Err(fault) => return Ok(Err(fault)),
        };
        let mut first = None;
        if !self.subject.checks_each_launch() {
            match self.subject.verify(&work)? {
                Ok(us) => first = Some(us),
                Err(fault) => return Ok(Err(fault)),
            }
        }
        // what is long, and too slow to be chosen, is not worth another launch
        if first.is_some_and(|us| us <= LONG_US.max(pass.policy.slow * pass.best_us))
            && let Err(fault) = self.subject.verify_beside(&work)?
        {
            return Ok(Err(fault));
        }
        // what loading adds to a first launch is less than this
        let too_long = LONG_US.max(FIRST * pass.policy.slow * pass.best_us);
        let estimate_us = match first.filter(|us| *us > too_long) {
            Some(us) => us,
            None => match self.subject.launch(&work, 1, Timing::Warm) {
                Ok(times) => times[0] as f64,
                Err(fault) => return Ok(Err(fault)),
            },
        };
        let estimate_us = estimate_us.max(0.1);
        Ok(Ok(Trial { contender, work, estimate_us, samples: Vec::new(), conditions: None, done: false }))
    }

    /// Checks a timed trial again, and finishes it where it is right at its first launch only; returns whether it is right.
    pub(super) fn is_still_right(&mut self, trial: &mut Trial<S::Work>, pass: &mut Pass) -> Result<bool> {
        if self.subject.checks_each_launch() {
            return Ok(true);
        }
        pass.begin(trial.contender);
        let Err(fault) = self.subject.verify(&trial.work)? else { return Ok(true) };
        let detail = match fault.kind {
            InvalidityKind::Correctness => format!("right at its first launch, wrong later: {}", fault.detail),
            _ => fault.detail,
        };
        trial.samples.clear();
        pass.finish(Measured::invalid(trial.contender, Invalidity { detail, ..fault }));
        Ok(false)
    }

    /// Launches a config on the loaded data, several times; returns how it failed.
    ///
    /// # Errors
    /// `Error::Failed` where copies to or from the device fail.
    pub fn confirm(&mut self, config: &Config) -> Result<Option<Invalidity>> {
        self.subject.make_room();
        let work = match self.subject.prepare(Some(config)) {
            Ok(work) => work,
            Err(fault) => return Ok(Some(fault)),
        };
        // one that checks each launch has no memory of its own that a second one could meet
        let launches = if self.subject.checks_each_launch() { 1 } else { LAUNCHES };
        for _ in 0..launches {
            if let Err(fault) = self.subject.verify(&work)? {
                return Ok(Some(fault));
            }
        }
        Ok(None)
    }
}
