//! The search for the best legal configs: by a beam, over the whole space, for several objectives, and for what to measure next.

mod acquisition;
pub mod beam;
pub(crate) mod candidate;
pub mod decoder;
mod exhaustive;
mod full_engine;
pub(crate) mod full_model;
mod given;
pub mod pareto;
pub(crate) mod query;

pub use crate::engine::PrefixScores;
pub use acquisition::Acquisition;
pub use beam::Hypothesis;
pub use exhaustive::Exhaustive;
pub use query::WIDTH;
