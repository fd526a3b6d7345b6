//! AMD's GPUs, through the run-time library of HIP.

use crate::functions::{Attributes, Get, Memory, Name, Version};
use crate::library::{find, open, text, text_in};
use crate::numbers::{Known, Numbers};
use libloading::Library;
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
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
/// Of RDNA the number of work-group processors, two compute units each.
const UNITS: i32 = 63;

/// Names of HIP's library in ROCm 7, 6 and 5.
pub const LIBRARIES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// What drivers do not state, or not alike in all versions of ROCm.
struct Fixed {
    /// Lanes of f32 arithmetic in a unit (AMD's architecture white papers): CDNA 3 and RDNA 3 issue two at once.
    lanes: f64,
    /// Vector registers of a unit, where drivers differ.
    group_registers: Option<f64>,
    /// Transfers per clock of the memory: two of HBM2, four of HBM3, sixteen of GDDR6; `None` of what shares the processor's.
    transfers: Option<f64>,
}

/// The digits of an architecture behind `gfx`, without its features.
fn digits(architecture: &str) -> &str {
    architecture.strip_prefix("gfx").unwrap_or_default().split(':').next().unwrap_or_default()
}

fn fixed_limits(architecture: &str) -> Fixed {
    let fixed = |lanes, registers: u32, transfers: f64| Fixed {
        lanes,
        group_registers: (registers > 0).then_some(f64::from(registers)),
        transfers: Some(transfers),
    };
    match digits(architecture) {
        "940" | "941" | "942" | "950" => fixed(128.0, 0, 4.0),
        // 1,024 or 1,536 registers of 32 lanes in each of four SIMDs
        "1100" | "1101" | "1200" | "1201" => fixed(256.0, 4 * 32 * 1_536, 16.0),
        "1102" => fixed(256.0, 4 * 32 * 1_024, 16.0),
        "1010" | "1011" | "1012" | "1030" | "1031" | "1032" | "1034" => fixed(128.0, 4 * 32 * 1_024, 16.0),
        "1013" | "1033" | "1035" | "1036" => Fixed { transfers: None, ..fixed(128.0, 4 * 32 * 1_024, 0.0) },
        "1151" => Fixed { transfers: None, ..fixed(256.0, 4 * 32 * 1_536, 0.0) },
        apu if apu.starts_with("11") => Fixed { transfers: None, ..fixed(256.0, 4 * 32 * 1_024, 0.0) },
        "902" | "909" | "90c" => Fixed { transfers: None, ..fixed(64.0, 0, 0.0) },
        _ => fixed(64.0, 0, 2.0),
    }
}

/// Bytes of the last-level cache of an architecture at its largest, Infinity Cache included (AMD's hardware specifications): HIP states the second
/// level, of MI300X that of one die, OpenCL the first. `None` where it is unknown.
pub(crate) fn last_level_cache(architecture: &str) -> Option<f64> {
    let mebibytes = match digits(architecture) {
        "940" | "941" | "942" | "950" => 256,
        "1030" => 128,
        "1031" | "1100" => 96,
        "1101" | "1201" => 64,
        "1032" | "1102" | "1151" | "1200" => 32,
        "1034" => 16,
        "908" | "90a" => 8,
        "900" | "906" | "1010" | "1011" => 4,
        _ => return None,
    };
    Some(f64::from(mebibytes << 20))
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
            .map_err(|e| e.at_place(format!("device {ordinal}")))?;
        is(find::<Name>(library, "hipDeviceGetName")?(name.as_mut_ptr(), name.len() as c_int, handle))?;
        is(find::<Memory>(library, "hipDeviceTotalMem")?(&mut bytes, handle))?;
        is(find::<Version>(library, "hipRuntimeGetVersion")?(&mut version))?;
        Attributes(find(library, "hipDeviceGetAttribute")?)
    };
    let ask = attribute.reader(ordinal);
    let architecture = architecture(library, ordinal)?;
    let fixed = fixed_limits(&architecture);
    let known = Known {
        units: ask(UNITS),
        lanes: fixed.lanes,
        group_registers: fixed.group_registers,
        cache: last_level_cache(&architecture),
        transfers: fixed.transfers,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drivers_do_not_state_is_as_the_shipped_descriptions_say() {
        for name in
            ["MI300X", "MI250X", "MI210", "MI100", "MI50", "RX 7900 XTX", "RX 6900 XT", "RX 6800 XT", "RX Vega 64"]
        {
            let device = Device::find_described(name).unwrap();
            let (limits, fixed) = (&device.limits, fixed_limits(&device.architecture));
            assert_eq!(last_level_cache(&format!("{}:xnack-", device.architecture)), limits.cache_bytes, "{name}");
            let gflops = limits.compute_units.unwrap() * fixed.lanes * 2.0 * limits.clock_mhz.unwrap() / 1e3;
            let ratio = gflops / limits.f32_gflops.unwrap();
            assert!((0.97..1.03).contains(&ratio), "{name}: {gflops} GFLOP/s");
        }
        // clock of the memory in MHz and bits, as drivers state them, and GB/s by the data sheet
        for (architecture, mhz, bits, gbs) in [
            ("gfx906", 1_000.0, 4_096.0, 1_024.0),
            ("gfx942", 1_300.0, 8_192.0, 5_325.0),
            ("gfx1030", 1_000.0, 256.0, 512.0),
            ("gfx1100", 1_250.0, 384.0, 960.0),
        ] {
            assert_eq!(
                (fixed_limits(architecture).transfers.unwrap() * mhz * bits / 8e3_f64).round(),
                gbs,
                "{architecture}"
            );
        }
        assert_eq!((last_level_cache("gfx9999"), fixed_limits("gfx1103").transfers), (None, None));
    }
}
