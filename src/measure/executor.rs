//! A device that is open: what it takes to compile, run and time a config.

use crate::compile::Job;
use crate::measuring::energy::EnergyMeter;
use crate::verify::format::Format;
use seqtune_data::{Conditions, Invalidity, InvalidityKind, Resources};
use seqtune_predict::error::Result;
use seqtune_predict::kernel::Device;

/// A compiled program, an allocated buffer: handles of the executor that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(pub usize);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(pub usize);

/// An argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum KernelArg {
    Buffer(BufferId),
    Int(i32),
    Float(f32),
}

/// A device that is open.
pub trait Executor {
    /// The device with its limits.
    fn device(&self) -> &Device;

    /// Compiles a kernel.
    fn compile(&mut self, job: &Job) -> std::result::Result<ProgramId, Invalidity>;

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
        values: &[KernelArg],
        geometry: &LaunchDims,
        repeat: usize,
        timing: Timing,
    ) -> std::result::Result<Vec<f32>, Invalidity>;

    /// Name and version of the vendor's library of tuned routines; a sentence where there is none.
    fn library(&mut self) -> std::result::Result<String, String> {
        Err("there is no vendor's library that works through this API".into())
    }

    /// [`Executor::launch`] for a product by the vendor's library.
    fn multiply(
        &mut self,
        _product: &GemmCall,
        _repeat: usize,
        _timing: Timing,
    ) -> std::result::Result<Vec<f32>, Invalidity> {
        Err(Invalidity::new(InvalidityKind::Runtime, self.library().err().unwrap_or_default()))
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
pub struct LaunchDims {
    pub global: Vec<usize>,
    pub local: Vec<usize>,
}

impl LaunchDims {
    /// Work-groups, where the launch says how large they are.
    pub fn groups(&self) -> usize {
        std::iter::zip(&self.global, &self.local).map(|(global, local)| global / local.max(&1)).product()
    }
}

/// A product of row-major matrices, `C = alpha op(A) op(B) + beta C`.
#[derive(Clone, Debug)]
pub struct GemmCall {
    /// Rows of C, columns of C, and the length of the sums.
    pub sizes: [i32; 3],
    /// Whether A is stored as k x m, and B as n x k.
    pub transposed: [bool; 2],
    /// alpha and beta.
    pub factors: [f32; 2],
    pub format: Format,
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
