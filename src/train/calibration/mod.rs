//! What is fitted beside the networks: how sure they are, how much each part counts, times, energy, and costs alike.

pub mod calibrate;
pub mod costs;
pub mod pool;
pub mod power;
pub(crate) mod profiles;
