//! How the device is while a config is at work.

use crate::executor::Executor;
use crate::measuring::trial::Trial;
use seqtune_data::Conditions;
use std::time::{Duration, Instant};

/// Looks at how the device is while it is at work, or just was: idle it says other things.
#[derive(Default)]
pub struct DeviceMonitor {
    asked: Option<Instant>,
    now: Option<Conditions>,
}

/// Asking takes the driver a good part of a millisecond, and what it tells changes more slowly than this.
const LOOK: Duration = Duration::from_millis(20);

impl DeviceMonitor {
    /// To be called right after a launch of the candidate.
    pub fn poll(&mut self, executor: &mut dyn Executor, candidate: &mut Trial) {
        if self.asked.is_none_or(|asked| asked.elapsed() >= LOOK) {
            (self.asked, self.now) = (Some(Instant::now()), executor.conditions());
        }
        if let Some(now) = &self.now {
            candidate.record_conditions(now);
        }
    }
}
