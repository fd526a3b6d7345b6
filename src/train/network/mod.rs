//! The network as it is trained, in libtorch.

pub mod adamw;
pub mod agree;
pub mod decoder;
pub mod init;
pub mod layers;
pub mod tensors;
pub mod transformer;
