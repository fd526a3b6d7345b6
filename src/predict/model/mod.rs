//! A model as it is stored: its file, its description, how it was trained, and on which part of the data.

pub mod file_format;
mod identity;
pub(crate) mod quality;
pub(crate) mod settings;
pub(crate) mod split;
pub(crate) mod trained;

pub use file_format::Decoded;
pub use settings::Target;
pub use split::{Part, Split};
