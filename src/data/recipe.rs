//! Provenance of a dataset: the measurement policy, or the external tool.

use seqtune_kernel::{Device, Kernel};
use serde::{Deserialize, Serialize};

/// Origin of the outcomes of a dataset. A sweep resumes only with the same provenance, but for [`Policy::ending_as`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured by seqtune.
    Measured {
        /// Policy of the time measurement.
        policy: Policy,
        /// Recipe of the energy measurement, where energy was measured.
        energy: Option<Recipe>,
    },
    /// Imported from files of another tool.
    Imported {
        /// Name of the tool, with what is known of its method.
        tool: String,
        /// Paths of the imported files.
        files: Vec<String>,
    },
    /// Free-text description of older versions.
    Described(String),
}

impl Provenance {
    /// Creates the provenance of a measurement by this version.
    pub fn of_measurement(policy: Policy) -> Provenance {
        Provenance::Measured { policy, energy: policy.energy.then(|| Recipe::with_window(policy.energy_window)) }
    }

    /// Returns the policy of the time measurement; `None` where another tool measured.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Provenance::Measured { policy, .. } => Some(policy),
            _ => None,
        }
    }

    /// Returns the provenance of a sweep that goes on in a journal of `begun`: when a config is done stays as it was.
    pub fn going_on(self, begun: &Provenance) -> Provenance {
        match (self, begun) {
            (Provenance::Measured { policy, energy }, Provenance::Measured { policy: begun, .. }) => {
                Provenance::Measured { policy: policy.ending_as(begun), energy }
            }
            (other, _) => other,
        }
    }
}

/// State of the caches before a timed launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Caches as the previous launch left them.
    Warm,
    /// Caches flushed by overwriting twice the size of the last-level cache.
    Cold,
}

/// Policy of a time measurement. Durations are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// State of the caches before each timed launch.
    pub cache: Cache,
    /// Duration of the warm-up before the first sample.
    pub warm_up_ms: f64,
    /// Total time of a config's samples after which it is done.
    pub budget_ms: f64,
    /// Least number of samples per config; fewer suffice for slow configs with long launches.
    pub min_samples: usize,
    /// Number of samples after which a config is done.
    pub max_samples: usize,
    /// Relative half-width of the median's 95 % interval at which a config is done. Competing configs continue until all are done.
    pub tight: f64,
    /// Ratio to the best known time beyond which a config gets no warm-up and only about `min_samples` samples.
    pub slow: f64,
    /// Ratio to the best known time beyond which a config is done after four turns.
    #[serde(default = "never", skip_serializing_if = "is_never")]
    pub behind: f64,
    /// Whether to measure energy too, which takes seconds per config.
    pub energy: bool,
    /// Window of an energy measurement, in seconds.
    #[serde(default = "standard_window", skip_serializing_if = "is_standard_window")]
    pub energy_window: f64,
}

// older versions measured such configs as long as those that compete
fn never() -> f64 {
    f64::INFINITY
}

fn is_never(ratio: &f64) -> bool {
    ratio.is_infinite()
}

fn standard_window() -> f64 {
    Recipe::default().window
}

// files of older versions have none
fn is_standard_window(window: &f64) -> bool {
    *window == standard_window()
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            cache: Cache::Warm,
            warm_up_ms: 5.0,
            budget_ms: 25.0,
            min_samples: 3,
            max_samples: 30,
            tight: 0.002,
            slow: 3.0,
            behind: 1.5,
            energy: false,
            energy_window: standard_window(),
        }
    }
}

impl Policy {
    /// Returns the policy for a kernel on a device: the standard one, for a program (`[run]`) without a warm-up beyond the first run, which
    /// is not counted, and with as many samples as it says. A run of a program costs more than its time: its start.
    pub fn of_kernel(kernel: &Kernel, device: &Device) -> Policy {
        let standard = Policy::for_device(device);
        let Some(run) = kernel.run.as_ref().filter(|run| !run.spec.serve || run.spec.samples.is_some()) else {
            return standard;
        };
        let samples = run.samples();
        Policy {
            warm_up_ms: 0.0,
            min_samples: standard.min_samples.min(samples),
            max_samples: samples,
            tight: 0.03,
            ..standard
        }
    }

    /// Returns the policy with another's rules of when a config is done. Versions differ in them, no option sets them; a journal keeps to
    /// those that it was begun with, so that its records compare and a sweep outlives an update.
    pub fn ending_as(self, begun: &Policy) -> Policy {
        Policy { tight: begun.tight, slow: begun.slow, behind: begun.behind, ..self }
    }

    /// Returns the standard policy for a device, with warm caches on a CPU, cold caches and a shorter warm-up on a GPU.
    ///
    /// In use other kernels run in between, so that warm caches understate times of small problems by up to 40 %.
    pub fn for_device(device: &Device) -> Policy {
        match device.limits.is_cpu == Some(1.0) {
            true => Policy::default(),
            // a GPU that is never idle keeps its clocks, and what is cold needs no warm-up beyond the loading of the program
            false => Policy { cache: Cache::Cold, warm_up_ms: 1.0, ..Policy::default() },
        }
    }
}

/// Recipe of an energy measurement. Durations are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Duration of the launches before a window, in which clocks and power settle.
    pub ramp: f64,
    /// Least duration of a window.
    pub window: f64,
    /// Least number of counter updates in a window.
    pub updates: usize,
    /// Greatest duration of a window.
    pub limit: f64,
    /// Duration of the launches between two reads of the counter.
    pub portion: f64,
    /// Duration of the measurement of idle power.
    pub idle: f64,
    /// Pause before the measurement of idle power.
    pub rest: f64,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe { ramp: 0.3, window: 2.0, updates: 20, limit: 8.0, portion: 5e-3, idle: 1.0, rest: 0.5 }
    }
}

impl Recipe {
    /// Returns the recipe with another window, in seconds; the ramp and the required updates of the counter change in proportion.
    pub fn with_window(window: f64) -> Recipe {
        let standard = Recipe::default();
        let ratio = window / standard.window;
        Recipe {
            ramp: standard.ramp * ratio,
            window,
            updates: ((standard.updates as f64 * ratio).ceil() as usize).max(3),
            limit: (standard.limit * ratio).max(2.0),
            ..standard
        }
    }
}
