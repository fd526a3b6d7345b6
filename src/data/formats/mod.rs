//! Formats of others: read into datasets, and written from them.

pub mod autoheuristic;
pub mod kernel_tuner;
pub mod miopen;
pub mod tabular;
