//! Monitoring of the device during a measurement.

use crate::measuring::subject::Subject;
use crate::measuring::trial::Trial;
use seqtune_data::Conditions;
use std::time::{Duration, Instant};

/// Monitor of a device during or right after launches, because an idle device has other clocks.
#[derive(Default)]
pub struct DeviceMonitor {
    asked: Option<Instant>,
    now: Option<Conditions>,
}

/// Least time between queries. A query takes the driver a good part of a millisecond, and the values change more slowly than this.
const LOOK: Duration = Duration::from_millis(20);

impl DeviceMonitor {
    /// Records the state of the device for a trial; to be called right after a launch.
    pub fn poll<S: Subject>(&mut self, subject: &mut S, candidate: &mut Trial<S::Work>) {
        if self.asked.is_none_or(|asked| asked.elapsed() >= LOOK) {
            (self.asked, self.now) = (Some(Instant::now()), subject.conditions());
        }
        if let Some(now) = &self.now {
            candidate.record_conditions(now);
        }
    }
}
