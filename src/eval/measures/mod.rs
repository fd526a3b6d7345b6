//! Figures of how good first choices, probabilities and sets of configs are.

pub mod curve;
pub mod front;
pub mod left_out;
pub mod measured;
pub mod paired;
pub mod regrets;
pub mod reliability;
pub mod replay;
pub mod sets;
pub mod shown;
pub mod speed;
pub mod stated;
