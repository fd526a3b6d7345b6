//! The laboratory: other ways to tune, and baselines that no user needs.

#[path = "../common/mod.rs"]
mod common;

mod few_configs;
mod kernels;
mod ktn;
mod retuned;
mod tuners;
