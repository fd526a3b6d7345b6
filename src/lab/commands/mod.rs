//! The verbs of `seqtune-lab`.

pub mod breakpoints;
pub mod curve;
pub mod kernels;
pub mod selection;
pub mod tuned;
pub mod tuners;
