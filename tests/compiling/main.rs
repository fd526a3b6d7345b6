//! Compilers of GPUs without a GPU.

#[path = "../common/mod.rs"]
mod common;

mod compilers;
mod programs;
