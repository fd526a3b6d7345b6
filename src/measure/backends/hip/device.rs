//! Discovery and description of AMD GPUs.

use crate::backends::driver::{DriverResult, failed};
use crate::backends::hip::api::{check, hip, library};
use crate::backends::hip::library::find;
use crate::executor::Found;
use hip_sys::hiprt::hipDeviceAttribute_t as Attribute;
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::{Device, Limits};
use std::ffi::{CStr, c_int};

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
pub fn devices() -> Result<Vec<Found>> {
    let found = |i| {
        let device = describe(i).map_err(failed("asking a GPU"))?;
        Ok(Found { id: format!("hip:{i}"), device, bus: bus(i).ok(), same_as: None })
    };
    (0..count()?).map(found).collect()
}

/// Architecture of a device, such as `gfx90a`.
///
/// The structure of its properties has another layout in HIP 6 than before, and grows. So it is read as bytes, more of them than any
/// version writes, and the name is searched in them.
fn architecture(ordinal: i32) -> DriverResult<String> {
    type Properties = unsafe extern "C" fn(*mut u8, c_int) -> u32;
    let library = library().ok_or("HIP is not installed")?;
    let mut bytes = vec![0u8; 16 << 10];
    // SAFETY: both write a structure of at most 2 KiB
    unsafe {
        let ask: Properties =
            find(library, "hipGetDevicePropertiesR0600").or_else(|_| find(library, "hipGetDeviceProperties"))?;
        check(ask(bytes.as_mut_ptr(), ordinal))?;
    }
    let at = bytes.windows(4).rposition(|w| w.starts_with(b"gfx") && w[3].is_ascii_digit());
    let name = at.and_then(|at| bytes[at..].split(|b| !b.is_ascii_alphanumeric()).next());
    name.map(|n| String::from_utf8_lossy(n).into_owned()).ok_or_else(|| "HIP tells no architecture".into())
}

/// Lanes of f32 arithmetic in a compute unit (AMD's architecture white papers): CDNA 3 and RDNA 3 issue two at once.
fn lanes(architecture: &str) -> f64 {
    match architecture.strip_prefix("gfx") {
        Some("90a" | "940" | "941" | "942" | "950") => 128.0,
        Some(rdna3) if rdna3.starts_with("11") || rdna3.starts_with("12") => 128.0,
        _ => 64.0,
    }
}

/// Describes a device.
///
/// # Errors
/// The message of HIP where the device does not exist or a query fails.
pub fn describe(ordinal: i32) -> DriverResult<Device> {
    let mut handle = 0;
    let mut name = [0u8; 256];
    let (mut bytes, mut version) = (0usize, 0);
    // SAFETY: every call writes what it is given room for
    unsafe {
        hip!(hipDeviceGet, &mut handle, ordinal)?;
        hip!(hipDeviceGetName, name.as_mut_ptr().cast(), name.len() as i32, handle)?;
        hip!(hipDeviceTotalMem, &mut bytes, handle)?;
        hip!(hipRuntimeGetVersion, &mut version)?;
    }
    // the numbers of these attributes are the same from HIP 5.2 on
    let ask = |attribute: Attribute| {
        let mut value = 0;
        // SAFETY: writes one number
        let asked = unsafe { hip!(hipDeviceGetAttribute, &mut value, attribute, ordinal) };
        asked.map(|()| value as f64).ok().filter(|v| *v > 0.0)
    };
    let architecture = architecture(ordinal)?;
    // some GPUs count pairs of units as one, unless the physical ones are queried
    let units = ask(Attribute::hipDeviceAttributePhysicalMultiProcessorCount)
        .or_else(|| ask(Attribute::hipDeviceAttributeMultiprocessorCount));
    let clock = ask(Attribute::hipDeviceAttributeClockRate).map(|khz| khz / 1e3);
    // two transfers a clock
    let bandwidth = ask(Attribute::hipDeviceAttributeMemoryClockRate)
        .zip(ask(Attribute::hipDeviceAttributeMemoryBusWidth))
        .map(|(khz, bits)| 2.0 * khz * 1e3 * bits / 8.0 / 1e9);
    let sub_group = ask(Attribute::hipDeviceAttributeWarpSize);
    let limits = Limits {
        max_group_items: ask(Attribute::hipDeviceAttributeMaxThreadsPerBlock),
        max_items_0: ask(Attribute::hipDeviceAttributeMaxBlockDimX),
        max_items_1: ask(Attribute::hipDeviceAttributeMaxBlockDimY),
        max_items_2: ask(Attribute::hipDeviceAttributeMaxBlockDimZ),
        local_memory: ask(Attribute::hipDeviceAttributeMaxSharedMemoryPerBlock),
        group_registers: ask(Attribute::hipDeviceAttributeMaxRegistersPerBlock),
        // vector registers that instructions can name
        item_registers: Some(256.0),
        sub_group,
        compute_units: units,
        clock_mhz: clock,
        cache_bytes: ask(Attribute::hipDeviceAttributeL2CacheSize),
        memory_bytes: Some(bytes as f64),
        bandwidth_gbs: bandwidth,
        f32_gflops: units.zip(clock).map(|(units, mhz)| units * lanes(&architecture) * 2.0 * mhz / 1e3),
        is_cpu: Some(0.0),
        // more than `local_memory` is not to be had; said where a wave could be taken for a warp
        local_memory_opt_in: (sub_group == Some(32.0)).then_some(0.0),
    };
    let name = CStr::from_bytes_until_nul(&name).map_or_else(|_| "".into(), CStr::to_string_lossy);
    Ok(Device {
        aliases: Vec::new(),
        // in containers HIP may not find the name
        name: if name.is_empty() { format!("AMD {architecture}") } else { name.into() },
        vendor: "AMD".into(),
        architecture,
        driver: format!("HIP {}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000),
        source: "asked of the device through HIP".into(),
        limits,
    })
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
