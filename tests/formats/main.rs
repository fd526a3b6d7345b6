//! Files: datasets and journals of our own, and those of other tools.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)] // the properties of kernels use the rest
#[path = "../common/invented.rs"]
mod invented;

mod clblast;
mod clocks;
mod datasets;
mod export_miopen;
mod files;
mod imports;
mod inductor_log;
mod miopen;
mod miopen_kinds;
mod older_journals;
mod other_tuners;
mod pytorch;
mod reported;
