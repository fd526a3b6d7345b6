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
//! let device = Device::find_described("A100")?;
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
//! The names below are the library's interface. Modules are open to the other packages of seqtune only, without promises.
//!
//! Errors are an enumeration to match on ([`Error`]); each holds a sentence for people.

mod api;
#[doc(hidden)]
pub mod c_tokens;
#[doc(hidden)]
pub mod canonical;
mod clocks;
mod config;
#[doc(hidden)]
pub mod count;
mod define;
mod definition;
mod devices;
#[cfg(test)]
mod drawn;
#[doc(hidden)]
pub mod elementary;
#[doc(hidden)]
pub mod error;
mod exact;
#[doc(hidden)]
pub mod expressions;
#[doc(hidden)]
pub mod fetched;
#[doc(hidden)]
pub mod files;
mod identity;
#[doc(hidden)]
pub mod kernel_toml;
#[doc(hidden)]
pub mod limits;
mod objective;
mod parameter;
mod plain;
mod problem;
mod run;
mod source_check;
mod space;
#[doc(hidden)]
pub mod spelling;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod unpacking;
mod written;

pub use api::Api;
pub use config::Config;
pub use definition::{Constraint, Definition, Kernel};
pub use devices::{Device, Limits};
pub use error::{Error, Result};
pub use kernel_toml::spec::{Field, FieldKind};
pub use objective::Objective;
pub use parameter::Parameter;
pub use problem::Problem;
pub use space::ConfigSpace;
pub use space::blame::ruled_out;
pub use space::checker::Checker;
pub use space::choices::{Choice, Choices};
pub use space::counter::{Count, Counter};

// what the other packages of this workspace need besides: no promise is made of it
#[doc(hidden)]
pub use clocks::{ClockExprs, Clocks};
#[doc(hidden)]
pub use count::count_noun;
#[doc(hidden)]
pub use define::Define;
#[doc(hidden)]
pub use definition::{Argument, Feature, Gemm, Integers, Launch, Source};
#[doc(hidden)]
pub use devices::names::list_names;
#[doc(hidden)]
pub use devices::{LATER_LIMIT, LIMIT_NAMES};
#[doc(hidden)]
pub use exact::Exact;
#[doc(hidden)]
pub use identity::{Difference, Identity};
#[doc(hidden)]
pub use kernel_toml::check::is_kernel_name;
#[doc(hidden)]
pub use kernel_toml::run_spec::{PatternSpec, RunSpec, Unit};
#[doc(hidden)]
pub use kernel_toml::template::{PLACES, Template, variable};
#[doc(hidden)]
pub use plain::without_comments;
#[doc(hidden)]
pub use run::{Run, Surroundings, TimeSource};
#[doc(hidden)]
pub use space::choices::MOST_VALUES;
#[doc(hidden)]
pub use space::instances::Instances;
#[doc(hidden)]
pub use space::look_ahead::NODE_BUDGET;

/// Lower-case hexadecimal.
#[doc(hidden)]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
