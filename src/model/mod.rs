//! What should be chosen? The sequence model: problem and device in, parameters out, token by token.
//!
//! `vocab` and `spell` spell, `net` is the network as it is trained, `runtime` the same for prediction, several of which are an
//! `ensemble`; `beam` searches, `predict` joins them, `train` makes the weights (from `examples` in `batch`es, in a `run` per
//! member; `apart` says which kernels share a model) and `store` keeps them. Description, weights and search know nothing of training.

mod apart;
mod batch;
pub mod beam;
pub mod calibration;
mod ensemble;
mod examples;
mod forest;
mod goal;
mod grow;
mod guide;
mod judge;
mod layers;
pub mod loss;
mod net;
mod optimizer;
mod pareto;
pub mod pool;
mod predict;
mod run;
mod runtime;
mod search;
mod settings;
pub mod spell;
pub mod speller;
mod store;
mod survey;
mod train;
pub mod trees;
pub mod vocab;

pub use apart::{Group, groups};
pub use predict::{Candidate, Predictor, Scored, WIDTH};
pub use run::{Epoch, Score};
pub use search::advance;
pub use settings::{Settings, Target};
pub use store::{Hparams, Meta, Model};
pub use survey::Survey;
pub use train::{Existing, Progress, refine, train};
