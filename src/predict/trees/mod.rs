//! Trees as they predict: gradient-boosted ones, and extremely randomised ones.

pub mod extra_trees;
pub mod forest;
pub(crate) mod gbdt;

pub use extra_trees::ExtraTrees;
pub use forest::{Forest, InStep};
pub use gbdt::{PredictedCost, Trees, TreesInStep};
