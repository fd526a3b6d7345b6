//! Discovery and description of NVIDIA GPUs through the driver, without a context.

use crate::backends::cuda::nvml;
use crate::backends::driver::failed;
use crate::executor::Found;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::{Device, Limits};
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
pub fn devices() -> Result<Vec<Found>> {
    let found = |i| {
        let device = describe(i).map_err(failed("asking a GPU"))?;
        Ok(Found { id: format!("cuda:{i}"), device, bus: bus(i).ok().map(|b| b.to_lowercase()), same_as: None })
    };
    (0..count()?).map(found).collect()
}

/// Lanes of f32 arithmetic in a multiprocessor (CUDA C++ Programming Guide, arithmetic instructions).
fn lanes(capability: i32) -> f64 {
    match capability {
        ..=80 => 64.0,
        _ => 128.0,
    }
}

/// Newest version of CUDA that the driver supports, as major and minor.
pub fn driver_version() -> (i32, i32) {
    let mut version = 0;
    // SAFETY: writes one number; an error leaves it as it is
    unsafe { sys::cuDriverGetVersion(&mut version) };
    (version / 1_000, version % 1_000 / 10)
}

/// Describes a device.
///
/// # Errors
/// The driver's message where the device does not exist or a query fails.
pub fn describe(ordinal: i32) -> std::result::Result<Device, String> {
    let mut handle = 0;
    let mut name = [0u8; 256];
    let mut bytes = 0;
    // SAFETY: every call writes what it is given room for
    unsafe {
        check(sys::cuDeviceGet(&mut handle, ordinal))?;
        check(sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, handle))?;
        check(sys::cuDeviceTotalMem_v2(&mut bytes, handle))?;
    }
    let ask = |attribute: Attribute| {
        let mut value = 0;
        // SAFETY: writes one number
        let asked = unsafe { check(sys::cuDeviceGetAttribute(&mut value, attribute, handle)) };
        asked.map(|()| value as f64).ok().filter(|v| *v > 0.0)
    };
    let capability = 10.0 * ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR).unwrap_or(0.0)
        + ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR).unwrap_or(0.0);
    let units = ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let clock = ask(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).map(|khz| khz / 1e3);
    // two transfers a clock
    let bandwidth = ask(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
        .zip(ask(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH))
        .map(|(khz, bits)| 2.0 * khz * 1e3 * bits / 8.0 / 1e9);
    let limits = Limits {
        max_group_items: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        max_items_0: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
        max_items_1: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
        max_items_2: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
        local_memory: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        group_registers: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        // the same on all architectures since 3.5; the driver does not report it
        item_registers: Some(255.0),
        sub_group: ask(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        compute_units: units,
        clock_mhz: clock,
        cache_bytes: ask(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        memory_bytes: Some(bytes as f64),
        bandwidth_gbs: bandwidth,
        f32_gflops: units.zip(clock).map(|(units, mhz)| units * lanes(capability as i32) * 2.0 * mhz / 1e3),
        is_cpu: Some(0.0),
        local_memory_opt_in: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    };
    let (major, minor) = driver_version();
    let name = CStr::from_bytes_until_nul(&name).map_or_else(|_| "NVIDIA GPU".into(), CStr::to_string_lossy);
    Ok(Device {
        aliases: Vec::new(),
        name: name.trim_start_matches("NVIDIA ").into(),
        vendor: "NVIDIA".into(),
        architecture: format!("sm_{capability}"),
        driver: format!("CUDA {major}.{minor}"),
        // not part of `driver`, which must not change while a sweep goes on elsewhere
        source: format!(
            "asked of the device through CUDA{}",
            nvml::driver_version().map_or(String::new(), |version| format!(", driver {version}"))
        ),
        limits,
    })
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
