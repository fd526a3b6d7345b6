//! The verbs of `seqtune-lab`.

pub mod curve;
pub mod kernels;
pub mod tuned;
pub mod tuners;
