//! The small decoder that a whole model is distilled into: its likelihood alone ranks, and an answer takes a fraction of the time.
//!
//! What it is made of stands in [`crate::network::prefix`]; how it is trained, in the package that trains.

pub(crate) mod comparison;
pub(crate) mod exhaustive;
pub(crate) mod model;
pub(crate) mod network;
pub(crate) mod score;
pub(crate) mod scratch;
pub(crate) mod search;
#[cfg(test)]
mod tests;

pub use comparison::{Comparison, PairedLoss};
