//! Child processes that run kernels, and their clients.

pub mod client;
pub mod protocol;
pub mod server;
