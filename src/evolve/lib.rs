//! Evolution of a kernel's code: edits of what its config compiles to, found by search, each verified against the reference.
//!
//! The front end for LLVM IR edits what PoCL compiles. [`search`] finds edits, [`minimise`] keeps those that matter.

pub mod bench;
pub mod edit;
pub mod journal;
pub mod llvm;
pub mod minimise;
pub mod nsga;
pub mod search;
pub mod session;
