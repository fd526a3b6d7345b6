//! What a live device allows: its [`Limits`](seqtune_kernel::Limits), asked of the maker's library.
//!
//! Libraries are opened at run time, and nothing is created on the device: no context, no queue. A library that the process
//! has already is used.

pub mod cuda;
mod functions;
pub mod hip;
pub mod host;
mod library;
pub mod live;
mod numbers;
pub mod opencl;
