//! How good is it? Models and baselines judged by replay on held-out problems, and the program's own benchmarks.

pub mod baselines;
pub mod curve;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
pub mod front;
pub mod html;
pub mod left_out;
pub mod light_gbm_rankers;
pub mod lightgbm;
pub mod likeness;
pub mod markdown;
pub mod measured;
pub mod method;
pub mod paired;
pub mod plot;
pub mod regrets;
pub mod reliability;
pub mod replay;
pub mod sets;
pub mod shown;
pub mod speed;
pub mod stated;
pub mod tuned;

pub use replay::{ReplayReport, ReplayRow, evaluate};
