//! Discovery and description of AMD GPUs.

use crate::backends::driver::DriverResult;
use crate::backends::hip::api::{hip, library};
use crate::executor::FoundDevice;
use seqtune_devices::hip::describe;
use seqtune_kernel::error::{Error, Result};
use std::ffi::CStr;

/// Number of devices.
///
/// # Errors
/// [`Error::Unavailable`] where HIP is not installed or finds no device.
pub fn count() -> Result<i32> {
    if library().is_none() {
        return Err(Error::Unavailable("HIP: libamdhip64.so, AMD's run-time library, is not installed".into()));
    }
    let mut count = 0;
    // SAFETY: writes one number
    match unsafe { hip!(hipGetDeviceCount, &mut count) } {
        Ok(()) if count > 0 => Ok(count),
        Ok(()) => Err(Error::Unavailable("HIP: the driver finds no device".into())),
        Err(e) => Err(Error::Unavailable(format!("{e}: the driver finds no device"))),
    }
}

/// Lists all AMD GPUs.
///
/// # Errors
/// [`Error::Unavailable`] where HIP is not installed or finds no device, [`Error::Failed`] where a device cannot be described.
pub fn devices() -> Result<Vec<FoundDevice>> {
    let found = |i| {
        let device = describe(i)?;
        Ok(FoundDevice { id: format!("hip:{i}"), device, bus: bus(i).ok(), same_as: None })
    };
    (0..count()?).map(found).collect()
}

/// PCI bus address of a device, such as `0000:1b:00.0`.
///
/// # Errors
/// The message of HIP where the device does not exist or the query fails.
pub fn bus(ordinal: i32) -> DriverResult<String> {
    let mut text = [0u8; 64];
    // SAFETY: writes at most the length given
    unsafe { hip!(hipDeviceGetPCIBusId, text.as_mut_ptr().cast(), text.len() as i32, ordinal)? };
    let text = CStr::from_bytes_until_nul(&text).map_err(|e| e.to_string())?;
    Ok(text.to_string_lossy().to_lowercase())
}
