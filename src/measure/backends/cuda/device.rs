//! Discovery and description of NVIDIA GPUs through the driver, without a context.

use crate::backends::cuda::nvml;
use crate::executor::FoundDevice;
use cudarc::driver::sys::{self, CUresult};
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
use std::ffi::{CStr, c_char};

/// Checks a status code of the driver.
///
/// # Errors
/// The driver's message for a code other than success.
pub fn check(code: CUresult) -> std::result::Result<(), String> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text: *const c_char = std::ptr::null();
    // SAFETY: writes a pointer to a constant of the library, or null
    unsafe { sys::cuGetErrorString(code, &mut text) };
    match text.is_null() {
        true => Err(format!("CUDA error {}", code as u32)),
        // SAFETY: a constant of the library
        false => Err(format!("CUDA: {}", unsafe { CStr::from_ptr(text) }.to_string_lossy())),
    }
}

/// Initialises the driver and counts its devices.
///
/// # Errors
/// [`Error::Unavailable`] where the driver is not installed, fails or finds no device.
pub fn count() -> Result<i32> {
    // SAFETY: opens the driver's library, whose initialisers are those of any user of it
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::Unavailable("CUDA: libcuda.so.1, NVIDIA's driver, is not installed".into()));
    }
    let mut count = 0;
    // SAFETY: the library is there; it writes one number
    let found = unsafe { check(sys::cuInit(0)).and_then(|()| check(sys::cuDeviceGetCount(&mut count))) };
    match found {
        Ok(()) if count > 0 => Ok(count),
        Ok(()) => Err(Error::Unavailable("CUDA: the driver finds no device".into())),
        Err(e) => Err(Error::Unavailable(e)),
    }
}

/// Lists all NVIDIA GPUs.
///
/// # Errors
/// [`Error::Unavailable`] where there is no driver or no device, [`Error::Failed`] where a device cannot be described.
pub fn devices() -> Result<Vec<FoundDevice>> {
    let found = |i| {
        let device = describe(i)?;
        Ok(FoundDevice { id: format!("cuda:{i}"), device, bus: bus(i).ok().map(|b| b.to_lowercase()), same_as: None })
    };
    (0..count()?).map(found).collect()
}

/// A version of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion {
    /// Major number.
    pub major: i32,
    /// Minor number.
    pub minor: i32,
}

/// Newest version of CUDA that the driver supports.
pub fn driver_version() -> CudaVersion {
    let mut version = 0;
    // SAFETY: writes one number; an error leaves it as it is
    unsafe { sys::cuDriverGetVersion(&mut version) };
    CudaVersion { major: version / 1_000, minor: version % 1_000 / 10 }
}

/// Describes a device.
///
/// # Errors
/// [`Error::Unavailable`] where the device does not exist or a query fails.
pub fn describe(ordinal: i32) -> Result<Device> {
    let mut device = seqtune_devices::cuda::describe(ordinal)?;
    // not part of `driver`, which must not change while a sweep goes on elsewhere
    if let Ok(version) = nvml::driver_version() {
        device.source += &format!(", driver {version}");
    }
    Ok(device)
}

/// PCI bus address of a device, such as `0000:1b:00.0`.
///
/// # Errors
/// The driver's message where the device does not exist or the query fails.
pub fn bus(ordinal: i32) -> std::result::Result<String, String> {
    let (mut handle, mut text) = (0, [0u8; 32]);
    // SAFETY: writes at most the length given
    unsafe {
        check(sys::cuDeviceGet(&mut handle, ordinal))?;
        check(sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), text.len() as i32, handle))?;
    }
    CStr::from_bytes_until_nul(&text).map(|t| t.to_string_lossy().into_owned()).map_err(|e| e.to_string())
}
