//! Child processes that run kernels, and their clients.

pub mod client;
pub mod compilers;
mod confirm;
mod last_words;
pub mod protocol;
mod running;
pub mod server;
pub mod setup;
mod variants;
mod watch;
