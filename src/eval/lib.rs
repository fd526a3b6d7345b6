//! How good is it? Models and baselines judged by replay on held-out problems, and the program's own benchmarks.

pub mod baselines;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
pub mod measures;
pub mod pages;
pub mod tuned;

pub use measures::replay::{ReplayReport, ReplayRow, evaluate};
