//! Data of one problem on a device, with the expected results of its kernel.

use crate::executor::{BufferId, Executor, GemmCall, KernelArg};
use crate::verify::compare::{canary, deviation, difference, scale};
use crate::verify::content::content;
use crate::verify::double_precision::{Data, Sample, sample};
use crate::verify::format::Format;
use crate::verify::on_device::{DeviceComparison, ShadowBuffers};
use crate::verify::reference::refer;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{Invalidity, InvalidityKind};
use seqtune_devices::host::{job_memory, memory};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::kernel_toml::spec::ArgumentKind;
use seqtune_kernel::{Argument, Device, Gemm, Kernel, Problem, Source};

/// Longest expected time in seconds of a reference that is launched, at the rates in FLOP/s of a plain kernel; of a GPU a share of its peak,
/// since a small one that is watched by its display ends what takes seconds.
const REFERENCE_SECONDS: f64 = 2.0;
const GPU_FLOPS: f64 = 1e12;
const GPU_SHARE: f64 = 0.02;
const CPU_FLOPS: f64 = 2e9;

/// Rate in FLOP/s of a plain kernel.
fn plain_rate(device: &Device) -> f64 {
    match (device.limits.is_cpu == Some(1.0), device.limits.f32_gflops) {
        (true, _) => CPU_FLOPS,
        (false, Some(gflops)) => GPU_FLOPS.min(GPU_SHARE * 1e9 * gflops),
        // of what states no peak: eight lanes a unit
        (false, None) => {
            let units = device.limits.compute_units.zip(device.limits.clock_mhz);
            let peak = units.map(|(units, mhz)| 16.0 * units * mhz * 1e6).filter(|peak| *peak > 0.0);
            peak.map_or(CPU_FLOPS, |peak| GPU_FLOPS.min(GPU_SHARE * peak))
        }
    }
}

/// Seed of the data with which configs are measured.
pub const SEED: u64 = 0x5e97;

/// Bytes of a buffer at most, where the device states no memory.
const MOST_BYTES: f64 = (1u64 << 40) as f64;

/// Bytes that every machine has.
const SMALL: f64 = 16e6;

/// Arguments of a problem, with random content.
pub struct Workload {
    /// Problem of the kernel.
    pub problem: Problem,
    /// Seed of the content.
    seed: u64,
    /// Arguments of a launch.
    pub values: Vec<KernelArg>,
    outputs: Vec<Output>,
    tolerance: f64,
}

struct Output {
    /// Index of the output among the arguments, and its name.
    argument: usize,
    name: String,
    buffer: BufferId,
    format: Format,
    /// Content of the buffer before each checked launch.
    before: Vec<u8>,
    expected: Expected,
}

enum Expected {
    /// No expected result yet.
    Nothing,
    /// Result of the reference, its largest magnitude, and its copies for a comparison on the device.
    All(Vec<u8>, f64, Option<ShadowBuffers>),
    /// Some elements in double precision.
    Some(Sample),
}

