//! Predicts the tuning parameters of GPU kernels.
//!
//! A kernel is described by its problem's fields, its parameters and the constraints among them ([`kernel`]); a
//! [`Model`] holds the weights of an encoder-decoder that emits the parameters one by one, and a [`Predictor`] searches
//! them with a beam that only follows legal values.

pub mod acquisition;
pub mod beam;
pub mod calibration;
pub mod candidate;
pub mod decoder;
pub mod error;
pub mod exhaustive;
pub mod features;
pub mod featurizer;
pub mod files;
pub mod forest;
pub mod gbdt;
pub mod kernel;
pub mod model;
pub mod network;
pub mod opinion_pool;
pub mod pareto;
pub mod predictor;
pub mod sequence;
pub mod settings;
pub mod softmax;
pub mod split;
pub mod threads;
pub mod vocab;

pub use candidate::{Candidate, Scored};
pub use error::{Error, Result};
pub use kernel::{Config, Device, Kernel, Objective, Problem};
pub use model::{Meta, Model};
pub use predictor::Predictor;
pub use settings::{Hparams, Settings};
