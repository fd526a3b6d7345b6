//! How a chooser goes about it.

use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Configs of a problem that are considered at most.
pub const MOST_CONFIGS: usize = 100;

/// Options of a chooser; [`Options::default`] serves most callers.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Configs per problem that are considered, 1 to 100.
    pub top: usize,
    /// File that choices are remembered in, shared by any number of processes; `None` remembers nothing.
    pub memory: Option<PathBuf>,
    /// Driver that programs run through; what was remembered under another is forgotten. Empty: the driver in the device's description.
    pub driver: String,
    /// Microseconds that the first use of a config costs this process (its compilation); a config is set up only once it is expected to gain
    /// that back over as many calls as there were.
    pub setup_us: f64,
    /// Share of a call that trying other configs must be expected to gain; below it the choice is settled.
    pub tolerance: f64,
    /// Standard deviation of the error of predicted times as logarithms, without the factor that all of a problem have in common.
    pub spread: f64,
    /// Problems that are held in memory at most; those used longest ago go.
    pub problems: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            top: 5,
            memory: None,
            driver: String::new(),
            setup_us: 0.0,
            tolerance: 0.01,
            // 0.21 between two configs, on held-out sizes of the shipped sweep of gemm
            spread: 0.15,
            problems: 65_536,
        }
    }
}

impl Options {
    /// Refuses options that make no sense.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) that names the option.
    pub fn check(&self) -> Result<()> {
        let finite = |x: f64| x.is_finite() && x >= 0.0;
        match () {
            _ if !(1..=MOST_CONFIGS).contains(&self.top) => {
                input(format!("top is {}, not 1 to {MOST_CONFIGS}", self.top))
            }
            _ if !finite(self.setup_us) => input(format!("setup_us is {}, not a time", self.setup_us)),
            _ if !finite(self.tolerance) || self.tolerance > 1.0 => {
                input(format!("tolerance is {}, not a share from 0 to 1", self.tolerance))
            }
            _ if !finite(self.spread) || !(0.001..=10.0).contains(&self.spread) => {
                input(format!("spread is {}, not 0.001 to 10", self.spread))
            }
            _ if self.problems == 0 => input("problems is 0: no problem could be held"),
            _ => Ok(()),
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules { setup_us: self.setup_us, tolerance: self.tolerance }
    }
}

/// The options that a decision needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) setup_us: f64,
    pub(crate) tolerance: f64,
}
