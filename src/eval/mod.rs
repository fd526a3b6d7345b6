//! How good is it? Models and baselines judged by replay on held-out problems, and the program's own benchmarks.

pub mod baselines;
pub mod bench;
pub mod chain;
pub mod folds;
pub mod lightgbm;
pub mod paired;
pub mod plot;
pub mod regrets;
pub mod replay;
pub mod report;
pub mod sureness;
pub mod tuned;

pub use replay::{Report, Row, evaluate};

use crate::dataset::Objective;
use crate::error::{Result, input};

/// Refuses data that no method can be judged by.
fn nothing_to_judge<T>(objective: Objective) -> Result<T> {
    input(format!("no problem has two working configs with what {objective} needs; there is nothing to judge by"))
}
