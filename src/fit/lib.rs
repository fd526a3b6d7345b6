//! Learning that needs no libtorch: boosted trees, and extremely randomised trees.

#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
pub mod extra_trees;
pub mod gbdt;
