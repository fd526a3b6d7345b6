//! The device that configs have to be legal on.

use crate::pointers::{TextBuffer, list, object, put, text};
use crate::predictor::{Predictor, Shared};
use crate::status::{Answer, Fault, Status, guard};
use seqtune_kernel::error::{Error, quote};
use seqtune_kernel::{Device, LIMIT_NAMES, Limits};
use seqtune_predict::confidence::device::find_device;
use std::ffi::{c_char, c_int, c_void};

unsafe fn set(predictor: *mut Predictor, device: impl FnOnce(&Shared) -> Answer<Device>) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let shared = &unsafe { object(predictor.cast_const(), "predictor") }?.0;
        shared.set_device(device(shared)?)
    })
}

/// Sets the device by its name, that of one that the model learned or of kernels/devices.toml, such as "H200" or "rtx4090", or by a
/// .toml file. A call that another thread is in ends with the device that it began with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_set_device(predictor: *mut Predictor, device: *const c_char) -> Status {
    // SAFETY: as the header demands
    unsafe { set(predictor, |shared| Ok(find_device(shared.predictor.learned_devices(), text(device, "device")?)?)) }
}

/// Sets the device by its limits, each a name, such as "local_memory", and a value. A limit that is not given is unknown:
/// constraints that need it are dropped. `device` is its name: under that of a device that the model was trained on,
/// predictions are marked unsure by their probability alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_set_device_limits(
    predictor: *mut Predictor,
    device: *const c_char,
    names: *const *const c_char,
    values: *const f64,
    count: usize,
) -> Status {
    let described = |_: &Shared| {
        if count > LIMIT_NAMES.len() {
            return Err(Fault::input(format!("`count` is {count}: there are {} limits", LIMIT_NAMES.len())));
        }
        // SAFETY: as the header demands
        let (device, names, values) =
            unsafe { (text(device, "device")?, list(names, count, "names")?, list(values, count, "values")?) };
        let mut limits = Limits::default();
        for (name, value) in names.iter().zip(values) {
            // SAFETY: as the header demands
            set_limit(&mut limits, unsafe { text(*name, "names") }?, *value)?;
        }
        Ok(Device {
            name: device.into(),
            aliases: Vec::new(),
            vendor: String::new(),
            architecture: String::new(),
            driver: String::new(),
            source: "limits of a program".into(),
            limits,
        })
    };
    // SAFETY: as the header demands
    unsafe { set(predictor, described) }
}

fn set_limit(limits: &mut Limits, name: &str, value: f64) -> Answer<()> {
    let slot = match name {
        "max_group_items" => &mut limits.max_group_items,
        "max_items_0" => &mut limits.max_items_0,
        "max_items_1" => &mut limits.max_items_1,
        "max_items_2" => &mut limits.max_items_2,
        "local_memory" => &mut limits.local_memory,
        "group_registers" => &mut limits.group_registers,
        "item_registers" => &mut limits.item_registers,
        "sub_group" => &mut limits.sub_group,
        "compute_units" => &mut limits.compute_units,
        "clock_mhz" => &mut limits.clock_mhz,
        "cache_bytes" => &mut limits.cache_bytes,
        "memory_bytes" => &mut limits.memory_bytes,
        "bandwidth_gbs" => &mut limits.bandwidth_gbs,
        "f32_gflops" => &mut limits.f32_gflops,
        "is_cpu" => &mut limits.is_cpu,
        "local_memory_opt_in" => &mut limits.local_memory_opt_in,
        _ => return Err(unknown(name)),
    };
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Fault::input(format!("the limit `{name}` is given twice"))),
    }
}

fn unknown(name: &str) -> Fault {
    Error::DeviceNotFound(format!("`{}` is no limit: name one of {}", quote(name), LIMIT_NAMES.join(", "))).into()
}

/// Sets the device by asking CUDA's driver. `ordinal` is what cuDeviceGet and cudaSetDevice take; a CUdevice is the same
/// number. No context is made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_set_device_cuda(predictor: *mut Predictor, ordinal: c_int) -> Status {
    // SAFETY: as the header demands
    unsafe { set(predictor, |_| Ok(seqtune_devices::cuda::describe(ordinal)?)) }
}

/// Sets the device by asking HIP. `ordinal` is what hipDeviceGet and hipSetDevice take; a hipDevice_t is the same number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_set_device_hip(predictor: *mut Predictor, ordinal: c_int) -> Status {
    // SAFETY: as the header demands
    unsafe { set(predictor, |_| Ok(seqtune_devices::hip::describe(ordinal)?)) }
}

/// Sets the device by asking OpenCL about a cl_device_id, which clGetDeviceIDs gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_set_device_opencl(predictor: *mut Predictor, device: *mut c_void) -> Status {
    let described = |_: &Shared| match device.is_null() {
        true => Err(Fault::input("`device` is NULL")),
        // SAFETY: as the header demands
        false => Ok(unsafe { seqtune_devices::opencl::describe(device) }?),
    };
    // SAFETY: as the header demands
    unsafe { set(predictor, described) }
}

/// Writes the device's name and a zero into `room` bytes at `name`. `*needed` is the number of bytes that takes, also where
/// there is too little room; `needed` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_device_name(
    predictor: *const Predictor,
    name: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, room) = unsafe { (&object(predictor, "predictor")?.0, TextBuffer::new(name, room, needed)?) };
        room.put(&shared.device().name)
    })
}

/// Whether the model learned from data of the device that is set: `*learned` is 1, else 0. Of a device that it never saw no time is told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_device_learned(predictor: *const Predictor, learned: *mut c_int) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            let shared: &Shared = &object(predictor, "predictor")?.0;
            put(learned, "learned", shared.predictor.trained_on(&shared.device()).into())
        }
    })
}

/// Writes what answers for the device that is set rest on into `room` bytes at `note`: of a device that the model never saw a sentence that says so,
/// which it learned from, and what that costs; else an empty text. `*needed` as of seqtune_device_name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_device_note(
    predictor: *const Predictor,
    note: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, room) = unsafe { (&object(predictor, "predictor")?.0, TextBuffer::new(note, room, needed)?) };
        room.put(&shared.predictor.grounds(&shared.device()).note().unwrap_or_default())
    })
}

/// Writes the names of the devices that the model learned from, each in a line, into `room` bytes at `names`. `*needed` as of
/// seqtune_device_name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_learned_on(
    predictor: *const Predictor,
    names: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, room) = unsafe { (&object(predictor, "predictor")?.0, TextBuffer::new(names, room, needed)?) };
        let learned: Vec<&str> = shared.predictor.learned_devices().iter().map(|device| device.name.as_str()).collect();
        room.put(&learned.join("\n"))
    })
}

/// The value of a device's limit by its name, such as "local_memory"; NaN where it is unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_device_limit(
    predictor: *const Predictor,
    limit: *const c_char,
    value: *mut f64,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            let shared: &Shared = &object(predictor, "predictor")?.0;
            let name = text(limit, "limit")?;
            let at = LIMIT_NAMES.iter().position(|known| *known == name).ok_or_else(|| unknown(name))?;
            put(value, "value", shared.device().limits.values()[at].unwrap_or(f64::NAN))
        }
    })
}
