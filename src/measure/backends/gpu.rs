//! Executor on a GPU's native API, common to CUDA and HIP.
//!
//! Description and compilation need no context, so that processes that only compile take no memory of the GPU.

use crate::backends::driver::{Driver, DriverResult, Handle, Library, driver_error};
use crate::clocks::setter::ClockSetter;
use crate::compile::{Binary, Cached, Compiler, Job};
use crate::executor::{BufferId, Executor, GemmCall, KernelArg, ProgramId, Timing};
use crate::launch::LaunchDims;
use crate::measuring::energy::EnergyMeter;
use seqtune_data::{Attempt, Conditions, Invalidity, InvalidityKind, Resources};
use seqtune_kernel::Device;
use seqtune_kernel::error::{Error, Result};
use std::ffi::CString;

/// GPU through its native API.
pub struct Gpu<D> {
    device: Device,
    driver: D,
    compiler: Cached<Box<dyn Compiler>>,
    programs: Vec<Option<LoadedProgram>>,
    buffers: Vec<u64>,
    /// Address and bytes of the memory that is overwritten to flush the caches.
    scratch: Option<(u64, usize)>,
    /// Pairs of events, created on demand.
    events: Vec<(Handle, Handle)>,
    /// Whether the process has a context on the device.
    open: bool,
    poisoned: bool,
    /// Library of the vendor, opened at the first use.
    library: Option<DriverResult<Box<dyn Library>>>,
}

struct LoadedProgram {
    binary: Binary,
    entry: CString,
    dynamic_local_bytes: u32,
    /// Module and function, loaded at the first launch.
    loaded: Option<(Handle, Handle)>,
}

impl<D: Driver> Gpu<D> {
    /// Creates an executor from a device, its driver and its compiler.
    pub fn new(device: Device, driver: D, compiler: Cached<Box<dyn Compiler>>) -> Gpu<D> {
        Gpu {
            compiler,
            device,
            driver,
            programs: Vec::new(),
            buffers: Vec::new(),
            scratch: None,
            events: Vec::new(),
            open: false,
            poisoned: false,
            library: None,
        }
    }

    fn enter(&mut self) -> DriverResult<()> {
        if !self.open {
            self.driver.enter()?;
            self.open = true;
        }
        Ok(())
    }

    fn allocate(&mut self, bytes: usize) -> DriverResult<u64> {
        self.enter()?;
        self.driver.allocate(bytes.max(1))
    }

    /// Enqueues an overwrite of twice the last-level cache.
    fn flush(&mut self) -> DriverResult<()> {
        let (pointer, bytes) = self.scratch()?;
        self.driver.overwrite(pointer, bytes)
    }

    /// The memory that flushes the caches, allocated at the first call.
    fn scratch(&mut self) -> DriverResult<(u64, usize)> {
        if let Some(scratch) = self.scratch {
            return Ok(scratch);
        }
        let bytes = 2 * self.device.limits.cache_bytes.unwrap_or(64e6) as usize;
        let pointer = self.allocate(bytes)?;
        Ok(*self.scratch.insert((pointer, bytes)))
    }

    /// Function of a program, loaded at its first use, and its dynamic local memory in bytes.
    fn function(&mut self, program: ProgramId) -> DriverResult<(Handle, u32)> {
        let Some(program) = &mut self.programs[program.0] else { return Err("the program was released".into()) };
        let bytes = program.dynamic_local_bytes;
        let (_, function) = match program.loaded {
            Some(loaded) => loaded,
            None => *program.loaded.insert(self.driver.load(&program.binary.code, &program.entry, bytes)?),
        };
        Ok((function, bytes))
    }

