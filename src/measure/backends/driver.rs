//! Driver calls that CUDA and HIP have in common.

use crate::clocks::setter::ClockSetter;
use crate::compile::{Cached, Compiler};
use crate::executor::GemmCall;
use crate::measuring::energy::EnergyMeter;
use seqtune_data::Conditions;
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
use std::ffi::{CStr, c_void};

/// Result of a driver call, with the driver's message on failure.
pub type DriverResult<T> = std::result::Result<T, String>;

/// Opaque handle of a driver's object.
pub type Handle = *mut c_void;

/// Calls of an API on one device, of which [`Driver::enter`] has to be the first.
pub trait Driver {
    /// Makes the device current for this thread.
    ///
    /// # Errors
    /// The driver's message where the device has no context.
    fn enter(&mut self) -> DriverResult<()>;
    /// Waits for all enqueued work.
    ///
    /// # Errors
    /// The driver's message where work has failed, which may recur at every later call.
    fn synchronise(&self) -> DriverResult<()>;

    /// Allocates device memory and returns its address.
    ///
    /// # Errors
    /// The driver's message where the memory cannot be allocated.
    fn allocate(&self, bytes: usize) -> DriverResult<u64>;
    /// Frees device memory.
    fn free(&self, pointer: u64);
    /// Copies `data` to device memory of at least that size, and waits.
    ///
    /// # Errors
    /// The driver's message where the copy fails.
    fn write(&self, pointer: u64, data: &[u8]) -> DriverResult<()>;
    /// Copies device memory of at least that size into `data`, and waits.
    ///
    /// # Errors
    /// The driver's message where the copy fails.
    fn read(&self, pointer: u64, data: &mut [u8]) -> DriverResult<()>;
    /// Enqueues an overwrite of `bytes` bytes.
    ///
    /// # Errors
    /// The driver's message where the overwrite cannot be enqueued.
    fn overwrite(&self, pointer: u64, bytes: usize) -> DriverResult<()>;

    /// Loads a program and returns its module and function, which may use that much dynamic local memory.
    ///
    /// # Errors
    /// The driver's message where the program does not load, or has no function `entry`.
    fn load(&self, code: &[u8], entry: &CStr, dynamic_local_bytes: u32) -> DriverResult<(Handle, Handle)>;
    /// Unloads a module.
    fn unload(&self, module: Handle);
    /// Enqueues a launch of `grid`, in work-groups and work-items of a work-group; each argument points at its value.
    ///
    /// # Errors
    /// The driver's message where the launch is rejected.
    fn launch(
        &self,
        function: Handle,
        grid: [[u32; 3]; 2],
        local_bytes: u32,
        arguments: &mut [Handle],
    ) -> DriverResult<()>;

    /// Creates an event.
    ///
    /// # Errors
    /// The driver's message where the event cannot be created.
    fn event(&self) -> DriverResult<Handle>;
    /// Enqueues an event.
    ///
    /// # Errors
    /// The driver's message where the event cannot be enqueued.
    fn record(&self, event: Handle) -> DriverResult<()>;
    /// Time between two completed events in milliseconds.
    ///
    /// # Errors
    /// The driver's message where an event is not complete.
    fn elapsed_ms(&self, start: Handle, end: Handle) -> DriverResult<f32>;
    /// Waits for an event; one that was never recorded counts as complete.
    ///
    /// # Errors
    /// The driver's message where work before the event has failed.
    fn wait(&self, event: Handle) -> DriverResult<()>;

    /// Current state of the device, where the API reports it.
    fn conditions(&self) -> Option<Conditions> {
        None
    }
    /// Opens the energy counter of the device.
    ///
    /// # Errors
    /// A message where the device has no working counter.
    fn meter(&self) -> DriverResult<Box<dyn EnergyMeter>>;
    /// What sets the clocks of the device.
    ///
    /// # Errors
    /// A message where nothing does.
    fn clocks(&self) -> DriverResult<Box<dyn ClockSetter>>;
    /// Opens the vendor's library in the current context.
    ///
    /// # Errors
    /// A message where there is no such library.
    fn library(&self) -> DriverResult<Box<dyn Library>> {
        Err("there is no vendor's library that works through this API".into())
    }
}

/// Vendor's library of tuned routines on one device.
pub trait Library {
    /// Name and version.
    fn name(&self) -> String;
    /// Enqueues a matrix product on the device addresses of A, B and C.
    ///
    /// # Errors
    /// The library's message where the product is rejected.
    fn multiply(&self, product: &GemmCall, matrices: [u64; 3]) -> DriverResult<()>;
}

/// Function that opens the compiler for a device.
pub type CompilerFor = fn(&Device) -> Result<Cached<Box<dyn Compiler>>>;

/// Parses the number of a device id such as `cuda:1`, below `count`.
///
/// # Errors
/// [`Error::Input`] where the id is malformed or out of range.
pub fn ordinal(id: &str, api: &str, count: i32) -> Result<i32> {
    let ordinal = id.strip_prefix(api).and_then(|rest| rest.strip_prefix(':')?.parse().ok());
    match ordinal.filter(|n| (0..count).contains(n)) {
        Some(ordinal) => Ok(ordinal),
        None => Err(Error::Input(format!("no device `{id}`: there are {count}, from {api}:0"))),
    }
}

/// Converts a driver's message to [`Error::Failed`], after the name of the action.
pub fn driver_error(what: &str) -> impl Fn(String) -> Error + '_ {
    move |e| Error::Failed(format!("{what}: {e}"))
}
