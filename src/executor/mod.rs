//! What happens if it is chosen? Devices that compile, run and time configs.
//!
//! One trait, one file per API. Everything that runs a kernel runs in a child process ([`worker`]), because a
//! wrong kernel can kill or hang the process it runs in; [`child`] is the parent's side.

mod agree;
mod ahead;
mod candidate;
mod check;
pub mod child;
pub mod compiler;
mod cuda;
pub mod energy;
mod exact;
mod fake;
mod gpu;
pub mod hip;
mod loaded;
mod measure;
mod nvml;
pub mod nvrtc;
mod occupancy;
mod opencl;
pub mod peaks;
mod policy;
mod rounds;
mod source;
pub mod sweep;
pub mod worker;

pub use loaded::geometry;
pub use policy::{Cache, Policy};

use crate::dataset::{Conditions, Invalidity, InvalidityKind, Resources};
use crate::error::{Error, Result};
use crate::kernel::Device;
use compiler::Job;
use energy::EnergyMeter;
use std::path::PathBuf;

/// What one config did wrong; it ends the config, not the run.
pub type Fault = Invalidity;

/// A compiled program, an allocated buffer: handles of the executor that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(pub usize);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(pub usize);

/// An argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Buffer(BufferId),
    Int(i32),
    Float(f32),
}

/// A device that is open.
pub trait Executor {
    /// The device with its limits.
    fn device(&self) -> &Device;

    /// Compiles a kernel.
    fn compile(&mut self, job: &Job) -> std::result::Result<ProgramId, Fault>;

    /// Whether a program is finished by its first launch only, as some OpenCL drivers do.
    fn finishes_at_launch(&self) -> bool {
        true
    }

    /// Whether launches compute: the tests' double only pretends to.
    fn computes(&self) -> bool {
        true
    }

    /// What a program needs, where the API tells.
    fn resources(&self, _program: ProgramId) -> Option<Resources> {
        None
    }

    /// How the device is now, where the API tells.
    fn conditions(&mut self) -> Option<Conditions> {
        None
    }

    /// The device's counter of energy; a sentence where there is none.
    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String>;

    /// Forgets a program.
    fn release(&mut self, program: ProgramId);

    /// Allocates `bytes` of device memory with undefined content.
    fn alloc(&mut self, bytes: usize) -> Result<BufferId>;

    /// Frees every buffer.
    fn free_all(&mut self);

    /// Copies to the device; returns when done.
    fn write(&mut self, buffer: BufferId, data: &[u8]) -> Result<()>;

    /// Copies from the device; returns when done.
    fn read(&mut self, buffer: BufferId, data: &mut [u8]) -> Result<()>;

    /// Launches `repeat` times, one after the other, and gives the device time of each launch in microseconds, if timed.
    /// An empty `local` leaves the choice to the API.
    fn launch(
        &mut self,
        program: ProgramId,
        values: &[Value],
        geometry: &Geometry,
        repeat: usize,
        timing: Timing,
    ) -> std::result::Result<Vec<f32>, Fault>;

    /// Name and version of the vendor's library of tuned routines; a sentence where there is none.
    fn library(&mut self) -> std::result::Result<String, String> {
        Err("there is no vendor's library that works through this API".into())
    }

    /// [`Executor::launch`] for a product by the vendor's library.
    fn multiply(
        &mut self,
        _product: &Product,
        _repeat: usize,
        _timing: Timing,
    ) -> std::result::Result<Vec<f32>, Fault> {
        Err(fault(InvalidityKind::Runtime, self.library().err().unwrap_or_default()))
    }

    /// Whether a failure has spoilt everything that this process has on the device, so that another process has to go on.
    fn is_poisoned(&self) -> bool {
        false
    }
}

/// How launches are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Each by itself, with the caches as the launch before left them.
    Warm,
    /// Each by itself, after the device's caches were overwritten.
    Cold,
    /// Not at all, so that nothing stands between them: returns while the last are still at work, which the next call goes on from. What
    /// fails is told by a later call.
    Untimed,
}

/// Work-items of a launch per dimension: in all, and per work-group.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    pub global: Vec<usize>,
    pub local: Vec<usize>,
}

impl Geometry {
    /// Work-groups, where the launch says how large they are.
    pub fn groups(&self) -> usize {
        std::iter::zip(&self.global, &self.local).map(|(global, local)| global / local.max(&1)).product()
    }
}

/// A product of row-major matrices, `C = alpha op(A) op(B) + beta C`.
#[derive(Clone, Debug)]
pub struct Product {
    /// Rows of C, columns of C, and the length of the sums.
    pub sizes: [i32; 3],
    /// Whether A is stored as k x m, and B as n x k.
    pub transposed: [bool; 2],
    /// alpha and beta.
    pub factors: [f32; 2],
    pub format: check::Format,
    /// A, B and C.
    pub matrices: [BufferId; 3],
}

/// A device that can be opened here, or why an API has none.
pub struct Found {
    /// Name for `--device`: `opencl:0`.
    pub id: String,
    pub device: Device,
    /// Address on the bus, `0000:1b:00.0`, where the API tells.
    pub bus: Option<String>,
    /// The same device through another API, listed before.
    pub same_as: Option<String>,
}

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
            Ok(devices) => found.extend(devices),
            Err(reason) => missing.push(reason.to_string()),
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
        return Ok(Box::new(fake::Fake::new()));
    }
    let wanted = |f: &Found| id == "live" || f.id == id;
    let (found, reasons) = devices_until(wanted);
    let wanted = found.iter().find(|f| wanted(f));
    match wanted {
        Some(f) if f.id.starts_with("cuda:") => Ok(Box::new(cuda::open(&f.id)?)),
        Some(f) if f.id.starts_with("hip:") => Ok(Box::new(hip::open(&f.id)?)),
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

/// Where compiled programs are kept: `$SEQTUNE_CACHE`, else `~/.cache/seqtune`; `None` where neither is known.
fn cache_folder() -> Option<PathBuf> {
    let own = std::env::var_os("SEQTUNE_CACHE").map(PathBuf::from);
    own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/seqtune")))
}

fn fault(kind: InvalidityKind, detail: impl Into<String>) -> Fault {
    Fault { kind, detail: detail.into() }
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
