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
