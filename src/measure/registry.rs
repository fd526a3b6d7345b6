//! The APIs, the devices that open here, and the compiler for each device: the one place that names them all.

use crate::backends::cuda::nvrtc::Nvrtc;
use crate::backends::{cuda, fake, hip, opencl};
use crate::compile::{Cached, Compiler, Store};
use crate::executor::{Executor, Found};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::Device;

/// Lists the devices of an API.
type List = fn() -> Result<Vec<Found>>;

/// GPUs' own APIs stand before OpenCL, which sees some of the same devices.
const APIS: [List; 3] = [cuda::devices, hip::devices, opencl::devices];

/// Everything that opens here, and a sentence for each API that does not.
pub fn devices() -> (Vec<Found>, Vec<String>) {
    devices_until(|_| false)
}

/// [`devices`] of one API after the other, until one that is looked for is among them. The later APIs are not even opened then:
/// a CPU's OpenCL and AMD's compiler, each with an LLVM of its own, do not get on in this order in one process.
fn devices_until(wanted: impl Fn(&Found) -> bool) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for list in APIS {
        match list() {
            Ok(devices) => {
                devices.iter().for_each(|f| tracing::debug!("{} is {} ({})", f.id, f.device.name, f.device.driver));
                found.extend(devices);
            }
            Err(reason) => {
                tracing::debug!("{reason}");
                missing.push(reason.to_string());
            }
        }
        if found.iter().any(&wanted) {
            break;
        }
    }
    unify(&mut found);
    (found, missing)
}

/// What has one address on the bus is one device: it is described as the API found first does, which tells more, so that data measured
/// through either are of one device; the driver is each one's own.
fn unify(found: &mut [Found]) {
    for i in 1..found.len() {
        let (before, rest) = found.split_at_mut(i);
        let one = &mut rest[0];
        let same = before.iter().find(|f| f.bus.is_some() && f.bus == one.bus && f.same_as.is_none());
        if let Some(first) = same {
            one.same_as = Some(first.id.clone());
            one.device = Device { driver: one.device.driver.clone(), ..first.device.clone() };
        }
    }
}

/// Whether `name` is written like the id of a live device.
pub fn is_live(name: &str) -> bool {
    name == "live" || name == fake::ID || ["cuda:", "hip:", "opencl:"].iter().any(|api| name.starts_with(api))
}

/// The API that a device's id names first.
fn api(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

/// Opens a device by id: `live` is the first one found, `cuda:N`, `hip:N` and `opencl:N` the N-th of an API, `fake` the tests' double.
pub fn open(id: &str) -> Result<Box<dyn Executor>> {
    if id == fake::ID {
        return Ok(Box::new(fake::Fake::from_environment()));
    }
    let wanted = |f: &Found| id == "live" || f.id == id;
    let (found, reasons) = devices_until(wanted);
    let wanted = found.iter().find(|f| wanted(f));
    match wanted {
        Some(f) if f.id.starts_with("cuda:") => Ok(Box::new(cuda::open(&f.id, compiler_for)?)),
        Some(f) if f.id.starts_with("hip:") => Ok(Box::new(hip::open(&f.id, compiler_for)?)),
        Some(f) => Ok(Box::new(opencl::OpenCl::open(&f.id, f.device.clone())?)),
        None if found.is_empty() => Err(Error::Unavailable(format!(
            "no device opens here ({}); scripts/setup.sh installs an OpenCL CPU device",
            reasons.join("; ")
        ))),
        None if !found.iter().any(|f| api(&f.id) == api(id)) => {
            Err(Error::Unavailable(format!("no {} device opens here ({})", api(id), reasons.join("; "))))
        }
        None => Err(Error::Input(format!(
            "no live device `{id}`: use `live` or one of {}",
            found.iter().map(|f| f.id.as_str()).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// The description of a live device, without keeping it open.
pub fn live_device(id: &str) -> Result<Device> {
    Ok(open(id)?.device().clone())
}

/// The compiler for a device, live or described, with its programs on disk.
pub fn compiler_for(device: &Device) -> Result<Cached<Box<dyn Compiler>>> {
    match device.architecture.as_str() {
        sm if sm.starts_with("sm_") => Ok(Cached::new(Box::new(Nvrtc::open(sm)?), Store::standard())),
        gfx if gfx.starts_with("gfx") => Ok(Cached::new(hip::compiler(gfx)?, Store::standard())),
        other => Err(Error::Unavailable(format!(
            "programs for {} ({}) are not compiled without the device: NVIDIA GPUs (sm_75 and newer) and AMD GPUs (gfx900 and newer) are",
            device.name,
            if other.is_empty() { "architecture unknown" } else { other }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_seen_through_two_apis_is_one_device() {
        let found = |id: &str, device: &str, driver: &str, bus: Option<&str>| {
            let device = Device { driver: driver.into(), ..Device::described(device).unwrap() };
            Found { id: id.into(), device, bus: bus.map(String::from), same_as: None }
        };
        let mut all = [
            found("hip:0", "MI250X", "HIP 6.2", Some("0000:1b:00.0")),
            found("hip:1", "MI250X", "HIP 6.2", Some("0000:1c:00.0")),
            found("opencl:0", "MI100", "OpenCL 2.0", Some("0000:1c:00.0")),
            found("opencl:1", "T4", "OpenCL 3.0", None),
            found("opencl:2", "T4", "OpenCL 3.0", None),
        ];
        unify(&mut all);
        let same: Vec<Option<&str>> = all.iter().map(|f| f.same_as.as_deref()).collect();
        assert_eq!(same, [None, None, Some("hip:1"), None, None]);
        assert_eq!((all[2].device.name.as_str(), all[2].device.driver.as_str()), ("MI250X", "OpenCL 2.0"));
    }
}
