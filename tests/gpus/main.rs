//! GPUs that are not there: doubles of the drivers' libraries.

#[path = "../common/mod.rs"]
mod common;

mod clocks_held;
mod emulated;
mod gpu_doubles;
mod gpu_setups;
mod library;
mod warpgroups;
