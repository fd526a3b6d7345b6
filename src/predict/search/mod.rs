//! The search for the best legal configs: by a beam, over the whole space, for several objectives, and for what to measure next.

mod acquisition;
pub mod beam;
pub(crate) mod candidate;
pub mod decoder;
mod exhaustive;
pub mod pareto;
pub(crate) mod query;

pub use acquisition::Acquisition;
pub use beam::Hypothesis;
pub use decoder::PrefixScores;
pub use exhaustive::Exhaustive;
pub use query::WIDTH;
