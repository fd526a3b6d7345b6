//! How sure an answer is: calibrated probabilities, corrections by device, held-out results, and the mark `unsure`.

pub(crate) mod calibration;
mod cover;
pub mod on_device;
pub mod opinion_pool;
pub(crate) mod shown;
pub(crate) mod stated;
mod sure;
mod telling;
pub(crate) mod trust;

pub use calibration::{Calibration, First, LOSS, Place, RISK, ScoredProblem};
pub use opinion_pool::{EQUAL, LEAST, LogProbs, PoolWeights};
pub use shown::{Among, FEWEST, HeldOut, MARKED, Reach, Shown, Worth};
pub use trust::{Line, Measured, Trust};
