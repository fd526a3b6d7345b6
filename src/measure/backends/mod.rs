//! Backends, one per API.

pub mod cuda;
pub mod driver;
pub mod fake;
pub mod gpu;
pub mod hip;
pub mod opencl;
