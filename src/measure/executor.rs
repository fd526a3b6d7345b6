//! Interface of an open device: compilation, buffers, launches and timing.

use crate::clocks::setter::ClockSetter;
use crate::compile::Job;
use crate::launch::LaunchDims;
use crate::measuring::energy::EnergyMeter;
use crate::verify::format::Format;
use seqtune_data::{Attempt, Conditions, Invalidity, InvalidityKind, Resources};
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};

/// Handle of a compiled program, for the executor that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(pub usize);
/// Handle of an allocated buffer, for the executor that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(pub usize);

/// Side of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where it begins.
    Begin,
    /// Where it ends.
    End,
}

/// Argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum KernelArg {
    /// Buffer on the device.
    Buffer(BufferId),
    /// 32-bit integer.
    Int(i32),
    /// 32-bit floating-point number.
    Float(f32),
}

/// Open device.
pub trait Executor {
    /// Description of the device with its limits.
    fn device(&self) -> &Device;

    /// Prepares what jobs that are compiled next have in common, where that saves time.
    fn announce(&mut self, _jobs: &[Job]) {}

    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`Invalidity`] where the source does not compile, or the program exceeds the launch limits.
    fn compile(&mut self, job: &Job) -> Attempt<ProgramId>;

    /// Whether programs are completed at their first launch only, as by some OpenCL drivers.
    fn finishes_at_launch(&self) -> bool {
        true
    }

    /// Whether launches compute, which the double for tests does not.
    fn computes(&self) -> bool {
        true
    }

    /// The compiled program of a job in a form that [`Executor::load`] takes, and whose code can be edited.
    ///
    /// # Errors
    /// [`Invalidity`] where it does not compile, or the API gives no such form.
    fn binary(&mut self, _job: &Job) -> Attempt<Vec<u8>> {
        Err(Invalidity::new(InvalidityKind::Compile, "this API gives no program whose code can be edited"))
    }

    /// Loads a compiled program.
    ///
    /// # Errors
    /// [`Invalidity`] where the driver refuses it.
    fn load(&mut self, _binary: &[u8], _entry: &str) -> Attempt<ProgramId> {
        Err(Invalidity::new(InvalidityKind::Compile, "this API takes no edited program"))
    }

    /// Resources of a program, where the API reports them.
    fn resources(&self, _program: ProgramId) -> Option<Resources> {
        None
    }

    /// Current state of the device, where the API reports it.
    fn conditions(&mut self) -> Option<Conditions> {
        None
    }

    /// Opens the energy counter of the device.
    ///
    /// # Errors
    /// A message where the device has no working counter.
    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String>;

    /// What sets the clocks of the device.
    ///
    /// # Errors
    /// A message where nothing does.
    fn clocks(&mut self) -> std::result::Result<Box<dyn ClockSetter>, String> {
        Err("no clocks can be set through this API; CUDA (NVML) and HIP (amdgpu) set them".into())
    }

    /// Releases a program.
    fn release(&mut self, program: ProgramId);

    /// Allocates `bytes` bytes of device memory with undefined content.
    ///
    /// # Errors
    /// `Error::Failed` where the memory cannot be allocated.
    fn alloc(&mut self, bytes: usize) -> Result<BufferId>;

    /// Allocates as [`Executor::alloc`], between pages that end the process which touches them; one of them lies at a `side` of the buffer, the other
    /// may be some bytes away. `name` is the argument in the last words of the process. `None` where memory cannot be protected.
    ///
    /// # Errors
    /// `Error::Failed` where the memory cannot be allocated.
    fn alloc_fenced(&mut self, _bytes: usize, _side: Side, _name: &str) -> Result<Option<BufferId>> {
        Ok(None)
    }

    /// Bytes of a buffer at most, where that is less than the memory.
    fn largest_buffer(&self) -> Option<f64> {
        None
    }

    /// Frees every buffer.
    fn free_all(&mut self);

    /// Copies `data` to the device and waits.
    ///
    /// # Errors
    /// `Error::Failed` where the copy fails.
    fn write(&mut self, buffer: BufferId, data: &[u8]) -> Result<()>;

    /// Copies from the device into `data` and waits.
    ///
    /// # Errors
    /// `Error::Failed` where the copy fails.
    fn read(&mut self, buffer: BufferId, data: &mut [u8]) -> Result<()>;

    /// Launches a program `repeat` times in sequence and returns the device time of each timed launch in microseconds.
    ///
    /// An empty `local` leaves the work-group size to the API.
    ///
    /// # Errors
    /// [`Invalidity`] where a launch fails.
    fn launch(
        &mut self,
        program: ProgramId,
        values: &[KernelArg],
        geometry: &LaunchDims,
        repeat: usize,
        timing: Timing,
    ) -> Attempt<Vec<f32>>;

    /// Name and version of the vendor's library of tuned routines.
    ///
    /// # Errors
    /// A message where there is no such library.
    fn library(&mut self) -> std::result::Result<String, String> {
        Err("there is no vendor's library that works through this API".into())
    }

    /// Computes a matrix product by the vendor's library, repeated and timed as by [`Executor::launch`].
    ///
    /// # Errors
    /// [`Invalidity`] where the library is missing or fails.
    fn multiply(&mut self, _product: &GemmCall, _repeat: usize, _timing: Timing) -> Attempt<Vec<f32>> {
        Err(Invalidity::new(InvalidityKind::Runtime, self.library().err().unwrap_or_default()))
    }

    /// What the machine lacked at the last failure, which is then none of a config's: it is told once.
    fn trouble(&mut self) -> Option<Error> {
        None
    }

    /// Whether a failure has invalidated the device context, so that another process has to continue.
    fn is_poisoned(&self) -> bool {
        false
    }
}

/// Timing mode of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Time per launch, with caches as the previous launch left them.
    Warm,
    /// Time per launch, after the device's caches were overwritten.
    Cold,
    /// No times: launches are enqueued back to back, and the call may return before the last of them end. A later call reports their
    /// failures.
    Untimed,
}

/// Product of row-major matrices, `C = alpha op(A) op(B) + beta C`.
#[derive(Clone, Debug)]
pub struct GemmCall {
    /// M, N and K: rows of C, columns of C, and length of the sums.
    pub sizes: [i32; 3],
    /// Whether A is stored as K x M, and B as N x K.
    pub transposed: [bool; 2],
    /// Factors alpha and beta.
    pub factors: [f32; 2],
    /// Format of all matrices.
    pub format: Format,
    /// Buffers of A, B and C.
    pub matrices: [BufferId; 3],
}

/// Device that can be opened on this machine.
pub struct FoundDevice {
    /// Id for `--device`, such as `opencl:0`.
    pub id: String,
    /// Description of the device.
    pub device: Device,
    /// PCI bus address such as `0000:1b:00.0`, where the API reports it.
    pub bus: Option<String>,
    /// Id of the same device through an API listed before.
    pub same_as: Option<String>,
}
