//! What CUDA and HIP have in common: a driver's calls, asked of their makers' APIs.

use crate::compile::{Cached, Compiler};
use crate::executor::GemmCall;
use crate::measuring::energy::EnergyMeter;
use seqtune_data::Conditions;
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::Device;
use std::ffi::{CStr, c_void};

/// What a call said: the sentence of a failure.
pub type DriverResult<T> = std::result::Result<T, String>;

/// Handles of a driver's.
pub type Handle = *mut c_void;

/// The calls of an API on one device. Every call but [`Driver::enter`] needs it to have been made.
pub trait Driver {
    /// Makes the device this thread's.
    fn enter(&mut self) -> DriverResult<()>;
    /// Waits for everything enqueued; an error of the context comes back from every call after it.
    fn synchronise(&self) -> DriverResult<()>;

    /// Device memory, by its address.
    fn allocate(&self, bytes: usize) -> DriverResult<u64>;
    fn free(&self, pointer: u64);
    /// Copies, which are done when the call returns. The memory holds as many bytes.
    fn write(&self, pointer: u64, data: &[u8]) -> DriverResult<()>;
    fn read(&self, pointer: u64, data: &mut [u8]) -> DriverResult<()>;
    /// Enqueues the overwriting of so many bytes.
    fn overwrite(&self, pointer: u64, bytes: usize) -> DriverResult<()>;

    /// Module and function of a finished program that asks for so many bytes of local memory at launch.
    fn load(&self, code: &[u8], entry: &CStr, dynamic_local_bytes: u32) -> DriverResult<(Handle, Handle)>;
    fn unload(&self, module: Handle);
    /// Enqueues a launch of `grid` work-groups of work-items; each argument points at its value.
    fn launch(
        &self,
        function: Handle,
        grid: [[u32; 3]; 2],
        local_bytes: u32,
        arguments: &mut [Handle],
    ) -> DriverResult<()>;

    fn event(&self) -> DriverResult<Handle>;
    fn record(&self, event: Handle) -> DriverResult<()>;
    /// Milliseconds between two events that have happened.
    fn elapsed(&self, start: Handle, end: Handle) -> DriverResult<f32>;
    /// Waits for an event; one that was never recorded has happened.
    fn wait(&self, event: Handle) -> DriverResult<()>;

    /// How the device is now, where the API tells.
    fn conditions(&self) -> Option<Conditions> {
        None
    }
    /// The device's counter of energy.
    fn meter(&self) -> DriverResult<Box<dyn EnergyMeter>>;
    /// The vendor's library, opened in the current context.
    fn library(&self) -> DriverResult<Box<dyn Library>> {
        Err("there is no vendor's library that works through this API".into())
    }
}

/// A vendor's library of tuned routines, on one device.
pub trait Library {
    /// Name and version.
    fn name(&self) -> String;
    /// Enqueues a product of matrices at these addresses.
    fn multiply(&self, product: &GemmCall, matrices: [u64; 3]) -> DriverResult<()>;
}

/// Finds the compiler for a device.
pub type CompilerFor = fn(&Device) -> Result<Cached<Box<dyn Compiler>>>;

/// The number of `cuda:1`, of as many devices as there are.
pub fn ordinal(id: &str, api: &str, count: i32) -> Result<i32> {
    let ordinal = id.strip_prefix(api).and_then(|rest| rest.strip_prefix(':')?.parse().ok());
    match ordinal.filter(|n| (0..count).contains(n)) {
        Some(ordinal) => Ok(ordinal),
        None => Err(Error::Input(format!("no device `{id}`: there are {count}, from {api}:0"))),
    }
}

pub fn failed(what: &str) -> impl Fn(String) -> Error + '_ {
    move |e| Error::Failed(format!("{what}: {e}"))
}
