//! Registry of APIs, their devices, and the compiler for each device.

use crate::backends::cuda::nvrtc::Nvrtc;
use crate::backends::{cuda, fake, hip, opencl};
use crate::compile::{Cached, Compiler, Store};
use crate::executor::{Executor, FoundDevice};
use crate::verify::oclgrind;
use seqtune_devices::host;
pub use seqtune_devices::live::live_device as live_among;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Api, Device, Kernel};

/// Id of the processors of this machine, for programs.
pub const HOST: &str = host::ID;

/// API without a device on this machine.
#[derive(Clone, Debug)]
pub struct MissingApi {
    /// The API.
    pub api: Api,
    /// Message that says why.
    pub reason: String,
}

/// Devices of a machine.
pub struct Devices {
    /// The devices.
    pub found: Vec<FoundDevice>,
    /// APIs without any.
    pub missing: Vec<MissingApi>,
}

/// Lists the devices of an API.
fn list(api: Api) -> Result<Vec<FoundDevice>> {
    match api {
        Api::Cuda => cuda::devices(),
        Api::Hip => hip::devices(),
        Api::OpenCl => opencl::devices(),
    }
}

/// Lists all devices of this machine, and the APIs without any.
pub fn devices() -> Devices {
    devices_until(|_| false)
}

/// Lists the devices of one API after another, until a wanted device is found.
///
/// Later APIs stay closed: OpenCL for a CPU and AMD's compiler, each with its own LLVM, conflict in this order in one process.
fn devices_until(wanted: impl Fn(&FoundDevice) -> bool) -> Devices {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for api in Api::ALL {
        match list(api) {
            Ok(devices) => {
                devices.iter().for_each(|f| tracing::debug!("{} is {} ({})", f.id, f.device.name, f.device.driver));
                found.extend(devices);
            }
            Err(reason) => {
                tracing::debug!("{reason}");
                missing.push(MissingApi { api, reason: reason.to_string() });
            }
        }
        if found.iter().any(&wanted) {
            break;
        }
    }
    unify(&mut found);
    Devices { found, missing }
}

/// Gives devices with the same bus address the description of the API listed first, which is more detailed.
///
/// Data measured through either API then belong to one device. Each keeps its own driver.
fn unify(found: &mut [FoundDevice]) {
    for i in 1..found.len() {
        let (before, rest) = found.split_at_mut(i);
        let one = &mut rest[0];
        // parts of one GPU may share an address
        let other_api = |f: &FoundDevice| Api::of_id(&f.id) != Api::of_id(&one.id);
        let same = before.iter().find(|f| f.bus.is_some() && f.bus == one.bus && f.same_as.is_none() && other_api(f));
        if let Some(first) = same {
            one.same_as = Some(first.id.clone());
            one.device = Device { driver: one.device.driver.clone(), ..first.device.clone() };
        }
    }
}

/// Processes that compile side by side for a device. Through OpenCL each has a context there and launches what it has built: few on a GPU.
pub fn compilers(device: &Device) -> usize {
    match Api::of_driver(&device.driver) {
        Some(Api::OpenCl) if device.limits.is_cpu != Some(1.0) => cores().min(4),
        _ => cores(),
    }
}

/// Checks whether `name` has the form of a live device's id.
pub fn is_live(name: &str) -> bool {
    name == "live" || name == host::ID || name == fake::ID || Api::of_id(name).is_some()
}

/// Opens a device by id.
///
/// `live` is the first device found, a GPU before a processor, a simulator last. `cuda:N`, `hip:N` and `opencl:N` are the N-th of an API, `fake`
/// is a double for tests.
///
/// # Errors
/// [`Error::Unavailable`] where the API has no device, [`Error::Input`] where the id is unknown, [`Error::Failed`] where the driver fails.
pub fn open(id: &str) -> Result<Box<dyn Executor>> {
    if id == host::ID {
        return Err(Error::Input(
            "device `host` is for programs ([run]); a kernel with a source runs on `live`, `cuda:0` or `opencl:0`"
                .into(),
        ));
    }
    if id == fake::ID {
        return Ok(Box::new(fake::Fake::from_environment()));
    }
    let found = find(id)?;
    match Api::of_id(&found.id) {
        Some(Api::Cuda) => Ok(Box::new(cuda::open(&found.id, compiler_for)?)),
        Some(Api::Hip) => Ok(Box::new(hip::open(&found.id, compiler_for)?)),
        _ => Ok(Box::new(opencl::OpenCl::open(&found.id, found.device)?)),
    }
}

/// Place of a device among those that `live` may be: OpenCL's loader lists platforms in no order that means something, simulators among them.
fn rank(found: &FoundDevice) -> [bool; 2] {
    [found.device.name.contains(oclgrind::NAME), found.device.limits.is_cpu == Some(1.0)]
}

