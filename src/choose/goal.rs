//! What a caller wants of the configs: the quantity to minimise, and limits that must be kept.

use seqtune_kernel::error::{Result, input};
use seqtune_predict::Objective;

/// What is minimised, and what each call may take at most. Energy and power need joules in what is reported.
///
/// ```
/// use seqtune_choose::Goal;
/// use seqtune_predict::Objective;
///
/// let goal = Goal { objective: Objective::Energy, time_us: Some(2_000.0), ..Goal::default() };
/// assert!(goal.check().is_ok());
/// assert!(Goal { power_w: Some(0.0), ..goal }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Quantity to minimise.
    pub objective: Objective,
    /// Most microseconds of a call.
    pub time_us: Option<f64>,
    /// Most watts: joules of a call divided by its seconds.
    pub power_w: Option<f64>,
    /// Most joules of a call.
    pub joules: Option<f64>,
    /// By how much longer than the fastest config a call may take at most, as a share: 0.02 with [`Objective::Energy`] asks for the fewest joules
    /// within 2 % of the best time.
    pub within_time: Option<f64>,
}

impl Goal {
    /// Refuses limits that are no positive numbers.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) that names the limit.
    pub fn check(&self) -> Result<()> {
        if let Some(share) = self.within_time.filter(|share| !(*share >= 0.0 && share.is_finite())) {
            return input(format!("within_time is {share}, not a share of at least 0"));
        }
        let limits = [("time", self.time_us), ("power", self.power_w), ("energy", self.joules)];
        match limits.iter().find(|(_, limit)| limit.is_some_and(|x| !(x > 0.0 && x.is_finite()))) {
            Some((name, limit)) => {
                input(format!("the limit of {name} is {}, not a number above 0", limit.unwrap_or_default()))
            }
            None => Ok(()),
        }
    }

    /// Whether joules matter.
    pub fn needs_energy(&self) -> bool {
        self.objective != Objective::Time || self.power_w.is_some() || self.joules.is_some()
    }
}

/// What a call took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Microseconds.
    pub time_us: f64,
    /// Joules, where the caller knows them.
    pub joules: Option<f64>,
}

impl From<std::time::Duration> for Measured {
    fn from(time: std::time::Duration) -> Measured {
        Measured { time_us: time.as_secs_f64() * 1e6, joules: None }
    }
}

impl Measured {
    /// Whether times and joules are positive numbers.
    pub(crate) fn is_sound(&self) -> bool {
        let sound = |x: f64| x > 0.0 && x.is_finite();
        sound(self.time_us) && self.joules.is_none_or(sound)
    }
}
