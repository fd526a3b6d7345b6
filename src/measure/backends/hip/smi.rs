//! Energy counter by AMD's management libraries, opened at run time: AMD SMI, or else ROCm SMI.

use crate::backends::driver::{DriverResult, Handle};
use crate::backends::hip::library::{find, open};
use crate::measuring::energy::EnergyMeter;
use libloading::Library;
use std::ptr::null_mut;

const AMD_SMI: [&str; 4] = ["libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so"];
const ROCM_SMI: [&str; 5] =
    ["librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1", "librocm_smi64.so"];
/// Flag of amdsmi_init that selects GPUs.
const AMD_GPUS: u64 = 2;
/// Time without an update after which a counter is rejected. AMD's are updated every millisecond, but some drivers of MI100 return a
/// constant.
const STILL: std::time::Duration = std::time::Duration::from_millis(500);

/// Call of both libraries, which writes the counter, microjoules per count, and the time in nanoseconds.
type EnergyCount<D> = unsafe extern "C" fn(D, *mut u64, *mut f32, *mut u64) -> u32;

/// Energy counter of one GPU.
pub enum Counter {
    /// Call and processor of AMD SMI.
    AmdSmi(EnergyCount<Handle>, Handle),
    /// Call and device index of ROCm SMI.
    RocmSmi(EnergyCount<u32>, u32),
}

/// PCI bus address as a number: function, device and bus in the low 16 bits, the domain in the high 32.
fn bdf(bus: &str) -> Option<u64> {
    let (domain, rest) = bus.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(hex(domain)? << 32 | hex(bus)? << 8 | hex(device)? << 3 | hex(function)?)
}

/// Checks whether addresses agree apart from the partition, which newer versions of ROCm SMI write into bits 28 to 31.
fn same(wanted: u64, found: u64) -> bool {
    const PARTITION: u64 = 0xf << 28;
    wanted & !PARTITION == found & !PARTITION
}

impl Counter {
    /// Opens the counter of the GPU at a PCI bus address.
    ///
    /// # Errors
    /// A message where neither library is installed, or the counter is missing or stands still.
    pub fn open(bus: &str) -> DriverResult<Counter> {
        let address = bdf(bus).ok_or_else(|| format!("the bus address {bus} is not understood"))?;
        let counting = |found: DriverResult<Counter>| found.and_then(|mut counter| counter.joules().map(|_| counter));
        let amd = open(&AMD_SMI).map(|library| counting(amd_smi(library, address)));
        let rocm = || open(&ROCM_SMI).map(|library| counting(rocm_smi(library, address)));
        let found = match amd {
            Some(Ok(counter)) => Some(Ok(counter)),
            Some(Err(e)) => rocm().filter(Result::is_ok).or(Some(Err(e))),
            None => rocm(),
        };
        let mut counter = found.unwrap_or_else(|| Err("neither AMD SMI nor ROCm SMI is installed".into()))?;
        let first = counter.joules()?;
        let since = std::time::Instant::now();
        while since.elapsed() < STILL {
            std::thread::sleep(std::time::Duration::from_millis(10));
            if counter.joules()? != first {
                return Ok(counter);
            }
        }
        Err("AMD's counter of energy stands still, as it does with some drivers".into())
    }
}

/// Checks a status code of a library; in both 0 is success and 2 is "not supported".
fn check(library: &str, code: u32) -> DriverResult<()> {
    match code {
        0 => Ok(()),
        2 => Err(format!("{library}: the device does not count energy, or not for a virtual machine")),
        code => Err(format!("{library}: error {code}")),
    }
}

fn amd_smi(library: &Library, address: u64) -> DriverResult<Counter> {
    type Handles = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;
    type HandlesOf = unsafe extern "C" fn(Handle, *mut u32, *mut Handle) -> u32;
    let check = |code| check("AMD SMI", code);
    // SAFETY: names and types of amdsmi.h since ROCm 6; lists are read with no room to learn their length
    unsafe {
        check(find::<unsafe extern "C" fn(u64) -> u32>(library, "amdsmi_init")?(AMD_GPUS))?;
        let sockets: Handles = find(library, "amdsmi_get_socket_handles")?;
        let processors: HandlesOf = find(library, "amdsmi_get_processor_handles")?;
        let address_of: unsafe extern "C" fn(Handle, *mut u64) -> u32 = find(library, "amdsmi_get_gpu_bdf_id")?;
        let count: EnergyCount<Handle> = find(library, "amdsmi_get_energy_count")?;
        let list = |ask: &dyn Fn(*mut u32, *mut Handle) -> u32| -> DriverResult<Vec<Handle>> {
            let mut length = 0;
            check(ask(&mut length, null_mut()))?;
            let mut handles = vec![null_mut(); length as usize];
            check(ask(&mut length, handles.as_mut_ptr()))?;
            handles.truncate(length as usize);
            Ok(handles)
        };
        for socket in list(&|length, handles| sockets(length, handles))? {
            for processor in list(&|length, handles| processors(socket, length, handles))? {
                let mut found = 0;
                if address_of(processor, &mut found) == 0 && same(address, found) {
                    return Ok(Counter::AmdSmi(count, processor));
                }
            }
        }
    }
    Err("AMD SMI does not know the device".into())
}

fn rocm_smi(library: &Library, address: u64) -> DriverResult<Counter> {
    let check = |code| check("ROCm SMI", code);
    // SAFETY: names and types of rocm_smi.h, the same since ROCm 4.5
    unsafe {
        check(find::<unsafe extern "C" fn(u64) -> u32>(library, "rsmi_init")?(0))?;
        let devices: unsafe extern "C" fn(*mut u32) -> u32 = find(library, "rsmi_num_monitor_devices")?;
        let address_of: unsafe extern "C" fn(u32, *mut u64) -> u32 = find(library, "rsmi_dev_pci_id_get")?;
        let count: EnergyCount<u32> = find(library, "rsmi_dev_energy_count_get")?;
        let mut known = 0;
        check(devices(&mut known))?;
        for device in 0..known {
            let mut found = 0;
            if address_of(device, &mut found) == 0 && same(address, found) {
                return Ok(Counter::RocmSmi(count, device));
            }
        }
    }
    Err("ROCm SMI does not know the device".into())
}

impl EnergyMeter for Counter {
    fn joules(&mut self) -> DriverResult<f64> {
        let (mut counter, mut microjoules, mut when) = (0u64, 0f32, 0u64);
        // SAFETY: the functions and devices come from the library; each call writes three numbers
        match self {
            Counter::AmdSmi(ask, device) => {
                // SAFETY: as above, the calls write the numbers that they are given
                check("AMD SMI", unsafe { ask(*device, &mut counter, &mut microjoules, &mut when) })?
            }
            Counter::RocmSmi(ask, device) => {
                // SAFETY: as above, the calls write the numbers that they are given
                check("ROCm SMI", unsafe { ask(*device, &mut counter, &mut microjoules, &mut when) })?
            }
        }
        Ok(counter as f64 * microjoules as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_addresses_are_read_and_compared_without_the_partition() {
        assert_eq!(bdf("0000:1b:00.0"), Some(0x1b00));
        assert_eq!(bdf("0001:c3:1f.7"), Some(0x1_0000_c3ff));
        assert_eq!(bdf("1b:00"), None);
        assert!(same(0x1b00, 0x3000_1b00) && !same(0x1b00, 0x1b08));
    }
}