/// Allocates and fills the arguments of `problem` with random content of `seed`, and computes the expected results with `expecting`; all
/// other buffers are freed.
///
/// # Errors
/// `Error::Input` where the kernel has no source, [`Error::Failed`] where the device or the reference fails.
pub fn load(
    executor: &mut dyn Executor,
    kernel: &Kernel,
    problem: &Problem,
    seed: u64,
    expecting: Option<&mut DeviceComparison>,
) -> Result<Workload> {
    executor.free_all();
    let formats = stated_formats(kernel, problem)?;
    let source = kernel.source()?;
    let env = kernel.env(problem, None);
    let memory = executor.largest_buffer().or(executor.device().limits.memory_bytes);
    for (argument, format) in source.arguments.iter().zip(&formats) {
        let amount = argument.amount.eval(&env);
        check_amount(argument, amount, format.bytes(), memory).map_err(|e| e.at_place(place(kernel, argument)))?;
    }
    check_memory(kernel, &source.arguments, &formats, &env)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let tolerance = source.tolerance.eval(&env);
    let mut workload = Workload { problem: problem.clone(), seed, values: Vec::new(), outputs: Vec::new(), tolerance };
    // content of the inputs
    let mut host: Vec<Option<HostCopy>> = Vec::new();
    for (i, (argument, format)) in source.arguments.iter().zip(formats).enumerate() {
        let amount = argument.amount.eval(&env);
        let mut kept = None;
        let value = match argument.kind {
            ArgumentKind::Int => KernelArg::Int(amount as i32),
            ArgumentKind::Float => KernelArg::Float(amount as f32),
            ArgumentKind::In | ArgumentKind::Out => {
                let mut data = content(argument, amount as usize, format, &env, &mut rng)?;
                let is_output = argument.kind == ArgumentKind::Out;
                if is_output {
                    data.extend(canary());
                }
                let buffer = executor.alloc(data.len())?;
                executor.write(buffer, &data)?;
                if is_output {
                    workload.outputs.push(Output {
                        argument: i,
                        name: argument.name.clone(),
                        buffer,
                        format,
                        before: data,
                        expected: Expected::Nothing,
                    });
                } else {
                    kept = Some(HostCopy { bytes: data, format });
                }
                KernelArg::Buffer(buffer)
            }
        };
        workload.values.push(value);
        host.push(kept);
    }
    if let Some(agree) = expecting {
        expect(executor, agree, kernel, source, &mut workload, &host)?;
    }
    Ok(workload)
}

/// Formats of the arguments' elements, as a kernel states them for a problem; refused are those that there are not, and operations or bytes fewer
/// than none.
///
/// # Errors
/// [`Error::Input`] where the kernel has no source, or what it states is not possible; it names the argument or the key.
pub fn stated_formats(kernel: &Kernel, problem: &Problem) -> Result<Vec<Format>> {
    for (key, value) in [("flops", kernel.flops(problem)), ("bytes", kernel.bytes(problem))] {
        if value < 0.0 || !value.is_finite() {
            return input(format!("[work] of kernel {}: `{key}` is {value} here; it counts from 0", kernel.name));
        }
    }
    let env = kernel.env(problem, None);
    let of = |argument: &Argument| format(argument, &env).map_err(|e| e.at_place(place(kernel, argument)));
    kernel.source()?.arguments.iter().map(of).collect()
}

fn place(kernel: &Kernel, argument: &Argument) -> String {
    format!("argument `{}` of kernel {}", argument.name, kernel.name)
}

/// Format of a buffer's elements; of numbers it means nothing.
fn format(argument: &Argument, env: &[f64]) -> Result<Format> {
    if matches!(argument.kind, ArgumentKind::Int | ArgumentKind::Float) {
        return Ok(Format::F32);
    }
    let is_bf16 = argument.bf16.as_ref().is_some_and(|e| e.eval(env) == 1.0);
    let bytes = argument.element.eval(env);
    Format::from_width(bytes, is_bf16).ok_or_else(|| {
        Error::Input(format!("elements of {bytes} bytes; there are 4 (f32) and 2 (f16, or bf16 where `bf16` is 1)"))
    })
}

/// Refuses a number, or a length of so many bytes, that is not possible.
fn check_amount(argument: &Argument, amount: f64, element: usize, memory_bytes: Option<f64>) -> Result<()> {
    let most = memory_bytes.unwrap_or(MOST_BYTES).min(MOST_BYTES) / element as f64;
    match argument.kind {
        ArgumentKind::Float => Ok(()),
        ArgumentKind::Int if amount == (amount as i32) as f64 => Ok(()),
        ArgumentKind::Int => workload_error(format!("its value {amount} is no whole number of 32 bits")),
        _ if (1.0..=most).contains(&amount) => Ok(()),
        _ => workload_error(format!("a length of {amount} elements; 1 to {most:.0} fit the device")),
    }
}

