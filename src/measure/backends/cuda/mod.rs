//! NVIDIA GPUs through the driver API, opened at run time by cudarc. Programs come from [`crate::backends::cuda::nvrtc`].

use crate::backends::cuda::nvml::NvmlGpu as Nvml;
use crate::backends::cuda::nvrtc::newer_than;
use crate::backends::driver::{CompilerFor, Driver, DriverResult, Handle, Library, ordinal};
use crate::backends::gpu::Gpu;
use crate::clocks::setter::ClockSetter;
use crate::measuring::energy::EnergyMeter;
use cudarc::driver::sys::{self, CUresult};
use device::{bus, check, count, describe, driver_version};
use seqtune_data::Conditions;
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::OnceLock;

mod cublas;
mod device;
pub mod nvml;
pub mod nvrtc;
mod occupancy;

pub use device::devices;

/// CUDA driver of one GPU.
pub struct Cuda {
    ordinal: i32,
    /// Handle of NVML for the GPU.
    gpu: DriverResult<Nvml>,
}

/// Opens `cuda:N` with its compiler.
///
/// # Errors
/// `Error::Unavailable` where CUDA or the compiler is missing or the compiler's programs are too new for the driver, `Error::Input` where there is no such device.
pub fn open(id: &str, compiler_for: CompilerFor) -> Result<Gpu<Cuda>> {
    let ordinal = ordinal(id, "cuda", count()?)?;
    let device = describe(ordinal)?;
    let compiler = compiler_for(&device)?;
    if let Some(why) = too_new(&device) {
        return Err(Error::Unavailable(format!("CUDA: {why}")));
    }
    let gpu = match device.name.contains(" MIG ") {
        // the address is that of the whole GPU
        true => Err("a slice of a GPU (MIG) has no energy counter and no clocks of its own".into()),
        false => bus(ordinal).and_then(|bus| Nvml::open(&bus)),
    };
    Ok(Gpu::new(device, Cuda { ordinal, gpu }, compiler))
}

/// Why the driver takes no programs of the compiler that is here for a live device.
pub fn too_new(device: &Device) -> Option<String> {
    newer_than(driver_version(), &device.architecture)
}

// SAFETY, of all calls below: a library that is there is called with handles and memory that it gave or that outlive the call, as the
// trait asks of its callers; everything is on the default stream of the entered context.
impl Driver for Cuda {
    fn enter(&mut self) -> DriverResult<()> {
        let (mut handle, mut context) = (0, null_mut());
        // SAFETY: handles are written before they are used; the primary context lives as long as the process
        unsafe {
            check(sys::cuDeviceGet(&mut handle, self.ordinal))?;
            check(sys::cuDevicePrimaryCtxRetain(&mut context, handle))?;
            check(sys::cuCtxSetCurrent(context))
        }
    }

    fn synchronise(&self) -> DriverResult<()> {
        // SAFETY: takes no argument
        unsafe { check(sys::cuCtxSynchronize()) }
    }

    fn allocate(&self, bytes: usize) -> DriverResult<u64> {
        let mut pointer = 0;
        // SAFETY: writes one pointer
        unsafe { check(sys::cuMemAlloc_v2(&mut pointer, bytes))? };
        Ok(pointer)
    }

    fn free(&self, pointer: u64) {
        // SAFETY: allocated by this process, and nothing runs: launches are waited for
        unsafe { sys::cuMemFree_v2(pointer) };
    }

    fn write(&self, pointer: u64, data: &[u8]) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { check(sys::cuMemcpyHtoD_v2(pointer, data.as_ptr().cast(), data.len())) }
    }

    fn read(&self, pointer: u64, data: &mut [u8]) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { check(sys::cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), pointer, data.len())) }
    }

    fn overwrite(&self, pointer: u64, bytes: usize) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { check(sys::cuMemsetD8Async(pointer, 1, bytes, null_mut())) }
    }

    fn load(&self, code: &[u8], entry: &CStr, dynamic_local_bytes: u32) -> DriverResult<(Handle, Handle)> {
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: the image is one that NVRTC made
        unsafe {
            check(sys::cuModuleLoadData(&mut module, code.as_ptr().cast()))?;
            check(sys::cuModuleGetFunction(&mut function, module, entry.as_ptr()))?;
            if dynamic_local_bytes > 0 {
                let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                check(sys::cuFuncSetAttribute(function, attribute, dynamic_local_bytes as i32))?;
            }
        }
        Ok((module.cast(), function.cast()))
    }

    fn unload(&self, module: Handle) {
        // SAFETY: loaded by this process, and nothing of it runs
        unsafe { sys::cuModuleUnload(module.cast()) };
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
            check(sys::cuLaunchKernel(
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
            ))
        }
    }

    fn event(&self) -> DriverResult<Handle> {
        let mut event = null_mut();
        // SAFETY: writes a handle
        unsafe { check(sys::cuEventCreate(&mut event, 0))? };
        Ok(event.cast())
    }

    fn record(&self, event: Handle) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { check(sys::cuEventRecord(event.cast(), null_mut())) }
    }

    fn elapsed_ms(&self, start: Handle, end: Handle) -> DriverResult<f32> {
        type Elapsed = unsafe extern "C" fn(*mut f32, Handle, Handle) -> CUresult;
        static ASK: OnceLock<DriverResult<Elapsed>> = OnceLock::new();
        let found = ASK.get_or_init(|| {
            // SAFETY: the name and type are the driver's since CUDA 2; cudarc binds its successor only, which drivers before 12.8 lack
            let found = unsafe { sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0") };
            found.map(|ask| *ask).map_err(|e| format!("CUDA: {e}"))
        });
        let ask = found.as_ref().map_err(String::clone)?;
        let mut milliseconds = 0.0;
        // SAFETY: as above; the library is never closed
        unsafe { check(ask(&mut milliseconds, start, end))? };
        Ok(milliseconds)
    }

    fn wait(&self, event: Handle) -> DriverResult<()> {
        // SAFETY: as above
        unsafe { check(sys::cuEventSynchronize(event.cast())) }
    }

    fn conditions(&self) -> Option<Conditions> {
        self.gpu.as_ref().ok().and_then(Nvml::conditions)
    }

    fn meter(&self) -> DriverResult<Box<dyn EnergyMeter>> {
        Ok(Box::new(self.gpu.clone()?))
    }

    fn clocks(&self) -> DriverResult<Box<dyn ClockSetter>> {
        Ok(Box::new(self.gpu.clone()?))
    }

    fn library(&self) -> DriverResult<Box<dyn Library>> {
        Ok(Box::new(cublas::Cublas::open()?))
    }
}
