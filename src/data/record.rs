//! Records of a dataset: problem, config and outcome.

use crate::observed::Observed;
use crate::stats;
use seqtune_kernel::limits::SAMPLE_US;
use seqtune_predict::Objective;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Category of a failure, as in the T4 format of the auto-tuning community.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum InvalidityKind {
    /// Violation of a constraint of the config space.
    Constraints,
    /// Compilation error, or a program that exceeds the launch limits.
    Compile,
    /// Launch error, or death of the worker process.
    Runtime,
    /// Silence of the worker process beyond its time limit.
    Timeout,
    /// Result that deviates from the reference, or a write out of bounds.
    Correctness,
}

/// Failure of one config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invalidity {
    /// Category of the failure.
    pub kind: InvalidityKind,
    /// Message of the compiler, the driver or the verification.
    pub detail: String,
}

impl Invalidity {
    /// Creates a failure from its category and message.
    pub fn new(kind: InvalidityKind, detail: impl Into<String>) -> Invalidity {
        Invalidity { kind, detail: detail.into() }
    }
}

/// What comes of trying a config. A failure is data about the config, not an error of the run.
pub type Attempt<T> = Result<T, Invalidity>;

/// Energy of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Joules per launch.
    pub joules: f64,
    /// Half-width of the 95 % confidence interval in joules.
    pub half_width: f64,
    /// Power of the idle device in watts.
    pub idle_watts: f64,
}

/// Timings of a valid config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Device times of single launches in microseconds, in the order of measurement.
    pub samples_us: Vec<f32>,
    /// Energy per launch; `None` where the device has no energy counter or energy was not requested.
    pub energy: Option<Energy>,
}

impl Measurement {
    /// Quantile `q` in [0, 1] of the samples in microseconds, linear between neighbours.
    pub fn quantile_us(&self, q: f64) -> f64 {
        stats::unsorted_quantile(&self.samples_us, q)
    }

    /// Median in microseconds, by which configs are compared.
    pub fn median_us(&self) -> f64 {
        self.quantile_us(0.5)
    }
}

/// Choice of an external tuner, whose alternatives are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Time in microseconds, where recorded.
    pub time_us: Option<f32>,
}

/// Result of evaluating a config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// Timings of a valid config.
    Measured(Measurement),
    /// Failure of an invalid config.
    Invalid(Invalidity),
    /// Choice of an external tuner.
    Tuned(Tuned),
}

impl Outcome {
    /// Creates an [`Outcome::Invalid`] from its category and message.
    pub fn invalid(kind: InvalidityKind, detail: impl Into<String>) -> Outcome {
        Outcome::Invalid(Invalidity::new(kind, detail))
    }

    /// Returns the fault of an impossible value, such as a median time of 0.
    ///
    /// Single samples may be 0 on a coarse clock.
    pub fn fault(&self) -> Option<&'static str> {
        let impossible = |us: f64| !(us.is_finite() && us > 0.0);
        match self {
            Outcome::Measured(m)
                if m.samples_us.iter().any(|us| us.is_nan() || *us < 0.0) || impossible(m.median_us()) =>
            {
                Some("a time is not above 0")
            }
            Outcome::Measured(m) if m.samples_us.iter().any(|us| f64::from(*us) > SAMPLE_US) => {
                Some("a time is over thirty days")
            }
            Outcome::Measured(m) if m.energy.is_some_and(|e| impossible(e.joules)) => Some("an energy is not above 0"),
            Outcome::Tuned(Tuned { time_us: Some(us) }) if impossible(*us as f64) => Some("a time is not above 0"),
            Outcome::Tuned(Tuned { time_us: Some(us) }) if f64::from(*us) > SAMPLE_US => {
                Some("a time is over thirty days")
            }
            _ => None,
        }
    }

    /// Median time in microseconds; `None` where the config failed or its time is unknown.
    pub fn time_us(&self) -> Option<f64> {
        match self {
            Outcome::Measured(m) => Some(m.median_us()),
            Outcome::Tuned(tuned) => tuned.time_us.map(f64::from),
            Outcome::Invalid(_) => None,
        }
    }

    /// Cost under `objective`; `None` where it was not measured.
    pub fn cost(&self, objective: Objective) -> Option<f64> {
        objective.cost_of(self.time_us(), self.joules())
    }

    /// Energy per launch in joules, where measured.
    pub fn joules(&self) -> Option<f64> {
        match self {
            Outcome::Measured(m) => m.energy.map(|e| e.joules),
            Outcome::Invalid(_) | Outcome::Tuned(_) => None,
        }
    }
}

/// Outcome of one config for one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Problem as `name=value` pairs.
    pub problem: Arc<str>,
    /// Config as `name=value` pairs.
    pub config: Arc<str>,
    /// Timings, failure or tuner's choice.
    pub outcome: Outcome,
    /// Resources, device conditions and library time.
    #[serde(default, skip_serializing_if = "Observed::is_empty")]
    pub observed: Observed,
}
