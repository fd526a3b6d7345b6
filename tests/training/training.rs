//! Training: networks, trees and calibration in libtorch, distillation, and the verbs that learn.

#[path = "../common/mod.rs"]
mod common;
mod support;

mod commands;
mod distil;
mod few;
mod model;
mod refine;
mod tables;
mod tuned;
