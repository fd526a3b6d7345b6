//! Energy of timed trials.

use super::{Bench, Pass};
use crate::batch::{Contender, Measured};
use crate::executor::Timing;
use crate::measuring::energy::{self, Draw, MachineClock, Unmetered, idle_watts};
use crate::measuring::monitor::DeviceMonitor;
use crate::measuring::subject::Subject;
use crate::measuring::trial::Trial;
use seqtune_data::recipe::Recipe;
use seqtune_data::{Measurement, Observed, Outcome};
use std::time::Instant;

impl<S: Subject> Bench<S> {
    /// Measures the energy of timed trials in a separate pass, because it heats the device.
    pub(super) fn meter_all(&mut self, running: &mut [Trial<S::Work>], pass: &mut Pass) {
        let recipe = Recipe::with_window(pass.policy.energy_window);
        for trial in running.iter_mut().filter(|trial| !trial.samples.is_empty()) {
            if self.subject.is_poisoned() {
                return;
            }
            let (outcome, observed) = self.meter(trial, &recipe, &mut |contender| pass.begin(contender));
            pass.finish(Measured { contender: trial.contender, outcome, observed });
        }
    }

    /// Outcome of a timed trial with its energy, or with the reason for its absence.
    fn meter(
        &mut self,
        candidate: &mut Trial<S::Work>,
        recipe: &Recipe,
        begin: &mut dyn FnMut(Contender),
    ) -> (Outcome, Observed) {
        let mut monitor = DeviceMonitor::default();
        let mut observed = self.observe(candidate);
        let samples_us = std::mem::take(&mut candidate.samples);
        let mut clock = MachineClock::new();
        if let Some(energy) = self.subject.reported_energy(&candidate.work) {
            return (Outcome::Measured(Measurement { samples_us, energy: Some(energy) }), observed);
        }
        begin(candidate.contender);
        let meter = self.meter.get_or_insert_with(|| {
            let mut meter = self.subject.energy_meter()?;
            let idle = idle_watts(meter.as_mut(), &mut clock, recipe)?;
            Ok((meter, idle))
        });
        let (meter, idle) = match meter {
            Ok((meter, idle)) => (meter.as_mut(), *idle),
            Err(reason) => {
                observed.unmetered = Some(reason.clone());
                return (Outcome::Measured(Measurement { samples_us, energy: None }), observed);
            }
        };
        let mut reported = Instant::now();
        let launch_us = candidate.estimate_us;
        let mut launch = |repeat: usize| {
            // launches for energy take seconds, and must not count as silence
            if reported.elapsed().as_secs() >= 1 {
                reported = Instant::now();
                begin(candidate.contender);
            }
            self.subject.launch(&candidate.work, repeat, Timing::Untimed)?;
            monitor.poll(&mut self.subject, candidate);
            Ok(())
        };
        let metered = energy::meter(meter, &mut clock, recipe, Draw { launch_us, idle_watts: idle }, &mut launch);
        // waits for the last launch, whose failure belongs to this config
        let last = self.subject.launch(&candidate.work, 1, Timing::Warm);
        observed.conditions = candidate.conditions.take().or(observed.conditions);
        let metered = last.map_err(Unmetered::Config).and(metered);
        let energy = match metered {
            Ok(energy) => Some(energy),
            Err(Unmetered::Config(fault)) => return (Outcome::Invalid(fault), observed),
            Err(Unmetered::Counter(reason)) => {
                observed.unmetered = Some(reason);
                None
            }
        };
        (Outcome::Measured(Measurement { samples_us, energy }), observed)
    }
}