/// Refuses buffers that this machine's memory does not hold together, before the first of them is asked for: each is here once with its
/// content and once for what comes back, or on a device that is this machine.
fn check_memory(kernel: &Kernel, arguments: &[Argument], formats: &[Format], env: &[f64]) -> Result<()> {
    let is_buffer = |argument: &Argument| matches!(argument.kind, ArgumentKind::In | ArgumentKind::Out);
    let bytes = arguments.iter().zip(formats).filter(|(argument, _)| is_buffer(argument));
    let bytes: f64 = bytes.map(|(argument, format)| argument.amount.eval(env).max(0.0) * format.bytes() as f64).sum();
    // of an address space that is limited the system tells nothing but this
    let is_room = |bytes: f64| Vec::<u8>::new().try_reserve_exact(2 * bytes as usize).is_ok();
    let here = memory().map_or_else(job_memory, |memory| memory.min(job_memory()));
    match bytes <= here && (bytes < SMALL || is_room(bytes)) {
        true => Ok(()),
        false => workload_error(format!(
            "the buffers of kernel {} have {:.1} GB together, and this machine has memory of {:.1} GB, or may not use so much",
            kernel.name,
            bytes / 1e9,
            here / 1e9
        )),
    }
}

fn workload_error<T>(what: String) -> Result<T> {
    Err(Error::Failed(what))
}

/// Content of an input.
struct HostCopy {
    bytes: Vec<u8>,
    format: Format,
}

impl HostCopy {
    fn data(&self) -> Data<'_> {
        Data { bytes: &self.bytes, format: self.format }
    }
}

/// Computes the expected results.
fn expect(
    executor: &mut dyn Executor,
    agree: &mut DeviceComparison,
    kernel: &Kernel,
    source: &Source,
    workload: &mut Workload,
    inputs: &[Option<HostCopy>],
) -> Result<()> {
    let mut data: Vec<Option<Data>> = inputs.iter().map(|kept| kept.as_ref().map(HostCopy::data)).collect();
    for output in &workload.outputs {
        data[output.argument] = Some(Data { bytes: &output.before, format: output.format });
    }
    let env = kernel.env(&workload.problem, None);
    let exact = source.exact.as_ref().filter(|_| executor.computes());
    let mut known = exact.map(|exact| sample(exact, &env, &data)).transpose()?;
    let seconds = kernel.flops(&workload.problem) / plain_rate(executor.device());
    if seconds > REFERENCE_SECONDS
        && let [output] = &mut workload.outputs[..]
        && let Some(sample) = known.take_if(|s| s.output == output.argument)
    {
        output.expected = Expected::Some(sample);
        return Ok(());
    }
    refer(executor, kernel, source, &workload.problem, &workload.values)?;
    if executor.computes() {
        check_inputs(executor, kernel, source, workload, inputs)?;
    }
    for output in &mut workload.outputs {
        let mut result = vec![0; output.before.len()];
        executor.read(output.buffer, &mut result)?;
        if executor.computes() && result == output.before {
            return Err(Error::Failed(format!(
                "the reference of kernel {} leaves `{}` as it was: compare the order and kinds of [[argument]] with its source",
                kernel.name, output.name
            )));
        }
        let end = output.before.len() - canary().len();
        if executor.computes() && result[end..] != output.before[end..] {
            return Err(Error::Failed(format!(
                "the reference of kernel {} writes past the end of `{}`: compare its `global` in [reference] with the argument's length",
                kernel.name, output.name
            )));
        }
        let own = known.as_ref().filter(|s| s.output == output.argument);
        if let Some(wrong) = own.and_then(|s| deviation(&result, &s.elements, output.format, workload.tolerance)) {
            let hint = if workload.tolerance == 0.0 { "; [work] states no tolerance" } else { "" };
            return Err(Error::Failed(format!(
                "the reference of kernel {} is wrong here, or [exact] is: {wrong}{hint}",
                kernel.name
            )));
        }
        let largest = scale(&result, output.format);
        let shadows = agree.shadows(executor, output.buffer, output.format, &output.before, &result);
        output.expected = Expected::All(result, largest, shadows);
    }
    Ok(())
}

