//! Training: weights from tables of measured or tuned configs, by libtorch. Nothing that predicts needs it.

pub mod batch;
pub mod calibrate;
pub mod checkpoint;
pub mod commands;
pub mod costs;
pub mod cross_validation;
pub mod distil;
pub mod drawn;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod draws;
pub mod examples;
pub mod few;
pub mod fit;
pub mod groups;
pub mod loss;
pub mod member;
pub mod memory;
pub mod network;
pub mod plan;
pub mod pool;
pub mod power;
pub mod prefix_tree;
pub mod prepare;
mod profiles;
pub mod progress;
pub mod schedule;
pub mod score;
pub mod settings;
pub mod vocabulary;

pub use distil::distil;
pub use fit::{Existing, refine, train};
pub use groups::{ModelGroup, groups};
pub use progress::Progress;
