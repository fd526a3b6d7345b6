//! What may be chosen: kernels as they are written, checked and begun, their spaces and versions.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/evaluator.rs"]
mod evaluator;
#[path = "../common/invented.rs"]
mod invented;

mod check;
mod convolutions;
mod init;
mod kernel_toml;
mod properties;
mod spaces;
mod versions;
