//! OpenCL devices through opencl3, which opens libOpenCL.so.1 at run time.

mod combine;
mod fence;
mod groups;
mod listing;
mod pocl;
pub mod poclbin;
mod shared;

use crate::compile::Job;
use crate::compile::reason::reason;
use crate::executor::{BufferId, Executor, KernelArg, ProgramId, Side, Timing};
use crate::launch::LaunchDims;
use crate::measuring::energy::EnergyMeter;
use crate::verify::oclgrind;
use fence::Fence;
use groups::{check_group, check_local_memory, with_group};
use listing::cl_devices;
pub use listing::{devices, pocl_llvm};
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::error_codes::ClError;
use opencl3::kernel::{ExecuteKernel, Kernel as ClKernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, ClMem};
use opencl3::platform::Platform;
use opencl3::program::Program;
use opencl3::types::CL_BLOCKING;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
use shared::{OPTIONS, Shared};

/// Bytes of the last-level cache of a GPU that states fewer.
const LEAST_CACHE: f64 = 32e6;

/// OpenCL device with a profiling queue.
pub struct OpenCl {
    device: Device,
    // dropped in this order: kernels and buffers before their context
    programs: Vec<Option<ClKernel>>,
    /// Programs of several kernels, where the driver compiles each kernel at its first launch: others would compile all of them at once, on one core.
    shared: Option<Shared>,
    buffers: Vec<Buffer<u8>>,
    /// Memory of buffers between protected pages, freed after them.
    fences: Vec<Fence>,
    scratch: Option<Buffer<u8>>,
    /// Bytes of a buffer at most, and steps of the clock of launches in nanoseconds.
    most_bytes: Option<f64>,
    step_ns: u64,
    /// Options of the compiler beside the standard ones.
    own_options: &'static str,
    is_pocl: bool,
    poisoned: bool,
    /// What the machine lacked at the last failure.
    trouble: Option<Error>,
    queue: CommandQueue,
    context: Context,
}

fn opencl_error(what: &str) -> impl Fn(ClError) -> Error + '_ {
    move |e| Error::Failed(format!("OpenCL: {what}: {e}"))
}

impl OpenCl {
    /// Opens `opencl:N` with its description.
    ///
    /// # Errors
    /// [`Error::Input`] where there is no such device, [`Error::Failed`] where its context or queue cannot be created.
    pub fn open(id: &str, described: Device) -> Result<OpenCl> {
        let index = id.strip_prefix("opencl:").and_then(|n| n.parse::<usize>().ok());
        let device = index.and_then(|i| cl_devices().ok()?.into_iter().nth(i));
        let Some(device) = device else { return Err(Error::Input(format!("no OpenCL device `{id}`"))) };
        let platform = device.platform().and_then(|id| Platform::new(id).name()).unwrap_or_default();
        let is_pocl = platform == pocl::PLATFORM;
        if is_pocl {
            pocl::check_folder()?;
        }
        let shared = if is_pocl { Shared::open() } else { None };
        if device.compiler_available() == Ok(false) {
            return Err(Error::Unavailable(format!("{id}: its driver has no compiler")));
        }
        let context = Context::from_device(&device).map_err(opencl_error("making a context"))?;
        let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE)
            .map_err(opencl_error("making a queue"))?;
        Ok(OpenCl {
            device: described,
            programs: Vec::new(),
            shared,
            buffers: Vec::new(),
            fences: Vec::new(),
            scratch: None,
            most_bytes: device.max_mem_alloc_size().ok().map(|bytes| bytes as f64),
            step_ns: device.profiling_timer_resolution().map_or(1, |ns| ns.max(1) as u64),
            // C99 makes no body of a function that is `inline` alone; PoCL takes the word away itself
            own_options: if is_pocl { "" } else { " -Dinline=" },
            is_pocl,
            poisoned: false,
            trouble: None,
            queue,
            context,
        })
    }

    fn is_gpu(&self) -> bool {
        self.device.limits.is_cpu != Some(1.0)
    }

    /// What the machine lacks, whatever the config.
    fn lack(&self) -> Option<Error> {
        self.is_pocl.then(pocl::no_room).flatten()
    }

    /// The failure of a launch, which may have taken the context with it: then another process has to go on.
    fn failure(&mut self, detail: String) -> Invalidity {
        let writes = |buffer: &mut Buffer<u8>| {
            // SAFETY: blocking, and each buffer holds a byte
            unsafe { self.queue.enqueue_write_buffer(buffer, CL_BLOCKING, 0, &[1], &[]) }.is_ok()
        };
        // nothing is read of what flushes the caches
        let is_well = self.queue.finish().is_ok() && self.scratch.as_mut().is_none_or(writes);
        self.poisoned |= !is_well;
        self.trouble = self.lack();
        Invalidity::new(InvalidityKind::Runtime, detail)
    }

    /// Refuses arguments that the compiled function does not take: opencl3 panics at them.
    fn check_arguments(&self, program: ProgramId, values: &[KernelArg]) -> Attempt<()> {
        let Some(kernel) = &self.programs[program.0] else { return Ok(()) };
        let wrong = |sentence: String| Err(Invalidity::new(InvalidityKind::Compile, sentence));
        if let Ok(taken) = kernel.num_args()
            && taken as usize != values.len()
        {
            return wrong(format!("kernel.toml states {} arguments, the function takes {taken}", values.len()));
        }
        for (at, value) in values.iter().enumerate() {
            // SAFETY: the value lives through the call, and the driver compares its size with the function's
            let set = unsafe {
                match value {
                    KernelArg::Buffer(b) => kernel.set_arg(at as u32, &self.buffers[b.0].get()),
                    KernelArg::Int(x) => kernel.set_arg(at as u32, x),
                    KernelArg::Float(x) => kernel.set_arg(at as u32, x),
                }
            };
            if let Err(e) = set {
                return wrong(format!(
                    "argument {} of kernel.toml is not of the kind that the function takes: {e}",
                    at + 1
                ));
            }
        }
        Ok(())
    }

    /// Overwrites twice the last-level cache. GPUs may state that of an earlier level.
    fn flush(&mut self) -> std::result::Result<(), ClError> {
        let stated = self.device.limits.cache_bytes.unwrap_or(64e6);
        let bytes = 2 * if self.is_gpu() { stated.max(LEAST_CACHE) } else { stated } as usize / 4 * 4;
        if self.scratch.is_none() {
            // SAFETY: no host pointer is passed
            self.scratch =
                Some(unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, bytes, std::ptr::null_mut())? });
        }
        if let Some(scratch) = &mut self.scratch {
            // SAFETY: the buffer holds `bytes` bytes
            unsafe { self.queue.enqueue_fill_buffer(scratch, &[1u8], 0, bytes, &[])? };
        }
        Ok(())
    }
}

