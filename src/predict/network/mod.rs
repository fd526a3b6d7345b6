//! The networks as they predict: plain slices, no libtorch.

pub(crate) mod dense;
pub mod ensemble;
pub mod reranker;
pub mod shapes;
pub(crate) mod simd;
pub mod transformer;
pub mod weights;
