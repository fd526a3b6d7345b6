//! Devices that compile, verify and time kernels and measure their energy, and sweeps over configs.
//!
//! Each API has a backend behind the trait [`Executor`]. Kernels run in a child process ([`worker`]), because a faulty kernel can
//! kill or hang its process.

pub mod backends;
pub mod batch;
pub mod clocks;
pub mod compile;
#[cfg(test)]
#[path = "../kernel/drawn.rs"]
mod drawn;
pub mod engine;
pub mod executor;
pub mod launch;
pub mod measuring;
pub(crate) mod processes;
pub mod programs;
pub mod races;
pub mod registry;
pub mod sweep;
pub mod verify;
pub mod worker;

pub use processes::guard::end_with_parent;

pub use executor::{BufferId, Executor, FoundDevice, GemmCall, KernelArg, ProgramId, Timing};
pub use launch::LaunchDims;
pub use processes::guard::forget_handlers;
pub use registry::{compiler_for, devices, is_live, live_device, open};
