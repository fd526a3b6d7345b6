//! What a config did: a stored line of a sweep.

use crate::observed::Observed;
use crate::stats;
use seqtune_predict::Objective;
use serde::{Deserialize, Serialize};

/// Why a config has no measurement: the categories of the auto-tuning community's T4 format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum InvalidityKind {
    Constraints,
    Compile,
    Runtime,
    Timeout,
    Correctness,
}

/// A failure of one config, with what was said about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invalidity {
    pub kind: InvalidityKind,
    pub detail: String,
}

impl Invalidity {
    /// A failure of `kind` with what was said about it.
    pub fn new(kind: InvalidityKind, detail: impl Into<String>) -> Invalidity {
        Invalidity { kind, detail: detail.into() }
    }
}

/// Energy of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Joules per launch.
    pub joules: f64,
    /// Half-width of its 95 % interval in joules.
    pub half_width: f64,
    /// Power of the idle device in watts.
    pub idle_watts: f64,
}

/// Timings of a config that works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Device time of single launches in microseconds, in the order they were taken.
    pub samples_us: Vec<f32>,
    /// `None` where the device has no energy counter or the pass was not asked for.
    pub energy: Option<Energy>,
}

impl Measurement {
    /// Quantile `q` in [0, 1] of the samples in microseconds, linear between neighbours.
    pub fn quantile_us(&self, q: f64) -> f64 {
        stats::unsorted_quantile(&self.samples_us, q)
    }

    /// Median in microseconds: the figure that configs are compared by.
    pub fn median_us(&self) -> f64 {
        self.quantile_us(0.5)
    }
}

/// The config that somebody's tuner chose: what it was compared with is not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Microseconds, where they were recorded.
    pub time_us: Option<f32>,
}

/// What a config did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Measured(Measurement),
    Invalid(Invalidity),
    Tuned(Tuned),
}

impl Outcome {
    /// The failure `kind` with its detail.
    pub fn invalid(kind: InvalidityKind, detail: impl Into<String>) -> Outcome {
        Outcome::Invalid(Invalidity::new(kind, detail))
    }

    /// What is wrong with a measurement that cannot be one. A coarse clock may find single launches that take no time, not most of them.
    pub fn fault(&self) -> Option<&'static str> {
        let impossible = |us: f64| !(us.is_finite() && us > 0.0);
        match self {
            Outcome::Measured(m)
                if m.samples_us.iter().any(|us| us.is_nan() || *us < 0.0) || impossible(m.median_us()) =>
            {
                Some("a time is not above 0")
            }
            Outcome::Measured(m) if m.energy.is_some_and(|e| impossible(e.joules)) => Some("an energy is not above 0"),
            Outcome::Tuned(Tuned { time_us: Some(us) }) if impossible(*us as f64) => Some("a time is not above 0"),
            _ => None,
        }
    }

    /// Median time in microseconds; `None` where the config failed.
    pub fn time_us(&self) -> Option<f64> {
        match self {
            Outcome::Measured(m) => Some(m.median_us()),
            Outcome::Tuned(tuned) => tuned.time_us.map(f64::from),
            Outcome::Invalid(_) => None,
        }
    }

    /// What `objective` minimises; `None` where it was not measured.
    pub fn cost(&self, objective: Objective) -> Option<f64> {
        objective.cost_of(self.time_us(), self.joules())
    }

    /// Joules per launch, where measured.
    pub fn joules(&self) -> Option<f64> {
        match self {
            Outcome::Measured(m) => m.energy.map(|e| e.joules),
            Outcome::Invalid(_) | Outcome::Tuned(_) => None,
        }
    }
}

/// One line of a dataset: problem and config in their written form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub problem: String,
    pub config: String,
    pub outcome: Outcome,
    /// What was observed beside it.
    #[serde(default, skip_serializing_if = "Observed::is_empty")]
    pub observed: Observed,
}
