//! Child processes that run kernels, and their clients.

pub mod client;
pub mod compilers;
mod confirm;
mod guard;
mod last_words;
mod lines;
pub mod protocol;
mod running;
pub mod server;
