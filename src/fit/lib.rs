//! Learning that needs no libtorch: trees, and what models hold beside networks (calibration, the pooling of parts, how errors go together,
//! costs of problems alike, energy that was not metered).

pub mod calibration;
pub mod cost_neighbours;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
pub mod error_model;
pub mod extra_trees;
pub mod gbdt;
pub mod imputed_energy;
pub mod opinion_pool;
pub mod parts;
