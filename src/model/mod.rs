//! What should be chosen? The sequence model: problem and device in, parameters out, token by token.
//!
//! `vocab` spells, `net` is the network as it is trained, `runtime` the same for prediction, `beam` searches, `predict` joins
//! them, `train` makes the weights and `store` keeps them. Description, weights and search know nothing of training.

pub mod beam;
mod examples;
mod net;
mod optimizer;
mod predict;
mod runtime;
mod settings;
mod store;
pub mod teacher;
mod train;
pub mod vocab;

pub use predict::{Candidate, Predictor, Scored};
pub use settings::{Settings, Target};
pub use store::{Hparams, Meta, Model};
pub use train::{Epoch, Progress, train};
