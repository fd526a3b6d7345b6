//! The arguments of verbs that `seqtune` documents and `seqtune-train` carries out.

pub mod distil;
pub mod evaluate;
pub mod train;