    /// Launches a program and returns the time of each launch in microseconds.
    fn run(
        &mut self,
        program: ProgramId,
        values: &[KernelArg],
        geometry: &LaunchDims,
        repeat: usize,
        timing: Timing,
    ) -> DriverResult<Vec<f32>> {
        self.enter()?;
        let (function, local_bytes) = self.function(program)?;
        let grid = grid(geometry)?;
        // arguments by value, each in a word of its own that lives until the launch; numbers are stored little-endian, so that the
        // low half of a word is a 32-bit argument
        let word = |value: &KernelArg| match value {
            KernelArg::Buffer(b) => self.buffers[b.0],
            KernelArg::Int(x) => *x as u32 as u64,
            KernelArg::Float(x) => x.to_bits() as u64,
        };
        let mut words: Vec<u64> = values.iter().map(word).collect();
        let mut arguments: Vec<Handle> = words.iter_mut().map(|w| (w as *mut u64).cast()).collect();
        self.run_timed(repeat, timing, &mut |driver| driver.launch(function, grid, local_bytes, &mut arguments))
    }

    /// Enqueues work `repeat` times, each between two events where timed, and returns the times in microseconds.
    fn run_timed(
        &mut self,
        repeat: usize,
        timing: Timing,
        enqueue: &mut dyn FnMut(&D) -> DriverResult<()>,
    ) -> DriverResult<Vec<f32>> {
        let pairs = if timing == Timing::Untimed { 1 } else { repeat };
        while self.events.len() < pairs {
            self.events.push((self.driver.event()?, self.driver.event()?));
        }
        if timing == Timing::Untimed {
            // these are at work while the device's counter is read and the next are enqueued
            (0..repeat).try_for_each(|_| enqueue(&self.driver))?;
            let (last, before) = self.events[0];
            self.driver.record(last)?;
            self.driver.wait(before)?;
            self.events[0] = (before, last);
            return Ok(Vec::new());
        }
        for i in 0..repeat {
            if timing == Timing::Cold {
                self.flush()?;
            }
            let (start, end) = self.events[i];
            self.driver.record(start)?;
            enqueue(&self.driver)?;
            self.driver.record(end)?;
        }
        self.driver.synchronise()?;
        self.events[..repeat]
            .iter()
            .map(|(start, end)| self.driver.elapsed_ms(*start, *end).map(|ms| ms * 1e3))
            .collect()
    }

    /// Converts the message of a failed launch, and records whether the context is lost.
    fn failure(&mut self, sentence: String) -> Invalidity {
        self.poisoned = self.open && self.driver.synchronise().is_err();
        Invalidity::new(InvalidityKind::Runtime, sentence)
    }
}

/// Most work-groups of a launch in a dimension.
fn most_groups(dimension: usize) -> usize {
    if dimension == 0 { i32::MAX as usize } else { 65_535 }
}

/// Most work-items in a dimension of a work-group whose size is not given: NVIDIA's GPUs take 64 in the last.
fn most_items(dimension: usize) -> usize {
    if dimension == 2 { 64 } else { 256 }
}

/// Size of a work-group per dimension.
///
/// Where the API has to choose, the sizes are divisors of up to 256 work-items in all that keep the work-groups within their limit.
fn local(geometry: &LaunchDims) -> Vec<usize> {
    let needed = |(at, &global): (usize, &usize)| match geometry.local.get(at) {
        Some(local) => *local,
        None => (1..=most_items(at)).find(|d| global % d == 0 && global / d <= most_groups(at)).unwrap_or(1),
    };
    let mut local: Vec<usize> = geometry.global.iter().enumerate().map(needed).collect();
    for at in geometry.local.len()..local.len() {
        let rest = geometry.global[at] / local[at];
        let left = (256 / local.iter().product::<usize>().max(1)).min(most_items(at) / local[at]);
        local[at] *= (1..=left.min(rest)).rev().find(|d| rest.is_multiple_of(*d)).unwrap_or(1);
    }
    local
}

