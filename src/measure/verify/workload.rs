//! Data of one problem on a device, with the expected results of its kernel.

use crate::executor::{BufferId, Executor, GemmCall, KernelArg, Side};
use crate::verify::amounts::{check_amount, check_memory, place, stated_formats};
use crate::verify::case::Case;
use crate::verify::compare::{CANARY, canary, deviation, difference, largest, scale};
use crate::verify::content::content;
use crate::verify::double_precision::{Data, Sample, sample};
use crate::verify::format::Format;
use crate::verify::input_kind::InputKind;
use crate::verify::on_device::{DeviceComparison, ShadowBuffers};
use crate::verify::reference::refer;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::kernel_toml::spec::ArgumentKind;
use seqtune_kernel::{Device, Gemm, Kernel, Problem, Source};

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

/// Expected time in seconds of a reference on a device, at the rate of a plain kernel.
pub fn reference_seconds(kernel: &Kernel, problem: &Problem, device: &Device) -> f64 {
    kernel.flops(problem) / plain_rate(device)
}

/// Seed of the data with which configs are measured.
pub const SEED: u64 = 0x5e97;

/// Share of a format's largest number that results may reach.
const HEADROOM: f64 = 0.1;

/// Bytes behind an input that has no protected pages: NaN in every format, and -1.
const GUARD: u8 = 0xff;

/// What the buffers of a workload are to hold.
pub struct Wanted<'a> {
    /// Seed and kind of the input.
    pub case: Case,
    /// Largest offset or outlier of that kind.
    pub magnitude: f64,
    /// Largest magnitudes of the outputs with uniform input, to which errors are relative where these results are smaller; none where these are they.
    pub scales: &'a [f64],
    /// Whether other buffers stay.
    pub is_beside: bool,
}

impl Wanted<'_> {
    /// Uniform input of a seed.
    pub fn uniform(seed: u64) -> Wanted<'static> {
        Wanted { case: Case::of_seed(seed), magnitude: 1.0, scales: &[], is_beside: false }
    }
}

/// Arguments of a problem, with random content.
pub struct Workload {
    /// Problem of the kernel.
    pub problem: Problem,
    /// Seed and kind of the content.
    case: Case,
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
    /// Magnitude that errors are relative to at least.
    least_scale: f64,
}

enum Expected {
    /// No expected result yet.
    Nothing,
    /// Result of the reference, the magnitude that errors are relative to, and its copies for a comparison on the device.
    All(Vec<u8>, f64, Option<ShadowBuffers>),
    /// Some elements in double precision.
    Some(Sample),
}

