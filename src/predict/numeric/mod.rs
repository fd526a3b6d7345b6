//! Numerical routines that several parts share.

pub mod linear;
pub mod softmax;
