//! How a dataset came to be: the recipe of measuring, or the tool that it was read from.

use seqtune_predict::kernel::Device;
use serde::{Deserialize, Serialize};

/// Where the outcomes of a dataset come from. A sweep goes on only with the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured by seqtune.
    Measured {
        /// Time.
        policy: Policy,
        /// Energy, where it was metered.
        energy: Option<Recipe>,
    },
    /// Read from files of another tool.
    Imported {
        /// The tool, and how it measured as far as that is known.
        tool: String,
        /// Where it was read from.
        files: Vec<String>,
    },
    /// A sentence: of versions whose recipes had no fields.
    Described(String),
}

impl Provenance {
    /// Measured by this version.
    pub fn measured(policy: Policy) -> Provenance {
        Provenance::Measured { policy, energy: policy.energy.then(Recipe::default) }
    }
}

/// State of the caches before a timed launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// How long to meter. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Launches before anything counts: clocks and power settle.
    pub ramp: f64,
    /// Least time and least updates of the counter of a window.
    pub window: f64,
    pub updates: usize,
    /// Longest time of a window.
    pub limit: f64,
    /// Time of the launches between two looks at the counter.
    pub portion: f64,
    /// Time that the idle device is looked at, and that it rests before.
    pub idle: f64,
    pub rest: f64,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe { ramp: 0.3, window: 2.0, updates: 20, limit: 8.0, portion: 5e-3, idle: 1.0, rest: 0.5 }
    }
}
