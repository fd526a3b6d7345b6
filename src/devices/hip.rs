//! AMD's GPUs, through the run-time library of HIP.

use crate::functions::{Attributes, Get, Memory, Name, Version};
use crate::library::{find, open, text, text_in};
use crate::numbers::{Known, Numbers};
use libloading::Library;
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::Device;
use std::ffi::{c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Numbers of `hipDeviceAttribute_t`, the same from HIP 5.2 on.
const NUMBERS: Numbers = Numbers {
    group_items: [56, 26, 27, 28],
    local_memory: 74,
    group_registers: 71,
    sub_group: 87,
    clock: 5,
    cache: 19,
    memory: [60, 59],
};
const UNITS: i32 = 63;
/// Some GPUs count pairs of units as one, unless the physical ones are asked for.
const PHYSICAL_UNITS: i32 = 10_015;

/// Names of HIP's library in ROCm 7, 6 and 5.
pub const LIBRARIES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// Lanes of f32 arithmetic in a compute unit (AMD's architecture white papers): CDNA 3 and RDNA 3 issue two at once.
fn lanes(architecture: &str) -> f64 {
    match architecture.strip_prefix("gfx") {
        Some("90a" | "940" | "941" | "942" | "950") => 128.0,
        Some(rdna3) if rdna3.starts_with("11") || rdna3.starts_with("12") => 128.0,
        _ => 64.0,
    }
}

/// The library by its names, in the order in which they are looked for: of the system, then in the folders of ROCm.
fn library() -> Result<&'static Library> {
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    let find = || {
        let roots = std::env::var_os("ROCM_PATH").map(PathBuf::from).into_iter().chain([PathBuf::from("/opt/rocm")]);
        let folders: Vec<PathBuf> = roots.map(|root| root.join("lib")).collect();
        let inside = LIBRARIES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let places: Vec<PathBuf> = LIBRARIES.iter().map(PathBuf::from).chain(inside).collect();
        open("hipDeviceGet", &places)
    };
    let missing = || Error::Unavailable("HIP: libamdhip64.so, AMD's run-time library, is not installed".into());
    LIBRARY.get_or_init(find).ok_or_else(missing)
}

fn check(library: &Library, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
    // SAFETY: the type is the function's; it gives a constant of the library
    let said = unsafe { text(find::<ErrorString>(library, "hipGetErrorString")?(code)) };
    Err(Error::Unavailable(said.map_or_else(|| format!("HIP error {code}"), |said| format!("HIP: {said}"))))
}

/// Architecture of a device, such as `gfx90a`.
///
/// The structure of its properties has another layout in HIP 6 than before, and grows. So it is read as bytes, more of them than any
/// version writes, and the name is searched in them.
fn architecture(library: &Library, ordinal: i32) -> Result<String> {
    type Properties = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
    let mut bytes = vec![0u8; 16 << 10];
    // SAFETY: the type is the functions'; both write a structure of at most 2 KiB
    unsafe {
        let ask: Properties =
            find(library, "hipGetDevicePropertiesR0600").or_else(|_| find(library, "hipGetDeviceProperties"))?;
        check(library, ask(bytes.as_mut_ptr(), ordinal))?;
    }
    let at = bytes.windows(4).rposition(|w| w.starts_with(b"gfx") && w[3].is_ascii_digit());
    let name = at.and_then(|at| bytes[at..].split(|b| !b.is_ascii_alphanumeric()).next());
    let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
    name.ok_or_else(|| Error::Unavailable("HIP tells no architecture".into()))
}

/// Describes the device of an ordinal, which `hipDeviceGet` and `hipSetDevice` take.
///
/// # Errors
/// [`Error::Unavailable`] where HIP is not installed, has no such device, or a query fails.
pub fn describe(ordinal: i32) -> Result<Device> {
    let library = library()?;
    let is = |code| check(library, code);
    let (mut handle, mut name, mut bytes, mut version) = (0, [0u8; 256], 0, 0);
    // SAFETY: the types are the functions'; every call writes what it is given room for
    let attribute = unsafe {
        is(find::<Get>(library, "hipDeviceGet")?(&mut handle, ordinal))
            .map_err(|e| e.at(format!("device {ordinal}")))?;
        is(find::<Name>(library, "hipDeviceGetName")?(name.as_mut_ptr(), name.len() as c_int, handle))?;
        is(find::<Memory>(library, "hipDeviceTotalMem")?(&mut bytes, handle))?;
        is(find::<Version>(library, "hipRuntimeGetVersion")?(&mut version))?;
        Attributes(find(library, "hipDeviceGetAttribute")?)
    };
    let ask = attribute.of(ordinal);
    let architecture = architecture(library, ordinal)?;
    let known = Known {
        units: ask(PHYSICAL_UNITS).or_else(|| ask(UNITS)),
        lanes: lanes(&architecture),
        // vector registers that instructions can name
        item_registers: 256.0,
        bytes,
        // more than `local_memory` is not to be had; said where a wave could be taken for a warp
        local_memory_opt_in: (ask(NUMBERS.sub_group) == Some(32.0)).then_some(0.0),
    };
    let name = text_in(&name);
    Ok(Device {
        aliases: Device::other_names(&name),
        // in containers HIP may not find the name
        name: if name.is_empty() { format!("AMD {architecture}") } else { name },
        vendor: "AMD".into(),
        driver: format!("HIP {}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000),
        source: "asked of the device through HIP".into(),
        limits: NUMBERS.limits(&ask, known),
        architecture,
    })
}
