//! Compilers that need no device, and the cache of their programs.

mod cache;
mod job;
pub mod prelude;
mod source;

pub use cache::{Cached, Store, cache_folder};
pub use job::{Binary, Compiler, Job, compile_for};
pub use source::without_comments;
