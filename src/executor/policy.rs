//! How long and how often to measure.

use super::energy::Recipe;
use crate::kernel::Device;
use serde::{Deserialize, Serialize};

/// State of the caches before a timed launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// As the launch before left them.
    Warm,
    /// Twice the last-level cache is overwritten before each launch.
    Cold,
}

/// How long and how often to measure. Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub cache: Cache,
    /// Launches before the first sample go on for this long.
    pub warm_up_ms: f64,
    /// A config has enough when its timed launches took this long in all.
    pub budget_ms: f64,
    pub min_samples: usize,
    /// A config has enough of so many.
    pub max_samples: usize,
    /// A config has enough when the 95 % interval of its median is within this share of it; those that compete are measured until all have.
    pub tight: f64,
    /// A config this many times slower than the best known gets no warm-up and `min_samples`, or one turn, only; fewer where they are long.
    pub slow: f64,
    /// Meter the energy of each config too, which takes seconds.
    pub energy: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            cache: Cache::Warm,
            warm_up_ms: 5.0,
            budget_ms: 25.0,
            min_samples: 3,
            max_samples: 30,
            tight: 0.01,
            slow: 3.0,
            energy: false,
        }
    }
}

impl Policy {
    /// The standard recipe for a device. On a GPU caches are cold: in use, other kernels run in between, and warm figures of small
    /// problems flatter by up to 40 %.
    pub fn of(device: &Device) -> Policy {
        let cache = if device.limits.is_cpu == Some(1.0) { Cache::Warm } else { Cache::Cold };
        Policy { cache, ..Policy::default() }
    }

    /// One line for the header of a dataset.
    pub fn describe(&self) -> String {
        let Policy { cache, warm_up_ms, budget_ms, min_samples, max_samples, tight, slow, energy } = self;
        let energy = if *energy { format!("; energy: {}", Recipe::default().describe()) } else { String::new() };
        format!(
            "device events; {cache:?} cache; warm-up {warm_up_ms} ms; {min_samples}-{max_samples} samples of single launches, \
             interleaved in rounds, to {tight} of the median or {budget_ms} ms, until all that compete have enough; moments that slow \
             neighbours left out; no warm-up and up to {min_samples} samples beyond {slow} x the best{energy}"
        )
    }
}
