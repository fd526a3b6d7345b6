//! The house itself: its documents, its imports, its rules, and what the program says of itself.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/imports.rs"]
mod imports;

mod architecture;
mod cli;
mod documents;
mod escapes;
mod names;
mod signatures;
mod tidy;
