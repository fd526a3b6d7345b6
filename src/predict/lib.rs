//! Predicts the tuning parameters of GPU kernels.
//!
//! A kernel is described by its problem's fields, its parameters and the constraints among them ([`seqtune_kernel`]). A [`Model`]
//! holds the weights of an encoder-decoder that emits the parameters one by one. A [`Predictor`] searches them with a beam
//! that follows legal values only, and re-ranks what it finds. Nothing here measures, trains or needs libtorch.
//!
//! # Example
//!
//! The toy kernel that ships with this crate, and a model of made-up measurements of it:
//!
//! ```
//! use seqtune_kernel::{ConfigSpace, Count};
//! use seqtune_predict::{Device, Kernel, Model, Predictor, Query};
//! use std::path::Path;
//!
//! # fn main() -> seqtune_predict::Result<()> {
//! let toy = Path::new(env!("CARGO_MANIFEST_DIR")).join("toy");
//! let kernel = Kernel::open(&toy.display().to_string())?;
//! let device = Device::find_described("A100")?;
//! let problem = kernel.problem("M=1000")?;
//!
//! // what may be chosen
//! let space = ConfigSpace::new(&kernel, &problem, &device);
//! assert_eq!(space.counter().total(), Count::Exactly(18));
//! assert!(space.is_legal(&kernel.config("tile=32,width=4")?));
//!
//! // what should be
//! let model = Model::load(&toy.join("model"))?;
//! let predictor = Predictor::new(&kernel, &model)?;
//! let prediction = predictor.predict_one(&problem, &Query { top: 3, ..Query::new(&device) })?;
//! let [first, second, ..] = &prediction.candidates[..] else { panic!("three configs were asked for") };
//! assert_eq!(kernel.show_config(&first.config), "tile=32,width=4");
//! assert!(first.probability > second.probability);
//! # Ok(())
//! # }
//! ```
//!
//! The names below are the library's interface. Modules are open to the other packages of seqtune only, without promises.
//!
//! Errors are an enumeration to match on ([`Error`]); each holds a sentence for people.

mod clock;
#[doc(hidden)]
pub mod confidence;
#[doc(hidden)]
pub mod distilled;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
mod engine;
#[doc(hidden)]
pub mod features;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod network;
#[doc(hidden)]
pub mod numeric;
#[doc(hidden)]
pub mod posterior;
mod prediction;
mod predictor;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod trees;

pub use confidence::HeldOutResult;
pub use confidence::device::{Grounds, TimeBasis, device_for};
pub use engine::EngineKind;
pub use model::quality::Quality;
pub use model::trained::{Meta, Model};
pub use posterior::MeasuredConfig;
pub use prediction::Prediction;
pub use predictor::Predictor;
pub use search::candidate::{Candidate, Scored};
pub use search::query::Query;
pub use search::{Acquisition, Exhaustive};
pub use seqtune_kernel::{Config, Device, Error, Kernel, Objective, Problem, Result};

// what the other packages of this workspace need besides: no promise is made of it
#[doc(hidden)]
pub use model::settings::{Hparams, Settings};
