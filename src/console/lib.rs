//! The command line as all programs of seqtune share it: arguments, files, answers, progress and signals.

pub mod answer;
pub mod arguments;
pub mod inputs;
pub mod outputs;
pub mod program;
pub mod progress;
pub mod renamed_options;
pub mod siblings;
pub mod signals;
pub mod value_parsers;
