//! What the program that trains is asked: the verbs of `seqtune` that it stands behind.

pub mod cross_validate;
pub mod distil;
pub mod train;