/// Refuses a reference that writes what is only to be read.
fn check_inputs(
    executor: &mut dyn Executor,
    kernel: &Kernel,
    source: &Source,
    workload: &Workload,
    inputs: &[Option<HostCopy>],
) -> Result<()> {
    for ((value, kept), argument) in workload.values.iter().zip(inputs).zip(&source.arguments) {
        let (KernelArg::Buffer(buffer), Some(HostCopy { bytes, .. })) = (value, kept) else { continue };
        let mut found = vec![0; bytes.len()];
        executor.read(*buffer, &mut found)?;
        if found != *bytes {
            return Err(Error::Failed(format!(
                "the reference of kernel {} writes `{}`, which is of kind \"in\": compare [[argument]] with its source",
                kernel.name, argument.name
            )));
        }
    }
    Ok(())
}

impl Workload {
    /// Checks whether the expected results of this problem with data of `seed` are known.
    pub fn expects(&self, problem: &Problem, seed: u64) -> bool {
        self.problem == *problem
            && self.seed == seed
            && self.outputs.iter().all(|o| !matches!(o.expected, Expected::Nothing))
    }

    /// Builds the matrix product for the vendor's library.
    pub fn product(&self, kernel: &Kernel, gemm: &Gemm) -> GemmCall {
        let env = kernel.env(&self.problem, None);
        let buffer = |argument: &usize| match self.values[*argument] {
            KernelArg::Buffer(buffer) => buffer,
            KernelArg::Int(_) | KernelArg::Float(_) => unreachable!("checked when the kernel was loaded"),
        };
        let [a, b, c] = &gemm.matrices;
        let format = self.outputs.iter().find(|o| o.argument == *c).map_or(Format::F32, |o| o.format);
        GemmCall {
            sizes: gemm.sizes.each_ref().map(|e| e.eval(&env) as i32),
            transposed: gemm.transposed.each_ref().map(|e| e.eval(&env) == 1.0),
            factors: gemm.factors.each_ref().map(|e| e.eval(&env) as f32),
            format,
            matrices: [buffer(a), buffer(b), buffer(c)],
        }
    }

    /// Restores the outputs to their content before a launch.
    ///
    /// # Errors
    /// [`Error::Failed`] where a copy to the device or its restoring launch fails.
    pub fn reset(&self, executor: &mut dyn Executor) -> Result<()> {
        self.outputs.iter().try_for_each(|output| match &output.expected {
            Expected::All(_, _, Some(shadows)) => shadows
                .restore(executor, output.buffer)
                .map_err(|fault| Error::Failed(format!("putting an output back: {}", fault.detail))),
            _ => executor.write(output.buffer, &output.before),
        })
    }

    /// Checks the results on the device and returns a failure; `None` where they are correct.
    ///
    /// # Errors
    /// [`Error::Failed`] where a result cannot be read.
    pub fn wrong(&self, executor: &mut dyn Executor) -> Result<Option<Invalidity>> {
        for output in &self.outputs {
            if let Expected::All(_, largest, Some(shadows)) = &output.expected {
                match shadows.agrees(executor, output.buffer, self.tolerance * largest) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(fault) => return Ok(Some(fault)),
                }
            }
            let mut found = vec![0; output.before.len()];
            executor.read(output.buffer, &mut found)?;
            let wrong = match &output.expected {
                Expected::All(expected, largest, _) => {
                    difference(&found, expected, output.format, self.tolerance * largest)
                }
                Expected::Some(sample) => deviation(&found, &sample.elements, output.format, self.tolerance),
                Expected::Nothing => None,
            };
            if let Some(wrong) = wrong {
                let wrong = format!("`{}`: {wrong}", output.name);
                return Ok(Some(Invalidity::new(InvalidityKind::Correctness, wrong)));
            }
        }
        Ok(None)
    }
}
