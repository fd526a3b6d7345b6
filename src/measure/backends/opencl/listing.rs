//! The OpenCL devices of this machine.

use super::pocl;
use crate::executor::FoundDevice;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device as ClDevice};
use seqtune_devices::opencl::describe;
use seqtune_kernel::error::{Error, Result};

/// The devices of all platforms, as `opencl:N` counts them.
///
/// # Errors
/// As [`devices`].
pub(super) fn cl_devices() -> Result<Vec<ClDevice>> {
    pocl::set_up();
    // opencl3 answers -2000 where libOpenCL.so.1 cannot be opened, and the loader -1001 where no driver is registered
    let platforms = opencl3::platform::get_platforms().map_err(|e| {
        Error::Unavailable(match e.0 {
            -2000 => "OpenCL: libOpenCL.so.1 is not installed".into(),
            _ => "OpenCL: no platform (install a driver that brings an .icd file)".into(),
        })
    })?;
    let ids = platforms.iter().filter_map(|p| p.get_devices(CL_DEVICE_TYPE_ALL).ok()).flatten();
    let devices: Vec<ClDevice> = ids.map(ClDevice::new).collect();
    if devices.is_empty() {
        let why = pocl::why_hidden().unwrap_or_default();
        return Err(Error::Unavailable(format!("OpenCL: the platforms have no device{why}")));
    }
    Ok(devices)
}

/// Major version of the LLVM that PoCL uses; `None` where there is no PoCL, or it does not say.
pub fn pocl_llvm() -> Option<u32> {
    pocl::set_up();
    let platforms = opencl3::platform::get_platforms().ok()?;
    let pocl = platforms.into_iter().find(|platform| platform.name().is_ok_and(|name| name == pocl::PLATFORM))?;
    let version = pocl.version().ok()?;
    version.split("LLVM ").nth(1)?.split('.').next()?.parse().ok()
}

/// Lists all OpenCL devices.
///
/// # Errors
/// [`Error::Unavailable`] where there is no OpenCL or no device, [`Error::Failed`] where a device cannot be described.
pub fn devices() -> Result<Vec<FoundDevice>> {
    let describe = |(i, d): (usize, &ClDevice)| {
        // SAFETY: the loader gave the device
        let device = unsafe { describe(d.id()) }?;
        Ok(FoundDevice { id: format!("opencl:{i}"), device, bus: bus(d), same_as: None })
    };
    let all = cl_devices()?;
    let (mut found, mut failure) = (Vec::new(), None);
    for described in all.iter().enumerate().map(describe) {
        match described {
            Ok(device) => found.push(device),
            // one that is not to be described hides no other
            Err(e) => {
                tracing::debug!("a device is left out: {e}");
                failure = Some(e);
            }
        }
    }
    failure.filter(|_| found.is_empty()).map_or(Ok(found), Err)
}

/// PCI bus address of a GPU by extensions, of which those of AMD and NVIDIA lack the domain.
fn bus(d: &ClDevice) -> Option<String> {
    if d.dev_type().ok()? & CL_DEVICE_TYPE_CPU != 0 {
        return None;
    }
    let extensions = d.extensions().unwrap_or_default();
    let (domain, bus, device, function) = match () {
        _ if extensions.contains("cl_khr_pci_bus_info") => {
            let info = d.pcibusinfokhr_intel().ok()?;
            (info.pci_domain, info.pci_bus, info.pci_device, info.pci_function)
        }
        _ if extensions.contains("cl_amd_device_attribute_query") => {
            let topology = d.topology_amd().ok()?;
            (0, topology.bus as u32, topology.device as u32, topology.function as u32)
        }
        _ if extensions.contains("cl_nv_device_attribute_query") => {
            let slot = d.pci_slot_id_nv().ok()?;
            (0, d.pci_bus_id_nv().ok()?, slot >> 3, slot & 7)
        }
        _ => return None,
    };
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_described_by_all_of_its_memory_whatever_is_free_of_it() {
        let Ok(meminfo) = std::fs::read_to_string("/proc/meminfo") else {
            println!("skipped: this system does not tell its memory in /proc/meminfo; it takes Linux");
            return;
        };
        let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
        let total = 1024.0 * total.unwrap().trim().parse::<f64>().unwrap();
        let cpus = devices().unwrap_or_default().into_iter().filter(|f| f.device.limits.is_cpu == Some(1.0));
        for FoundDevice { device, .. } in cpus {
            assert_eq!(device.limits.memory_bytes, Some(total), "{}", device.name);
        }
    }
}
