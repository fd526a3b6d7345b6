//! NVIDIA GPUs through the driver API, opened at run time by cudarc. Programs come from [`super::nvrtc`].
//!
//! A device is described and programs are compiled without a context: the processes that only compile take no memory of the GPU.

use super::compiler::{Binary, Cached, Compiler, Job, compiler_for};
use super::energy::EnergyMeter;
use super::nvml::Gpu;
use super::{BufferId, Executor, Fault, Geometry, Product, ProgramId, Value, fault};
use crate::dataset::{InvalidityKind, Observed};
use crate::error::{Error, Result};
use crate::kernel::Device;
use cublas::Cublas;
use cudarc::driver::sys::{self, CUresult};
use device::{bus, check, count, describe};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

mod cublas;
mod device;

pub use device::devices;

/// One GPU.
pub struct Cuda {
    device: Device,
    ordinal: i32,
    compiler: Cached<Box<dyn Compiler>>,
    programs: Vec<Option<Program>>,
    buffers: Vec<sys::CUdeviceptr>,
    /// What is overwritten to flush the caches, and its bytes.
    scratch: Option<(sys::CUdeviceptr, usize)>,
    /// Pairs of events, made as they are needed.
    events: Vec<(sys::CUevent, sys::CUevent)>,
    /// Whether the process has a context on the device.
    open: bool,
    poisoned: bool,
    /// What NVML knows of it.
    gpu: std::result::Result<Gpu, String>,
    /// Opened at the first use.
    library: Option<std::result::Result<Cublas, String>>,
}

struct Program {
    binary: Binary,
    entry: CString,
    dynamic_local_bytes: u32,
    /// Made at the first launch.
    loaded: Option<(sys::CUmodule, sys::CUfunction)>,
}

fn failed(what: &str) -> impl Fn(String) -> Error + '_ {
    move |e| Error::Failed(format!("{what}: {e}"))
}

impl Cuda {
    /// Opens `cuda:N`.
    pub fn open(id: &str) -> Result<Cuda> {
        let ordinal = id.strip_prefix("cuda:").and_then(|n| n.parse().ok());
        let count = count()?;
        let Some(ordinal) = ordinal.filter(|n| (0..count).contains(n)) else {
            return Err(Error::Input(format!("no CUDA device `{id}`: there are {count}, from cuda:0")));
        };
        let device = describe(ordinal).map_err(failed("asking a GPU"))?;
        Ok(Cuda {
            compiler: compiler_for(&device)?,
            device,
            ordinal,
            programs: Vec::new(),
            buffers: Vec::new(),
            scratch: None,
            events: Vec::new(),
            open: false,
            poisoned: false,
            gpu: bus(ordinal).and_then(|bus| Gpu::at(&bus)),
            library: None,
        })
    }

    /// Makes the device's context this thread's.
    fn enter(&mut self) -> std::result::Result<(), String> {
        if self.open {
            return Ok(());
        }
        let (mut handle, mut context) = (0, null_mut());
        // SAFETY: handles are written before they are used; the primary context lives as long as the process
        unsafe {
            check(sys::cuDeviceGet(&mut handle, self.ordinal))?;
            check(sys::cuDevicePrimaryCtxRetain(&mut context, handle))?;
            check(sys::cuCtxSetCurrent(context))?;
        }
        self.open = true;
        Ok(())
    }

    fn allocate(&mut self, bytes: usize) -> std::result::Result<sys::CUdeviceptr, String> {
        self.enter()?;
        let mut pointer = 0;
        // SAFETY: writes one pointer; the context is entered
        unsafe { check(sys::cuMemAlloc_v2(&mut pointer, bytes.max(1)))? };
        Ok(pointer)
    }

    /// Overwrites twice the last-level cache, in the order of the launches.
    fn flush(&mut self) -> std::result::Result<(), String> {
        let (pointer, bytes) = match self.scratch {
            Some(scratch) => scratch,
            None => {
                let bytes = 2 * self.device.limits.cache_bytes.unwrap_or(64e6) as usize;
                let pointer = self.allocate(bytes)?;
                *self.scratch.insert((pointer, bytes))
            }
        };
        // SAFETY: the buffer holds `bytes` bytes
        unsafe { check(sys::cuMemsetD8Async(pointer, 1, bytes, null_mut())) }
    }

    /// The function of a program, loaded at its first use.
    fn function(&mut self, program: ProgramId) -> std::result::Result<(sys::CUfunction, u32), String> {
        let Some(program) = &mut self.programs[program.0] else { return Err("CUDA: the program was released".into()) };
        let shared = program.dynamic_local_bytes;
        if let Some((_, function)) = program.loaded {
            return Ok((function, shared));
        }
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: the image is one that NVRTC made; the name ends in a zero byte
        unsafe {
            check(sys::cuModuleLoadData(&mut module, program.binary.code.as_ptr().cast()))?;
            check(sys::cuModuleGetFunction(&mut function, module, program.entry.as_ptr()))?;
            if shared > 0 {
                let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                check(sys::cuFuncSetAttribute(function, attribute, shared as i32))?;
            }
        }
        program.loaded = Some((module, function));
        Ok((function, shared))
    }

