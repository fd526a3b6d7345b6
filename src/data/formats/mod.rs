//! Import and export of external dataset formats.

pub mod autoheuristic;
pub mod clblast;
pub mod clocks;
pub mod inductor;
pub mod kernel_tuner;
pub mod miopen;
pub mod tabular;
pub mod triton;