/// Finds a device by id.
fn find(id: &str) -> Result<FoundDevice> {
    let wanted = |f: &FoundDevice| id == "live" || f.id == id;
    let Devices { mut found, missing } = devices_until(wanted);
    let there = (0..found.len()).filter(|at| wanted(&found[*at]));
    if let Some(at) = there.min_by_key(|at| rank(&found[*at])) {
        return Ok(found.swap_remove(at));
    }
    let reasons = missing.into_iter().map(|missing| missing.reason).collect::<Vec<_>>().join("; ");
    let has = |api: Api| found.iter().any(|f| Api::of_id(&f.id) == Some(api));
    match Api::of_id(id) {
        _ if found.is_empty() => Err(Error::Unavailable(format!(
            "no device opens here ({reasons}); scripts/setup.sh installs an OpenCL CPU device"
        ))),
        Some(api) if !has(api) => Err(Error::Unavailable(format!("no {} device opens here ({reasons})", api.id()))),
        _ if Device::find_described(id).is_ok() => input(format!(
            "{id} is described, and not in this machine; compile for it with --compile-only, or measure on one of {}",
            found.iter().map(|f| f.id.as_str()).collect::<Vec<_>>().join(", ")
        )),
        _ => Err(Error::Input(format!(
            "no live device `{id}`: use `live` or one of {}",
            found.iter().map(|f| f.id.as_str()).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Describes a live device without opening it, which takes no compiler; `host` are the processors of this machine.
///
/// # Errors
/// Those of [`open`] where there is no such device.
pub fn live_device(id: &str) -> Result<Device> {
    match id {
        host::ID => host::describe(),
        fake::ID => Ok(fake::Fake::from_environment().device().clone()),
        _ => Ok(find(id)?.device),
    }
}

/// Describes the device that a program computes on: `live` and `host` are the processors of this machine; else a live device, or one that is
/// described, on the user's word.
///
/// # Errors
/// The error of [`live_device`], [`Error::DeviceNotFound`] where no description has the name.
pub fn device_of_programs(name: &str) -> Result<Device> {
    match name {
        "live" => host::describe(),
        _ if is_live(name) => live_device(name),
        _ => Device::find_described(name),
    }
}

/// Describes the device on which a kernel is measured, without keeping it open.
///
/// # Errors
/// The error of [`live_device`], of [`device_of_programs`] for a program.
pub fn device_for(kernel: &Kernel, name: &str) -> Result<Device> {
    if kernel.run.is_some() {
        return device_of_programs(name);
    }
    let device = live_device(name)?;
    check_language(kernel, &device)?;
    Ok(device)
}

/// Refuses a source in CUDA C++ on a device that runs OpenCL C alone, before anything is begun for it.
///
/// # Errors
/// [`Error::Input`] with what to do instead.
pub fn check_language(kernel: &Kernel, device: &Device) -> Result<()> {
    let Some(source) = kernel.source().ok().filter(|_| kernel.run.is_none()) else { return Ok(()) };
    let runs = device.compiles_cpp() || Api::of_driver(&device.driver).is_none();
    match runs || !source.program.file.ends_with(".cu") {
        true => Ok(()),
        false => input(format!(
            "{} is CUDA C++, which {} does not run; name a GPU of NVIDIA or AMD, or compile for one that is not here: --device H200 --compile-only",
            source.program.file, device.name
        )),
    }
}

/// Why the programs of the compiler that is here do not run on a live device; `None` where they do, or no compiler is here.
pub fn obstacle(device: &Device) -> Option<String> {
    match Api::of_driver(&device.driver) {
        Some(Api::Cuda) => cuda::too_new(device),
        _ => None,
    }
}

/// Opens the compiler for a live or described device, with a cache of programs on disk.
///
/// # Errors
/// [`Error::Unavailable`] where the compiler is not installed or does not support the architecture.
pub fn compiler_for(device: &Device) -> Result<Cached<Box<dyn Compiler>>> {
    match device.architecture.as_str() {
        sm if sm.starts_with("sm_") => Ok(Cached::new(Box::new(Nvrtc::open(sm)?), Store::standard())),
        gfx if gfx.starts_with("gfx") => Ok(Cached::new(hip::compiler(gfx)?, Store::standard())),
        other => Err(Error::Unavailable(format!(
            "programs for {} ({}) are not compiled alone, those for NVIDIA GPUs (sm_75 and newer) and AMD GPUs (gfx900 and newer) are; `seqtune sweep --sample 1` compiles for a live device and checks the result",
            device.name,
            if other.is_empty() { "architecture unknown" } else { other }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_is_a_gpu_before_a_processor_and_a_simulator_last() {
        let found = |name: &str, is_cpu: f64| {
            let mut device = Device { name: name.into(), ..Device::find_described("T4").unwrap() };
            device.limits.is_cpu = Some(is_cpu);
            FoundDevice { id: "opencl:0".into(), device, bus: None, same_as: None }
        };
        let mut all = [found("Oclgrind Simulator", 0.0), found("pthread", 1.0), found("Arc", 0.0), found("T4", 0.0)];
        all.sort_by_key(rank);
        assert_eq!(all.map(|f| f.device.name), ["Arc", "T4", "pthread", "Oclgrind Simulator"]);
    }

    #[test]
    fn a_gpu_seen_through_two_apis_is_one_device() {
        let found = |id: &str, device: &str, driver: &str, bus: Option<&str>| {
            let device = Device { driver: driver.into(), ..Device::find_described(device).unwrap() };
            FoundDevice { id: id.into(), device, bus: bus.map(String::from), same_as: None }
        };
        let mut all = [
            found("hip:0", "MI250X", "HIP 6.2", Some("0000:1b:00.0")),
            found("hip:1", "MI250X", "HIP 6.2", Some("0000:1c:00.0")),
            found("hip:2", "MI250X", "HIP 6.2", Some("0000:1c:00.0")),
            found("opencl:0", "MI100", "OpenCL 2.0", Some("0000:1c:00.0")),
            found("opencl:1", "T4", "OpenCL 3.0", None),
            found("opencl:2", "T4", "OpenCL 3.0", None),
        ];
        unify(&mut all);
        let same: Vec<Option<&str>> = all.iter().map(|f| f.same_as.as_deref()).collect();
        assert_eq!(same, [None, None, None, Some("hip:1"), None, None]);
        assert_eq!((all[3].device.name.as_str(), all[3].device.driver.as_str()), ("MI250X", "OpenCL 2.0"));
    }
}
