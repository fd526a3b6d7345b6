//! Compilers that need no device, and the cache of their programs.

mod address_spaces;
mod cache;
mod job;
pub mod prelude;
pub mod reason;

pub use cache::{Cached, Store, cache_folder};
pub use job::{Binary, Compiler, Job, compile_for, for_reference};
