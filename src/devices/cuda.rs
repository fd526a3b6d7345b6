//! NVIDIA's GPUs, through the driver's library.

use crate::functions::{Attributes, Get, Memory, Name, Version};
use crate::library::{find, open, text, text_in};
use crate::numbers::{Known, Numbers};
use libloading::Library;
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// Numbers of `CUdevice_attribute`.
const NUMBERS: Numbers = Numbers {
    group_items: [1, 2, 3, 4],
    local_memory: 8,
    group_registers: 12,
    sub_group: 10,
    clock: 13,
    cache: 38,
    memory: [36, 37],
};
const UNITS: i32 = 16;
const CAPABILITY: [i32; 2] = [75, 76];
const LOCAL_MEMORY_OPT_IN: i32 = 97;

/// Lanes of f32 arithmetic in a multiprocessor (CUDA C++ Programming Guide, arithmetic instructions).
fn lanes(capability: i32) -> f64 {
    match capability {
        50..=53 | 61 | 62 => 128.0,
        ..=80 => 64.0,
        _ => 128.0,
    }
}

fn library() -> Result<&'static Library> {
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    let missing = || Error::Unavailable("CUDA: libcuda.so.1, NVIDIA's driver, is not installed".into());
    let places = ["libcuda.so.1", "libcuda.so"].map(Into::into);
    LIBRARY.get_or_init(|| open("cuInit", &places)).ok_or_else(missing)
}

fn check(library: &Library, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    type ErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    let mut at: *const c_char = std::ptr::null();
    // SAFETY: the type is the function's; it writes a pointer to a constant of the library, or null
    let said = unsafe {
        find::<ErrorString>(library, "cuGetErrorString")?(code, &mut at);
        text(at)
    };
    Err(Error::Unavailable(said.map_or_else(|| format!("CUDA error {code}"), |said| format!("CUDA: {said}"))))
}

/// Describes the device of an ordinal, which `cuDeviceGet` and `cudaSetDevice` take.
///
/// # Errors
/// [`Error::Unavailable`] where there is no driver, no such device, or a query fails.
pub fn describe(ordinal: i32) -> Result<Device> {
    type Init = unsafe extern "C" fn(u32) -> c_int;
    let library = library()?;
    let is = |code| check(library, code);
    let (mut handle, mut name, mut bytes, mut version) = (0, [0u8; 256], 0, 0);
    // SAFETY: the types are the functions'; every call writes what it is given room for
    let attribute = unsafe {
        is(find::<Init>(library, "cuInit")?(0))?;
        is(find::<Get>(library, "cuDeviceGet")?(&mut handle, ordinal))
            .map_err(|e| e.at_place(format!("CUDA device {ordinal}")))?;
        is(find::<Name>(library, "cuDeviceGetName")?(name.as_mut_ptr(), name.len() as c_int, handle))?;
        is(find::<Memory>(library, "cuDeviceTotalMem_v2")?(&mut bytes, handle))?;
        is(find::<Version>(library, "cuDriverGetVersion")?(&mut version))?;
        Attributes(find(library, "cuDeviceGetAttribute")?)
    };
    let ask = attribute.reader(handle);
    let [major, minor] = CAPABILITY.map(|number| ask(number).unwrap_or(0.0) as i32);
    let capability = 10 * major + minor;
    let known = Known {
        units: ask(UNITS),
        lanes: lanes(capability),
        // the same on all architectures since 3.5; the driver does not report it
        item_registers: 255.0,
        bytes,
        local_memory_opt_in: ask(LOCAL_MEMORY_OPT_IN),
        group_registers: None,
        cache: None,
        transfers: Some(2.0),
    };
    let name = Some(text_in(&name)).filter(|name| !name.is_empty()).unwrap_or("NVIDIA GPU".into());
    let name = name.trim_start_matches("NVIDIA ");
    Ok(Device {
        aliases: Device::other_names(name),
        name: name.into(),
        vendor: "NVIDIA".into(),
        architecture: format!("sm_{capability}"),
        driver: format!("CUDA {}.{}", version / 1_000, version % 1_000 / 10),
        source: "asked of the device through CUDA".into(),
        limits: NUMBERS.limits(&ask, known),
    })
}
