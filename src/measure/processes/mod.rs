//! Child processes: groups, limits, what they print, and that none outlives the work.

pub mod guard;
pub mod keeper;
pub mod lines;
pub mod tree;
