//! The networks of a model: their updates, losses, checkpoints and turns on the cores.

pub mod checkpoint;
pub mod loss;
pub mod member;
pub mod memory;
pub mod schedule;
pub mod score;