/// Number of work-groups and size of a work-group, per dimension.
fn grid(geometry: &LaunchDims) -> DriverResult<[[u32; 3]; 2]> {
    let (mut groups, mut items) = ([1u32; 3], [1u32; 3]);
    for (at, (global, local)) in std::iter::zip(&geometry.global, local(geometry)).enumerate() {
        if local == 0 || global % local != 0 {
            return Err(format!("{global} work-items are not a multiple of the work-group's {local}"));
        }
        let most = most_groups(at);
        if global / local > most {
            return Err(format!("{} work-groups in dimension {at} are more than {most}", global / local));
        }
        (groups[at], items[at]) = ((global / local) as u32, local as u32);
    }
    Ok([groups, items])
}

impl<D: Driver> Executor for Gpu<D> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn compile(&mut self, job: &Job) -> Attempt<ProgramId> {
        let binary = self.compiler.compile(job)?;
        let entry = CString::new(job.entry)
            .map_err(|_| Invalidity::new(InvalidityKind::Compile, "the entry holds a zero byte"))?;
        let dynamic_local_bytes = job.dynamic_local_bytes;
        self.programs.push(Some(LoadedProgram { binary, entry, dynamic_local_bytes, loaded: None }));
        Ok(ProgramId(self.programs.len() - 1))
    }

    fn finishes_at_launch(&self) -> bool {
        false
    }

    fn resources(&self, program: ProgramId) -> Option<Resources> {
        self.programs[program.0].as_ref().map(|p| p.binary.resources)
    }

    fn conditions(&mut self) -> Option<Conditions> {
        self.driver.conditions()
    }

    fn energy_meter(&mut self) -> DriverResult<Box<dyn EnergyMeter>> {
        self.driver.meter()
    }

    fn clocks(&mut self) -> DriverResult<Box<dyn ClockSetter>> {
        self.driver.clocks()
    }

    fn release(&mut self, program: ProgramId) {
        if let Some(LoadedProgram { loaded: Some((module, _)), .. }) = self.programs[program.0].take() {
            self.driver.unload(module);
        }
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId> {
        // before the buffers: a problem that leaves no room to flush the caches is told so, its configs do not fail one by one
        let pointer = self.scratch().and_then(|_| self.allocate(bytes));
        let pointer = pointer.map_err(|e| Error::Failed(format!("allocating {bytes} bytes: {e}")))?;
        self.buffers.push(pointer);
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn free_all(&mut self) {
        for pointer in self.buffers.drain(..) {
            self.driver.free(pointer);
        }
    }

    fn write(&mut self, buffer: BufferId, data: &[u8]) -> Result<()> {
        self.driver.write(self.buffers[buffer.0], data).map_err(driver_error("writing a buffer"))
    }

    fn read(&mut self, buffer: BufferId, data: &mut [u8]) -> Result<()> {
        self.driver.read(self.buffers[buffer.0], data).map_err(driver_error("reading a buffer"))
    }

    fn launch(
        &mut self,
        program: ProgramId,
        values: &[KernelArg],
        geometry: &LaunchDims,
        repeat: usize,
        timing: Timing,
    ) -> Attempt<Vec<f32>> {
        self.run(program, values, geometry, repeat, timing).map_err(|e| self.failure(e))
    }

    fn library(&mut self) -> DriverResult<String> {
        self.enter()?;
        let library = self.library.get_or_insert_with(|| self.driver.library());
        library.as_ref().map(|library| library.name()).map_err(String::clone)
    }

    fn multiply(&mut self, product: &GemmCall, repeat: usize, timing: Timing) -> Attempt<Vec<f32>> {
        let pointers = product.matrices.map(|matrix| self.buffers[matrix.0]);
        let opened = Executor::library(self);
        // taken out while it is in use, because timing needs the device
        let library = self.library.take();
        let times = match (&opened, &library) {
            (Ok(_), Some(Ok(library))) => self.run_timed(repeat, timing, &mut |_| library.multiply(product, pointers)),
            (library, _) => Err(library.clone().err().unwrap_or_default()),
        };
        self.library = library;
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
        let geometry = |global: &[usize], local: &[usize]| LaunchDims { global: global.into(), local: local.into() };
        assert_eq!(grid(&geometry(&[128, 16], &[16, 8])), Ok([[8, 2, 1], [16, 8, 1]]));
        assert_eq!(grid(&geometry(&[1_000, 6], &[])), Ok([[4, 6, 1], [250, 1, 1]]));
        assert_eq!(grid(&geometry(&[17, 30], &[])), Ok([[1, 2, 1], [17, 15, 1]]));
        assert_eq!(grid(&geometry(&[49, 131_072], &[])), Ok([[1, 65_536 / 2, 1], [49, 4, 1]]));
        assert_eq!(grid(&geometry(&[257, 257, 128], &[])), Ok([[257, 257, 2], [1, 1, 64]]));
        assert_eq!(grid(&geometry(&[3, 1, 131_072], &[])), Ok([[1, 1, 2_048], [3, 1, 64]]));
        assert!(grid(&geometry(&[10], &[4])).unwrap_err().contains("not a multiple"));
        assert!(grid(&geometry(&[1, 65_536], &[1, 1])).unwrap_err().contains("65536 work-groups"));
    }

    #[test]
    fn every_listed_problem_of_the_library_can_be_launched_and_referred_to_on_a_gpu() {
        let device = seqtune_kernel::Device::find_described("H200").unwrap();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/problems");
        let mut kernels = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix("_gpu.txt") else { continue };
            let kernel = seqtune_kernel::Kernel::open(name).unwrap();
            let source = kernel.source().unwrap();
            kernels += 1;
            for line in std::fs::read_to_string(&path).unwrap().lines().filter(|line| !line.starts_with('#')) {
                let problem = kernel.problem(line).unwrap_or_else(|e| panic!("{name} {line}: {e}"));
                let geometry = LaunchDims::new(&kernel, &device, &source.reference, &problem, None);
                grid(&geometry).unwrap_or_else(|e| panic!("{name} {line}: {e}"));
                let space = seqtune_kernel::ConfigSpace::new(&kernel, &problem, &device);
                assert!(!space.completions(&[]).unwrap().is_empty(), "{name} {line}: no legal config");
            }
        }
        assert!(kernels >= 15, "{kernels} lists");
    }

    #[test]
    fn every_listed_problem_can_be_launched_on_a_gpu() {
        let device = seqtune_kernel::Device::find_described("H100").unwrap();
        for (name, list) in [("gemm", "gemm"), ("gemm_tc", "gemm"), ("conv2d", "conv2d")] {
            let kernel = seqtune_kernel::Kernel::open(name).unwrap();
            let source = kernel.source().unwrap();
            let list = std::fs::read_to_string(format!(
                "{}/../../datasets/problems/{list}_gpu.txt",
                env!("CARGO_MANIFEST_DIR")
            ))
            .unwrap();
            let listed = list.lines().filter(|line| !line.starts_with('#')).map(|line| match name {
                "gemm_tc" => line.replace("dtype=f16", "dtype=bf16"),
                _ => line.to_string(),
            });
            let large = match name {
                "conv2d" => ["N=512,C=8,H=7,W=7,K=2048,R=1,S=1", "N=1,C=8,H=1024,W=1024,K=8,R=3,S=3"],
                _ => ["M=65536,N=64,K=8", "M=64,N=65536,K=8"],
            };
            for line in listed.chain(large.map(String::from)) {
                let problem = kernel.problem(&line).unwrap();
                let default = kernel.default_config();
                for (launch, config) in [(&source.reference, None), (&source.program, Some(&default))] {
                    let geometry = LaunchDims::new(&kernel, &device, launch, &problem, config);
                    let [groups, items] = grid(&geometry).unwrap_or_else(|e| panic!("{name} {line}: {e}"));
                    let launched = |at: usize| groups[at] as usize * items[at] as usize;
                    assert!(geometry.global.iter().enumerate().all(|(at, n)| launched(at) == *n), "{line}");
                    assert!(items.iter().product::<u32>() <= 1_024, "{line}");
                }
            }
        }
    }
}
