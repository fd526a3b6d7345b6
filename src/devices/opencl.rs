//! OpenCL's devices, through the loader.

use crate::library::{find, open, text_in};
use libloading::Library;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Device, Limits};
use std::ffi::c_void;
use std::sync::OnceLock;

/// Numbers of `cl_device_info`.
const TYPE: u32 = 0x1000;
const MAX_COMPUTE_UNITS: u32 = 0x1002;
const MAX_WORK_GROUP_SIZE: u32 = 0x1004;
const MAX_WORK_ITEM_SIZES: u32 = 0x1005;
const MAX_CLOCK_FREQUENCY: u32 = 0x100C;
const GLOBAL_MEM_CACHE_SIZE: u32 = 0x101E;
const GLOBAL_MEM_SIZE: u32 = 0x101F;
const LOCAL_MEM_SIZE: u32 = 0x1023;
const NAME: u32 = 0x102B;
const VENDOR: u32 = 0x102C;
const DRIVER_VERSION: u32 = 0x102D;
const VERSION: u32 = 0x102F;
const BOARD_NAME_AMD: u32 = 0x4038;
/// Bit of a CPU in a device's type.
const TYPE_CPU: u64 = 2;
/// Bits of every type.
const TYPE_ALL: u64 = 0xFFFF_FFFF;

fn library() -> Result<&'static Library> {
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    let missing = || Error::Unavailable("OpenCL: libOpenCL.so.1 is not installed".into());
    let places = ["libOpenCL.so.1", "libOpenCL.so"].map(Into::into);
    LIBRARY.get_or_init(|| open("clGetDeviceInfo", &places)).ok_or_else(missing)
}

type Info = unsafe extern "C" fn(*mut c_void, u32, usize, *mut u8, *mut usize) -> i32;

/// A device that is asked.
struct Asked {
    info: Info,
    id: *mut c_void,
}

impl Asked {
    /// What the device states under a number: at most 1 KiB.
    fn bytes(&self, number: u32) -> Result<Vec<u8>> {
        let (mut bytes, mut length) = (vec![0; 1 << 10], 0);
        // SAFETY: the caller of `describe` promises a device; the function writes at most the length given
        let code = unsafe { (self.info)(self.id, number, bytes.len(), bytes.as_mut_ptr(), &mut length) };
        if code != 0 {
            return Err(Error::Failed(format!("OpenCL: asking a device for {number:#x}: error {code}")));
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    fn text(&self, number: u32) -> Result<String> {
        self.bytes(number).map(|bytes| text_in(&bytes))
    }

    /// A whole number of four or eight bytes.
    fn number(&self, number: u32) -> Result<u64> {
        let bytes = self.bytes(number)?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | *byte as u64))
    }
}

/// Platforms and devices of each that are asked at most.
const MOST: usize = 64;

/// Describes all devices of all platforms, in the order of the loader; none where there is no OpenCL. One that is not to be described is left out.
pub fn devices() -> Vec<Device> {
    type Platforms = unsafe extern "C" fn(u32, *mut *mut c_void, *mut u32) -> i32;
    type Devices = unsafe extern "C" fn(*mut c_void, u64, u32, *mut *mut c_void, *mut u32) -> i32;
    let found = || -> Result<Vec<Device>> {
        let library = library()?;
        // SAFETY: the types are the functions'
        let (platforms, devices) =
            unsafe { (find::<Platforms>(library, "clGetPlatformIDs")?, find::<Devices>(library, "clGetDeviceIDs")?) };
        let mut all = Vec::new();
        // SAFETY: each call writes at most as many as there is room for, and their number
        for platform in ids(&|count, ids, found| unsafe { platforms(count, ids, found) }) {
            // SAFETY: likewise
            for id in ids(&|count, ids, found| unsafe { devices(platform, TYPE_ALL, count, ids, found) }) {
                // SAFETY: the loader gave the device
                all.extend(unsafe { describe(id) }.ok());
            }
        }
        Ok(all)
    };
    found().unwrap_or_default()
}

/// What a function gives that writes handles and their number; none where it fails.
fn ids(get: &dyn Fn(u32, *mut *mut c_void, *mut u32) -> i32) -> Vec<*mut c_void> {
    let (mut ids, mut count) = (vec![std::ptr::null_mut(); MOST], 0);
    let code = get(MOST as u32, ids.as_mut_ptr(), &mut count);
    ids.truncate(if code == 0 { count as usize } else { 0 });
    ids
}

/// Describes a device by its `cl_device_id`.
///
/// # Errors
/// [`Error::Unavailable`] where there is no OpenCL, [`Error::Failed`] where a query fails.
///
/// # Safety
/// `id` is a device's that `clGetDeviceIDs` gave.
pub unsafe fn describe(id: *mut c_void) -> Result<Device> {
    // SAFETY: the type is the function's
    let device = Asked { info: unsafe { find::<Info>(library()?, "clGetDeviceInfo")? }, id };
    let ask = |number: u32| Ok(Some(device.number(number)? as f64));
    let is_cpu = device.number(TYPE)? & TYPE_CPU != 0;
    let sizes = device.bytes(MAX_WORK_ITEM_SIZES)?;
    let size = |at: usize| {
        let bytes = sizes.chunks_exact(size_of::<usize>()).nth(at)?;
        Some(usize::from_ne_bytes(bytes.try_into().ok()?) as f64)
    };
    let name = device.text(NAME)?;
    // AMD reports the architecture as the name, and the name of the board besides
    let architecture = name.split(':').next().filter(|n| n.starts_with("gfx")).unwrap_or_default().to_string();
    let cache = ask(GLOBAL_MEM_CACHE_SIZE)?.filter(|bytes| *bytes > 0.0);
    let limits = Limits {
        max_group_items: ask(MAX_WORK_GROUP_SIZE)?,
        max_items_0: size(0),
        max_items_1: size(1),
        max_items_2: size(2),
        local_memory: ask(LOCAL_MEM_SIZE)?,
        // OpenCL does not report registers; a CPU spills to its stack instead
        group_registers: None,
        item_registers: None,
        sub_group: is_cpu.then_some(1.0),
        compute_units: ask(MAX_COMPUTE_UNITS)?,
        clock_mhz: ask(MAX_CLOCK_FREQUENCY)?,
        cache_bytes: cache.into_iter().chain(crate::hip::last_level_cache(&architecture)).reduce(f64::max),
        // PoCL reports the free memory of a CPU, which would make it another device each time
        memory_bytes: crate::host::memory().filter(|_| is_cpu).or(ask(GLOBAL_MEM_SIZE)?),
        bandwidth_gbs: None,
        f32_gflops: None,
        is_cpu: Some(is_cpu as u8 as f64),
        local_memory_opt_in: None,
    };
    let board = if architecture.is_empty() { None } else { device.text(BOARD_NAME_AMD).ok() };
    Ok(Device {
        aliases: Vec::new(),
        name: board.filter(|board| !board.is_empty()).unwrap_or(name),
        vendor: device.text(VENDOR)?,
        architecture: if is_cpu { "cpu".into() } else { architecture },
        driver: format!("{}, driver {}", device.text(VERSION)?, device.text(DRIVER_VERSION)?),
        source: "asked of the device through OpenCL".into(),
        limits,
    })
}
