//! HIP driver of one AMD GPU.

use crate::backends::driver::{CompilerFor, Driver, DriverResult, Handle, ordinal};
use crate::backends::gpu::Gpu;
use crate::backends::hip::api::hip;
use crate::backends::hip::device::{bus, count};
use crate::backends::hip::dpm::Dpm;
use crate::backends::hip::{hwmon, smi};
use crate::clocks::setter::ClockSetter;
use crate::measuring::energy::EnergyMeter;
use hip_sys::hiprt::{hipEvent_t, hipFunction_t, hipModule_t};
use seqtune_data::Conditions;
use seqtune_devices::hip::describe;
use seqtune_kernel::error::Result;
use std::ffi::CStr;
use std::ptr::null_mut;

/// HIP driver of one GPU.
pub struct Hip {
    ordinal: i32,
    bus: DriverResult<String>,
}

/// Opens `hip:N` with its compiler.
///
/// # Errors
/// `Error::Unavailable` where HIP or the compiler is missing, `Error::Input` where there is no such device.
pub fn open(id: &str, compiler_for: CompilerFor) -> Result<Gpu<Hip>> {
    let ordinal = ordinal(id, "hip", count()?)?;
    let device = describe(ordinal)?;
    let compiler = compiler_for(&device)?;
    Ok(Gpu::new(device, Hip { ordinal, bus: bus(ordinal) }, compiler))
}

// SAFETY, of all calls below: a library that is there is called with handles and memory that it gave or that outlive the call, as the
// trait asks of its callers; everything is on the default stream of the device that was set.
impl Driver for Hip {
    fn enter(&mut self) -> DriverResult<()> {
        // SAFETY: takes a number
        unsafe { hip!(hipSetDevice, self.ordinal) }
    }

    fn synchronise(&self) -> DriverResult<()> {
        // SAFETY: takes no argument
        unsafe { hip!(hipDeviceSynchronize) }
    }

    fn allocate(&self, bytes: usize) -> DriverResult<u64> {
        let mut pointer = null_mut();
        // SAFETY: writes one pointer
        unsafe { hip!(hipMalloc, &mut pointer, bytes)? };
        Ok(pointer as u64)
    }

    fn free(&self, pointer: u64) {
        // SAFETY: allocated by this process, and nothing runs: launches are waited for
        let _ = unsafe { hip!(hipFree, pointer as Handle) };
    }

    fn write(&self, pointer: u64, data: &[u8]) -> DriverResult<()> {
        // SAFETY: as above; the source is only read
        unsafe { hip!(hipMemcpyHtoD, pointer as Handle, data.as_ptr().cast_mut().cast(), data.len()) }
    }

    fn read(&self, pointer: u64, data: &mut [u8]) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { hip!(hipMemcpyDtoH, data.as_mut_ptr().cast(), pointer as Handle, data.len()) }
    }

    fn overwrite(&self, pointer: u64, bytes: usize) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { hip!(hipMemsetD8Async, pointer as Handle, 1, bytes, null_mut()) }
    }

    /// Loads a program; dynamic local memory needs no opt-in.
    fn load(&self, code: &[u8], entry: &CStr, _dynamic_local_bytes: u32) -> DriverResult<(Handle, Handle)> {
        let (mut module, mut function): (hipModule_t, hipFunction_t) = (null_mut(), null_mut());
        // SAFETY: the code object is one that a compiler made
        unsafe {
            hip!(hipModuleLoadData, &mut module, code.as_ptr().cast())?;
            hip!(hipModuleGetFunction, &mut function, module, entry.as_ptr())?;
        }
        Ok((module.cast(), function.cast()))
    }

    fn unload(&self, module: Handle) {
        // SAFETY: loaded by this process, and nothing of it runs
        let _ = unsafe { hip!(hipModuleUnload, module.cast()) };
    }

    fn launch(
        &self,
        function: Handle,
        grid: [[u32; 3]; 2],
        local_bytes: u32,
        arguments: &mut [Handle],
    ) -> DriverResult<()> {
        let [groups, items] = grid;
        // SAFETY: number and kinds of the arguments are those of kernel.toml, which describes the signature
        unsafe {
            hip!(
                hipModuleLaunchKernel,
                function.cast(),
                groups[0],
                groups[1],
                groups[2],
                items[0],
                items[1],
                items[2],
                local_bytes,
                null_mut(),
                arguments.as_mut_ptr(),
                null_mut(),
            )
        }
    }

    fn event(&self) -> DriverResult<Handle> {
        let mut event: hipEvent_t = null_mut();
        // SAFETY: writes a handle
        unsafe { hip!(hipEventCreate, &mut event)? };
        Ok(event.cast())
    }

    fn record(&self, event: Handle) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { hip!(hipEventRecord, event.cast(), null_mut()) }
    }

    fn elapsed_ms(&self, start: Handle, end: Handle) -> DriverResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: writes one number
        unsafe { hip!(hipEventElapsedTime, &mut milliseconds, start.cast(), end.cast())? };
        Ok(milliseconds)
    }

    fn wait(&self, event: Handle) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { hip!(hipEventSynchronize, event.cast()) }
    }

    fn conditions(&self) -> Option<Conditions> {
        hwmon::conditions(self.bus.as_ref().ok()?)
    }

    fn meter(&self) -> DriverResult<Box<dyn EnergyMeter>> {
        Ok(Box::new(smi::Counter::open(self.bus.as_ref()?)?))
    }

    fn clocks(&self) -> DriverResult<Box<dyn ClockSetter>> {
        Ok(Box::new(Dpm::open(self.bus.as_ref()?)))
    }
}
