//! Numerical routines that several parts share.

pub mod linear;
pub mod newton;
pub mod softmax;
