//! The small decoder that a whole model is distilled into: its likelihood alone ranks, and an answer takes a fraction of the time.
//!
//! What it is made of stands in [`crate::network::prefix`]; how it is trained, in the package that trains.

pub(crate) mod answer;
pub(crate) mod exhaustive;
pub(crate) mod level;
pub(crate) mod network;
pub(crate) mod room;
pub(crate) mod score;
pub(crate) mod search;
#[cfg(test)]
mod tests;

pub use level::Level;
