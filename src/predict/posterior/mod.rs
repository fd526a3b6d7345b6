//! What measured configs of a problem tell of its other configs, and what learned problems tell of a new one.

pub(crate) mod conditioning;
pub mod cost_neighbours;
pub mod error_model;

pub use conditioning::{MeasuredConfig, Regressors};
pub use cost_neighbours::{CostNeighbours, TreeOpinion};
pub use error_model::{ErrorModel, ErrorQuantity};
