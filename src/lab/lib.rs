//! The laboratory: how other ways to tune compare, for research. Nothing that a user's program needs is here.

pub mod breakpoints;
pub mod commands;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
pub mod ktn;
pub mod other_kernels;
pub mod selection;
pub mod tuned;
pub mod tuners;
