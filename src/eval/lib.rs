//! How good is it? Models and baselines judged by replay on held-out problems, and the program's own benchmarks.

pub mod baselines;
pub mod measures;
pub mod pages;
pub mod tuned;

pub use measures::replay::{ReplayReport, ReplayRow, evaluate};
