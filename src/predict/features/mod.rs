//! How problems and configs become numbers: a model's vocabulary, and the encodings that a network takes in.

pub mod featurizer;
pub(crate) mod input_feature;
pub(crate) mod sequence;
pub mod vocabulary;

pub use featurizer::{Featurizer, Instance};
pub use input_feature::{CHOICE_INTERVALS, INTERVALS, InputFeature, Kind, Scale};
pub use sequence::Sequence;
pub use vocabulary::{KernelVocab, OBJECTIVE, Vocab};
