//! What a kernel states of its arguments for a problem, checked before anything of it is allocated.

use crate::verify::format::Format;
use seqtune_devices::host::{job_memory, memory};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::kernel_toml::spec::ArgumentKind;
use seqtune_kernel::{Argument, Kernel, Problem};

/// Bytes of a buffer at most, where the device states no memory.
const MOST_BYTES: f64 = (1u64 << 40) as f64;

/// Bytes that every machine has.
const SMALL: f64 = 16e6;

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

pub(super) fn place(kernel: &Kernel, argument: &Argument) -> String {
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
pub(super) fn check_amount(argument: &Argument, amount: f64, element: usize, memory_bytes: Option<f64>) -> Result<()> {
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
pub(super) fn check_memory(kernel: &Kernel, arguments: &[Argument], formats: &[Format], env: &[f64]) -> Result<()> {
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