impl Executor for OpenCl {
    fn device(&self) -> &Device {
        &self.device
    }

    fn announce(&mut self, jobs: &[Job]) {
        if let Some(shared) = &mut self.shared {
            shared.announce(&self.context, jobs);
        }
    }

    fn compile(&mut self, job: &Job) -> Attempt<ProgramId> {
        if !job.file.ends_with(".cl") {
            return Err(Invalidity::new(InvalidityKind::Compile, format!("{} is not OpenCL C", job.file)));
        }
        let stated = self.is_gpu().then(|| with_group(job)).flatten();
        let stated = stated.as_ref().map(|source| Job { source, ..job.clone() });
        let job = stated.as_ref().unwrap_or(job);
        let combined = self.shared.as_mut().and_then(|shared| shared.kernel(&self.context, job));
        let kernel = combined.map_or_else(|| alone(&self.context, job, self.own_options), Ok);
        let kernel = kernel.inspect_err(|_| self.trouble = self.lack())?;
        if let Some(device) = self.context.devices().first() {
            check_local_memory(&kernel, *device, self.device.limits.local_memory)?;
        }
        self.programs.push(Some(kernel));
        Ok(ProgramId(self.programs.len() - 1))
    }

    fn binary(&mut self, job: &Job) -> Attempt<Vec<u8>> {
        if !self.is_pocl {
            return Err(Invalidity::new(InvalidityKind::Compile, "only PoCL gives programs whose code can be edited"));
        }
        let program = program_alone(&self.context, job, self.own_options)?;
        let binaries = program.get_binaries().unwrap_or_default();
        let empty = || Invalidity::new(InvalidityKind::Compile, "the driver gives no compiled program");
        binaries.into_iter().find(|binary| !binary.is_empty()).ok_or_else(empty)
    }

    fn load(&mut self, binary: &[u8], entry: &str) -> Attempt<ProgramId> {
        let failed = |why: String| Invalidity::new(InvalidityKind::Compile, why);
        // SAFETY: the driver copies the bytes
        let created = unsafe { Program::create_from_binary(&self.context, self.context.devices(), &[binary]) };
        let mut program = created.map_err(|e| failed(e.to_string()))?;
        program.build(self.context.devices(), "").map_err(|e| failed(e.to_string()))?;
        let kernel = ClKernel::create(&program, entry).map_err(|e| failed(format!("{entry}: {e}")))?;
        self.programs.push(Some(kernel));
        Ok(ProgramId(self.programs.len() - 1))
    }

    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String> {
        Err("OpenCL tells no energy".into())
    }

    fn release(&mut self, program: ProgramId) {
        self.programs[program.0] = None;
        if let Some(shared) = &mut self.shared {
            shared.release();
        }
    }

    fn largest_buffer(&self) -> Option<f64> {
        self.most_bytes
    }

    fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    fn trouble(&mut self) -> Option<Error> {
        self.trouble.take()
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId> {
        if self.is_gpu() && self.scratch.is_none() {
            // before the buffers, and in use: a problem that leaves no room for it is told so, its configs do not fail one by one
            let flushed = self.flush().and_then(|()| self.queue.finish());
            flushed.map_err(opencl_error("making room to flush the cache"))?;
        }
        // SAFETY: no host pointer is passed
        let buffer = unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, bytes, std::ptr::null_mut()) };
        self.buffers.push(buffer.map_err(opencl_error(&format!("allocating {bytes} bytes")))?);
        Ok(BufferId(self.buffers.len() - 1))
    }

    /// On PoCL, whose kernels run in this process on memory of the host as it is; and on a simulator, which tells what is accessed beyond any buffer.
    fn alloc_fenced(&mut self, bytes: usize, side: Side, name: &str) -> Result<Option<BufferId>> {
        if self.device.name.contains(oclgrind::NAME) {
            return self.alloc(bytes).map(Some);
        }
        if !self.is_pocl || self.is_gpu() {
            return Ok(None);
        }
        let fence = Fence::new(bytes, side, name)
            .map_err(|e| Error::Failed(format!("allocating {bytes} bytes between protected pages: {e}")))?;
        // SAFETY: the memory outlives the buffer, which is dropped before it
        let buffer =
            unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, fence.data()) };
        self.buffers.push(buffer.map_err(opencl_error(&format!("allocating {bytes} bytes")))?);
        self.fences.push(fence);
        Ok(Some(BufferId(self.buffers.len() - 1)))
    }

    fn free_all(&mut self) {
        self.buffers.clear();
        self.fences.clear();
    }

    fn write(&mut self, buffer: BufferId, data: &[u8]) -> Result<()> {
        // SAFETY: blocking, and callers keep to the allocated length
        unsafe { self.queue.enqueue_write_buffer(&mut self.buffers[buffer.0], CL_BLOCKING, 0, data, &[]) }
            .map(drop)
            .map_err(opencl_error("writing a buffer"))
    }

    fn read(&mut self, buffer: BufferId, data: &mut [u8]) -> Result<()> {
        // SAFETY: blocking, and callers keep to the allocated length
        unsafe { self.queue.enqueue_read_buffer(&self.buffers[buffer.0], CL_BLOCKING, 0, data, &[]) }
            .map(drop)
            .map_err(opencl_error("reading a buffer"))
    }

    fn launch(
        &mut self,
        program: ProgramId,
        values: &[KernelArg],
        geometry: &LaunchDims,
        repeat: usize,
        timing: Timing,
    ) -> Attempt<Vec<f32>> {
        self.check_arguments(program, values)?;
        geometry.check()?;
        if let (Some(kernel), Some(device)) = (&self.programs[program.0], self.context.devices().first()) {
            check_group(kernel, *device, geometry)?;
        }
        let mut times = Vec::with_capacity(repeat);
        for _ in 0..repeat {
            if timing == Timing::Cold {
                self.flush().map_err(|e| self.failure(format!("flushing the cache: {e}")))?;
            }
            let run = || -> std::result::Result<[u64; 2], ClError> {
                let Some(kernel) = &self.programs[program.0] else {
                    return Err(ClError(opencl3::error_codes::CL_INVALID_PROGRAM));
                };
                let mut execute = ExecuteKernel::new(kernel);
                // SAFETY: number and kinds of the arguments are those of kernel.toml, which describes the signature
                let event = unsafe {
                    for value in values {
                        match value {
                            KernelArg::Buffer(b) => execute.set_arg(&self.buffers[b.0]),
                            KernelArg::Int(x) => execute.set_arg(x),
                            KernelArg::Float(x) => execute.set_arg(x),
                        };
                    }
                    execute.set_global_work_sizes(&geometry.global);
                    if !geometry.local.is_empty() {
                        execute.set_local_work_sizes(&geometry.local);
                    }
                    execute.enqueue_nd_range(&self.queue)?
                };
                event.wait()?;
                Ok([event.profiling_command_start()?, event.profiling_command_end()?])
            };
            let [start, end] = run().map_err(|e| self.failure(e.to_string()))?;
            let Some(ns) = end.checked_sub(start) else {
                return Err(self.failure(format!("the driver says that it ended at {end} ns and began at {start}")));
            };
            // what takes less than a step of the clock takes a step at most
            times.push(ns.max(self.step_ns) as f32 / 1e3);
        }
        Ok(times)
    }
}

/// Kernel of a program of its own.
fn alone(context: &Context, job: &Job, own_options: &str) -> Attempt<ClKernel> {
    let program = program_alone(context, job, own_options)?;
    let entry = job.entry;
    // the kernel keeps its program
    ClKernel::create(&program, entry).map_err(|e| {
        let has = program.kernel_names();
        Invalidity::new(InvalidityKind::Compile, format!("{entry}: {e}; the source has the kernels `{has}`"))
    })
}

/// A program of one config.
fn program_alone(context: &Context, job: &Job, own_options: &str) -> Attempt<Program> {
    let definitions: String = job.defines.iter().map(|define| format!(" -D{}={}", define.name, define.value)).collect();
    let options = OPTIONS.to_string() + own_options + &definitions;
    Program::create_and_build_from_source(context, job.source, &options)
        .map_err(|log| Invalidity::new(InvalidityKind::Compile, reason(&log)))
}
