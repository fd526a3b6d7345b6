//! Child processes: groups, limits, and what they print.

pub mod guard;
pub mod lines;
