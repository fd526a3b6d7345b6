//! Predicts the tuning parameters of GPU kernels and validates them on the device.
//!
//! Four nouns, four modules: [`kernel`] (what may be chosen), [`model`] (what should be chosen),
//! [`executor`] (what happens if it is), [`dataset`] (what has happened before). [`eval`] judges models
//! against data, [`cli`] is the program.

pub mod cli;
pub mod dataset;
pub mod error;
pub mod eval;
pub mod executor;
pub mod kernel;
pub mod model;
pub mod threads;

pub use error::{Error, Result};
