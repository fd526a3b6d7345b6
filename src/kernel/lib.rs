//! Describes GPU kernels with their tuning parameters, and says which configs are legal.
//!
//! A kernel is a folder with a `kernel.toml`: the fields of a problem, the parameters with their values, and constraints among them. From it
//! this crate counts the legal configs of a problem on a device exactly, draws them uniformly, and tells which value can still become legal,
//! all without listing the space. Nothing here predicts, measures or trains.
//!
//! # Example
//!
//! The shipped matrix transposition, on a device of the shipped table:
//!
//! ```
//! use seqtune_kernel::{ConfigSpace, Count, Device, Kernel};
//! use rand::SeedableRng;
//!
//! # fn main() -> seqtune_kernel::Result<()> {
//! let kernel = Kernel::open("transpose")?;
//! let device = Device::described("A100")?;
//! let problem = kernel.problem("rows=1000,columns=512")?;
//! let space = ConfigSpace::new(&kernel, &problem, &device);
//! assert!(matches!(space.counter().total(), Count::Exactly(_)));
//!
//! let mut draws = rand_chacha::ChaCha8Rng::seed_from_u64(1);
//! let config = space.counter().sample(&mut draws)?.unwrap();
//! assert!(space.is_legal(&config));
//! assert!(kernel.show_config(&config).starts_with(kernel.parameters[0].name.as_str()));
//! # Ok(())
//! # }
//! ```
//!
//! Errors are an enumeration to match on ([`Error`]); each holds a sentence for people.

mod api;
pub mod canonical;
mod clocks;
mod config;
pub mod count;
mod definition;
mod devices;
#[cfg(test)]
mod drawn;
pub mod elementary;
pub mod error;
mod exact;
pub mod expressions;
pub mod fetched;
pub mod files;
mod identity;
pub mod kernel_toml;
pub mod limits;
mod objective;
mod parameter;
mod plain;
mod problem;
mod run;
mod space;
pub mod spelling;
pub mod threads;
pub mod unpacking;
mod written;

pub use api::Api;
pub use clocks::{ClockExprs, Clocks};
pub use config::Config;
pub use count::counted;
pub use definition::{Argument, Constraint, Definition, Feature, Gemm, Integers, Kernel, Launch, Source};
pub use devices::names::listed;
pub use devices::{Device, LATER_LIMIT, LIMIT_NAMES, Limits};
pub use error::{Error, Result};
pub use exact::Exact;
pub use identity::{Difference, Identity};
pub use kernel_toml::check::is_kernel_name;
pub use kernel_toml::run_spec::{PatternSpec, RunSpec, Unit};
pub use kernel_toml::template::{PLACES, Template, variable};
pub use objective::Objective;
pub use parameter::Parameter;
pub use plain::{length_of_quoted, without_comments};
pub use problem::Problem;
pub use run::{Run, TimeSource};
pub use space::ConfigSpace;
pub use space::blame::ruled_out;
pub use space::checker::Checker;
pub use space::choices::{Choice, Choices, MOST_VALUES};
pub use space::counter::{Count, Counter};
pub use space::instances::Instances;
pub use space::look_ahead::NODE_BUDGET;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
