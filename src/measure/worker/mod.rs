//! Child processes that run kernels, and the parent's side of them.

pub mod client;
pub mod protocol;
pub mod server;
