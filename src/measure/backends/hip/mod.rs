//! AMD GPUs through HIP, opened at run time. Programs come from hipRTC or from clang.

mod api;
mod clang;
mod code_object;
mod compiler;
mod device;
pub mod dpm;
mod driver;
mod hwmon;
mod library;
mod occupancy;
mod program;
pub mod rtc;
mod smi;

pub use compiler::compiler;
pub use device::devices;
pub use driver::{Hip, open};
