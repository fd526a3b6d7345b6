//! What may be chosen? Kernels with their tuning spaces, problems, devices and legality.
//!
//! A kernel is a folder with a `kernel.toml`; a new one needs no Rust.

mod api;
mod blame;
mod bounds;
mod check;
mod checker;
mod choices;
mod clocks;
mod compiled;
mod config;
mod counter;
mod counts;
mod definition;
mod device;
mod device_name;
mod dialect;
mod exact;
pub mod expr;
mod fold;
mod identity;
mod include;
mod instances;
mod load;
mod look_ahead;
mod machine;
mod names;
mod objective;
mod parameter;
mod parse;
mod plain;
mod problem;
mod run;
mod run_spec;
mod space;
pub mod spec;
mod template;
mod version;
mod written;

pub use api::Api;
pub use blame::ruled_out;
pub use check::is_kernel_name;
pub use checker::Checker;
pub use choices::{Choice, Choices, MOST_VALUES};
pub use clocks::{ClockExprs, Clocks};
pub use config::Config;
pub use counter::{Count, Counter};
pub use definition::{Argument, Constraint, Definition, Feature, Gemm, Integers, Kernel, Launch, Source};
pub use device::{Device, LATER_LIMIT, LIMIT_NAMES, Limits};
pub use device_name::listed;
pub use exact::Exact;
pub use identity::{Difference, Identity};
pub use instances::Instances;
pub use look_ahead::NODE_BUDGET;
pub use objective::Objective;
pub use parameter::Parameter;
pub use plain::{length_of_quoted, without_comments};
pub use problem::Problem;
pub use run::{Run, TimeSource};
pub use run_spec::{PatternSpec, RunSpec, Unit};
pub use space::ConfigSpace;
pub use template::{PLACES, Template, variable};

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
