//! Training: weights from tables of measured or tuned configs, by libtorch. Nothing that predicts needs it.

pub mod commands;
pub mod cost_heads;
pub mod cross_validation;
pub mod distil;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod draws;
pub mod ensemble;
pub mod few;
pub mod fit;
pub mod network;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod settings;
pub mod training_data;

pub use distil::distil;
pub use fit::{Existing, refine, train};
pub use progress::Progress;
pub use training_data::groups::{ModelGroup, groups};
