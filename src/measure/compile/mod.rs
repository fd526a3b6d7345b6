//! Compilers that make finished programs without a device, and the programs they made before.

mod cache;
mod job;
pub mod prelude;

pub use cache::{Cached, Store, cache_folder};
pub use job::{Binary, Compiler, Job, compile_for};
