//! Verification of a config's results against the kernel's reference.

pub mod amounts;
pub mod case;
pub mod compare;
pub mod content;
pub mod double_precision;
pub mod format;
pub mod input_kind;
pub mod oclgrind;
pub mod on_device;
pub mod other_problems;
mod reference;
pub mod workload;