    /// Launches a program; microseconds of each launch.
    fn run(
        &mut self,
        program: ProgramId,
        values: &[Value],
        geometry: &Geometry,
        timing: (usize, bool),
    ) -> std::result::Result<Vec<f32>, String> {
        self.enter()?;
        let (function, shared) = self.function(program)?;
        let [groups, items] = grid(geometry)?;
        // arguments by value, each in a word of its own that lives until the launch
        let mut words: Vec<u64> = values
            .iter()
            .map(|value| match value {
                Value::Buffer(b) => self.buffers[b.0],
                Value::Int(x) => *x as u32 as u64,
                Value::Float(x) => x.to_bits() as u64,
            })
            .collect();
        let mut arguments: Vec<*mut c_void> = words.iter_mut().map(|w| (w as *mut u64).cast()).collect();
        self.timed(timing, &mut || {
            // SAFETY: number and kinds of the arguments are those of kernel.toml, which describes the signature; numbers are
            // stored little-endian, so that the low half of a word is a 32-bit argument
            unsafe {
                check(sys::cuLaunchKernel(
                    function,
                    groups[0],
                    groups[1],
                    groups[2],
                    items[0],
                    items[1],
                    items[2],
                    shared,
                    null_mut(),
                    arguments.as_mut_ptr(),
                    null_mut(),
                ))
            }
        })
    }

    /// Does something on the device so many times, each between two events; microseconds of each. With `flush` the caches are overwritten
    /// before each.
    fn timed(
        &mut self,
        (repeat, flush): (usize, bool),
        enqueue: &mut dyn FnMut() -> std::result::Result<(), String>,
    ) -> std::result::Result<Vec<f32>, String> {
        while self.events.len() < repeat {
            let (mut start, mut end) = (null_mut(), null_mut());
            // SAFETY: writes two handles
            unsafe {
                check(sys::cuEventCreate(&mut start, 0))?;
                check(sys::cuEventCreate(&mut end, 0))?;
            }
            self.events.push((start, end));
        }
        for i in 0..repeat {
            if flush {
                self.flush()?;
            }
            let (start, end) = self.events[i];
            // SAFETY: events of this process, on the stream of what is between them
            unsafe { check(sys::cuEventRecord(start, null_mut()))? };
            enqueue()?;
            // SAFETY: as above
            unsafe { check(sys::cuEventRecord(end, null_mut()))? };
        }
        // SAFETY: the default stream of the entered context
        unsafe { check(sys::cuCtxSynchronize())? };
        self.events[..repeat].iter().map(|(start, end)| elapsed(*start, *end).map(|ms| ms * 1e3)).collect()
    }

    /// The library, opened.
    fn cublas(&mut self) -> std::result::Result<&Cublas, String> {
        self.enter()?;
        let library = self.library.get_or_insert_with(Cublas::open);
        library.as_ref().map_err(String::clone)
    }

    /// What a failed launch is booked as; notes whether the context is lost.
    fn failure(&mut self, sentence: String) -> Fault {
        // an error of the context comes back from every call after it
        // SAFETY: takes no argument
        self.poisoned = self.open && unsafe { sys::cuCtxSynchronize() } != CUresult::CUDA_SUCCESS;
        fault(InvalidityKind::Runtime, sentence)
    }
}

/// Milliseconds between two events that have happened.
fn elapsed(start: sys::CUevent, end: sys::CUevent) -> std::result::Result<f32, String> {
    type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> CUresult;
    let mut milliseconds = 0.0;
    // SAFETY: the name and type are the driver's since CUDA 2; cudarc binds its successor only, which drivers before 12.8 lack
    unsafe {
        let ask = sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0").map_err(|e| format!("CUDA: {e}"))?;
        check(ask(&mut milliseconds, start, end))?;
    }
    Ok(milliseconds)
}

/// Work-groups and work-items of a launch per dimension. Where the API is to choose the work-group, the largest divisors up to
/// 256 in all.
fn grid(geometry: &Geometry) -> std::result::Result<[[u32; 3]; 2], String> {
    let (mut groups, mut items) = ([1u32; 3], [1u32; 3]);
    let mut left = 256;
    for (at, global) in geometry.global.iter().enumerate() {
        let local = match geometry.local.get(at) {
            Some(local) => *local,
            None => (1..=left.min(*global)).rev().find(|d| global % d == 0).unwrap_or(1),
        };
        left /= local.max(1);
        if local == 0 || global % local != 0 {
            return Err(format!("{global} work-items are not a multiple of the work-group's {local}"));
        }
        let most = if at == 0 { i32::MAX as usize } else { 65_535 };
        if global / local > most {
            return Err(format!("{} work-groups in dimension {at} are more than {most}", global / local));
        }
        (groups[at], items[at]) = ((global / local) as u32, local as u32);
    }
    Ok([groups, items])
}

