//! What happens if a config is chosen? Devices that compile, verify, time and meter kernels, and sweeps over them.
//!
//! One trait ([`Executor`]), one backend per API. Everything that runs a kernel runs in a child process ([`worker`]), because
//! a wrong kernel can kill or hang the process that it runs in.

pub mod backends;
pub mod batch;
pub mod compile;
pub mod engine;
pub mod executor;
pub mod measuring;
pub mod registry;
pub mod sweep;
pub mod verify;
pub mod worker;

pub use executor::{BufferId, Executor, Found, GemmCall, KernelArg, LaunchDims, ProgramId, Timing};
pub use registry::{compiler_for, devices, is_live, live_device, open};
pub use verify::workload::geometry;
