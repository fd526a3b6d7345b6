//! LLVM IR of a kernel, as PoCL compiles it.

mod apply;
mod dominators;
mod library;
mod module;
mod places;
mod propose;

pub use apply::Gone;
pub use module::{Library, Program};
pub use places::{Class, Place};
pub use propose::Proposer;