/// Allocates and fills the arguments of `problem` with random content, and computes the expected results with `expecting`; all other buffers are
/// freed, unless this is to stand beside them.
///
/// # Errors
/// `Error::Input` where the kernel has no source, [`Error::Failed`] where the device or the reference fails, or gives no finite results of input that
/// is not uniform.
pub fn load(
    executor: &mut dyn Executor,
    kernel: &Kernel,
    problem: &Problem,
    wanted: &Wanted,
    expecting: Option<&mut DeviceComparison>,
) -> Result<Workload> {
    if !wanted.is_beside {
        executor.free_all();
    }
    let formats = stated_formats(kernel, problem)?;
    let source = kernel.source()?;
    let env = kernel.env(problem, None);
    let memory = executor.largest_buffer().or(executor.device().limits.memory_bytes);
    for (argument, format) in source.arguments.iter().zip(&formats) {
        let amount = argument.amount.eval(&env);
        check_amount(argument, amount, format.bytes(), memory).map_err(|e| e.at_place(place(kernel, argument)))?;
    }
    check_memory(kernel, &source.arguments, &formats, &env)?;
    let case = wanted.case;
    let mut rng = ChaCha8Rng::seed_from_u64(case.seed);
    let tolerance = source.tolerance.eval(&env);
    let mut workload = Workload { problem: problem.clone(), case, values: Vec::new(), outputs: Vec::new(), tolerance };
    // content of the inputs
    let mut host: Vec<Option<HostCopy>> = Vec::new();
    for (i, (argument, format)) in source.arguments.iter().zip(formats).enumerate() {
        let amount = argument.amount.eval(&env);
        let mut kept = None;
        let value = match argument.kind {
            ArgumentKind::Int => KernelArg::Int(amount as i32),
            ArgumentKind::Float => KernelArg::Float(amount as f32),
            ArgumentKind::In => {
                let mut data = content(argument, amount as usize, format, &env, &mut rng)?;
                if argument.integers.is_none() {
                    case.kind.shape(&mut data, format, wanted.magnitude, &mut rng);
                }
                let buffer = guarded_buffer(executor, &mut data, case, &argument.name)?;
                kept = Some(HostCopy { bytes: data, format });
                KernelArg::Buffer(buffer)
            }
            ArgumentKind::Out => {
                let mut data = content(argument, amount as usize, format, &env, &mut rng)?;
                data.extend(canary());
                let buffer = match executor.alloc_fenced(data.len(), side(case), &argument.name)? {
                    Some(buffer) => buffer,
                    None => executor.alloc(data.len())?,
                };
                executor.write(buffer, &data)?;
                workload.outputs.push(Output {
                    argument: i,
                    name: argument.name.clone(),
                    buffer,
                    format,
                    before: data,
                    expected: Expected::Nothing,
                    least_scale: wanted.scales.get(workload.outputs.len()).copied().unwrap_or(0.0),
                });
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

/// The side of a buffer that touches a protected page.
fn side(case: Case) -> Side {
    if case.seed % 2 == 1 { Side::End } else { Side::Begin }
}

/// A buffer of an input between protected pages; where there are none, with bytes behind it that no number or index of a right program is made of.
fn guarded_buffer(executor: &mut dyn Executor, data: &mut Vec<u8>, case: Case, name: &str) -> Result<BufferId> {
    if let Some(buffer) = executor.alloc_fenced(data.len(), side(case), name)? {
        executor.write(buffer, data)?;
        return Ok(buffer);
    }
    let length = data.len();
    data.extend([GUARD; CANARY]);
    let buffer = executor.alloc(data.len())?;
    executor.write(buffer, data)?;
    data.truncate(length);
    Ok(buffer)
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
    if reference_seconds(kernel, &workload.problem, executor.device()) > REFERENCE_SECONDS
        && let [output] = &mut workload.outputs[..]
        && let Some(sample) = known.take_if(|s| s.output == output.argument)
    {
        check_finite(workload.case, output.format, sample.elements.iter().map(|element| element.value))?;
        output.expected = Expected::Some(sample);
        return Ok(());
    }
    refer(executor, kernel, source, &workload.problem, &workload.values)?;
    if executor.computes() {
        check_inputs(executor, kernel, source, workload, inputs)?;
    }
    let is_uniform = workload.case.kind == InputKind::Uniform;
    for output in &mut workload.outputs {
        let mut result = vec![0; output.before.len()];
        executor.read(output.buffer, &mut result)?;
        if executor.computes() && is_uniform && result == output.before {
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
        let magnitude = scale(&result, output.format);
        let format = output.format;
        check_finite(workload.case, format, result[..end].chunks_exact(format.bytes()).map(|b| format.read(b)))?;
        let own = known.as_ref().filter(|s| s.output == output.argument);
        let deviates =
            |s: &Sample| deviation(&result, &s.elements, output.format, workload.tolerance, output.least_scale);
        if let Some(wrong) = own.and_then(deviates) {
            let hint = if workload.tolerance == 0.0 { "; [work] states no tolerance" } else { "" };
            return Err(Error::Failed(format!(
                "the reference of kernel {} is wrong here, or [exact] is: {wrong}{hint}",
                kernel.name
            )));
        }
        let shadows = agree.shadows(executor, output.buffer, output.format, &output.before, &result);
        output.expected = Expected::All(result, magnitude.max(output.least_scale), shadows);
    }
    Ok(())
}

/// Refuses results that overflow, or nearly: of input that is not uniform they tell nothing. A sum's order may decide whether it overflows.
fn check_finite(case: Case, format: Format, mut values: impl Iterator<Item = f64>) -> Result<()> {
    // a NaN is no more than nothing
    match case.kind == InputKind::Uniform || values.all(|value| value.abs() <= HEADROOM * format.largest()) {
        true => Ok(()),
        false => {
            Err(Error::Failed(format!("with {}, results of the reference overflow or are none", case.kind.words())))
        }
    }
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

mod error;

impl Workload {
    /// Checks whether the expected results of this problem with data of that seed and kind are known.
    pub fn expects(&self, problem: &Problem, case: Case) -> bool {
        self.problem == *problem
            && (self.case.seed, self.case.kind) == (case.seed, case.kind)
            && self.outputs.iter().all(|o| !matches!(o.expected, Expected::Nothing))
    }

    /// Kind of the input.
    pub fn kind(&self) -> InputKind {
        self.case.kind
    }

    /// Largest magnitudes of the outputs.
    pub fn scales(&self) -> Vec<f64> {
        let scale = |output: &Output| match &output.expected {
            Expected::Nothing => 0.0,
            Expected::All(_, magnitude, _) => *magnitude,
            Expected::Some(sample) => largest(&sample.elements),
        };
        self.outputs.iter().map(scale).collect()
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
                Expected::Some(sample) => {
                    deviation(&found, &sample.elements, output.format, self.tolerance, output.least_scale)
                }
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
