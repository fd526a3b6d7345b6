//! What is minimised when a config is chosen.

use crate::error::{Error, Result, input};
use serde::{Deserialize, Serialize};

/// What is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, bincode::Encode, bincode::Decode)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Microseconds per launch.
    #[default]
    Time,
    /// Joules per launch.
    Energy,
    /// Energy times time.
    Edp,
}

impl Objective {
    /// All objectives, in the order of their tokens.
    pub const ALL: [Objective; 3] = [Objective::Time, Objective::Energy, Objective::Edp];

    /// The value to minimise of microseconds and joules; `None` where it was not measured.
    pub fn cost_of(self, us: Option<f64>, joules: Option<f64>) -> Option<f64> {
        match self {
            Objective::Time => us,
            Objective::Energy => joules,
            Objective::Edp => Some(joules? * us?),
        }
    }
}

impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Objective::Time => "time",
            Objective::Energy => "energy",
            Objective::Edp => "edp",
        })
    }
}

impl std::str::FromStr for Objective {
    type Err = Error;

    /// Reads the name that [`Display`](std::fmt::Display) writes.
    ///
    /// # Errors
    /// [`Error::Input`] for any other text.
    fn from_str(text: &str) -> Result<Objective> {
        match Objective::ALL.into_iter().find(|o| o.to_string() == text) {
            Some(objective) => Ok(objective),
            None => input(format!("objective `{text}` is not one of time, energy, edp")),
        }
    }
}