impl Executor for Cuda {
    fn device(&self) -> &Device {
        &self.device
    }

    fn compile(&mut self, job: &Job) -> std::result::Result<ProgramId, Fault> {
        let binary = self.compiler.compile(job)?;
        let entry =
            CString::new(job.entry).map_err(|_| fault(InvalidityKind::Compile, "the entry holds a zero byte"))?;
        let dynamic_local_bytes = job.dynamic_local_bytes;
        self.programs.push(Some(Program { binary, entry, dynamic_local_bytes, loaded: None }));
        Ok(ProgramId(self.programs.len() - 1))
    }

    fn finishes_at_launch(&self) -> bool {
        false
    }

    fn observed(&mut self, program: Option<ProgramId>) -> Observed {
        Observed {
            resources: program.and_then(|p| self.programs[p.0].as_ref()).map(|p| p.binary.resources),
            conditions: self.gpu.as_ref().ok().and_then(Gpu::conditions),
            unmetered: None,
        }
    }

    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String> {
        Ok(Box::new(self.gpu.clone()?))
    }

    fn release(&mut self, program: ProgramId) {
        if let Some(Program { loaded: Some((module, _)), .. }) = self.programs[program.0].take() {
            // SAFETY: loaded by this process, and nothing of it runs: launches are waited for
            unsafe { sys::cuModuleUnload(module) };
        }
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId> {
        let pointer = self.allocate(bytes).map_err(|e| Error::Failed(format!("allocating {bytes} bytes: {e}")))?;
        self.buffers.push(pointer);
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn free_all(&mut self) {
        for pointer in self.buffers.drain(..) {
            // SAFETY: allocated by this process, and nothing runs
            unsafe { sys::cuMemFree_v2(pointer) };
        }
    }

    fn write(&mut self, buffer: BufferId, data: &[u8]) -> Result<()> {
        // SAFETY: callers keep to the allocated length; the copy is done when the call returns
        unsafe { check(sys::cuMemcpyHtoD_v2(self.buffers[buffer.0], data.as_ptr().cast(), data.len())) }
            .map_err(failed("writing a buffer"))
    }

    fn read(&mut self, buffer: BufferId, data: &mut [u8]) -> Result<()> {
        // SAFETY: callers keep to the allocated length; the copy is done when the call returns
        unsafe { check(sys::cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), self.buffers[buffer.0], data.len())) }
            .map_err(failed("reading a buffer"))
    }

    fn launch(
        &mut self,
        program: ProgramId,
        values: &[Value],
        geometry: &Geometry,
        repeat: usize,
        flush: bool,
    ) -> std::result::Result<Vec<f32>, Fault> {
        self.run(program, values, geometry, (repeat, flush)).map_err(|e| self.failure(e))
    }

    fn library(&mut self) -> std::result::Result<String, String> {
        self.cublas().map(|library| library.name.clone())
    }

    fn multiply(&mut self, product: &Product, repeat: usize, flush: bool) -> std::result::Result<Vec<f32>, Fault> {
        let pointers = product.matrices.map(|matrix| self.buffers[matrix.0]);
        // taken out while it is in use, because timing needs the device
        let library = self.cublas().map(drop).and_then(|()| self.library.take().unwrap_or_else(Cublas::open));
        let times = match &library {
            Ok(cublas) => self.timed((repeat, flush), &mut || cublas.multiply(product, pointers)),
            Err(reason) => Err(reason.clone()),
        };
        self.library = Some(library);
        times.map_err(|e| self.failure(e))
    }

    fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_divided_into_work_groups() {
        let geometry = |global: &[usize], local: &[usize]| Geometry { global: global.into(), local: local.into() };
        assert_eq!(grid(&geometry(&[128, 16], &[16, 8])), Ok([[8, 2, 1], [16, 8, 1]]));
        assert_eq!(grid(&geometry(&[1_000, 6], &[])), Ok([[4, 6, 1], [250, 1, 1]]));
        assert_eq!(grid(&geometry(&[17, 30], &[])), Ok([[1, 2, 1], [17, 15, 1]]));
        assert!(grid(&geometry(&[10], &[4])).unwrap_err().contains("not a multiple"));
        assert!(grid(&geometry(&[1, 65_536], &[1, 1])).unwrap_err().contains("65536 work-groups"));
    }
}
