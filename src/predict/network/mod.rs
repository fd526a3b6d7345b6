//! The networks as they predict: plain slices, no libtorch.

pub(crate) mod dense;
pub(crate) mod encoder;
pub mod ensemble;
pub mod prefix;
pub mod reranker;
pub mod shapes;
pub mod simd;
pub mod transformer;
pub mod weights;
