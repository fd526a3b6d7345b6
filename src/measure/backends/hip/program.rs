//! Common last step of both compilers for AMD GPUs.

use crate::backends::hip::code_object;
use crate::backends::hip::occupancy::ComputeUnit;
use crate::compile::{Binary, Job};
use seqtune_data::{Attempt, Invalidity, InvalidityKind};

/// Options of both compilers.
pub const OPTIONS: [&str; 4] = ["-O3", "-std=c++17", "-ffast-math", "-w"];

/// Option for the work-group that a program is launched with. A kernel that states none is else compiled for 1,024 work-items, with an eighth
/// of the registers that one of 128 may have.
pub fn option_of(job: &Job) -> Option<String> {
    (!job.group.is_empty()).then(|| format!("--gpu-max-threads-per-block={}", job.items().clamp(1, 1_024)))
}

/// Completes a program with the resources of its code object and its occupancy.
///
/// # Errors
/// [`Invalidity`] where the code object is not understood or the device cannot launch the program.
pub fn finish(code: Vec<u8>, job: &Job, architecture: &str) -> Attempt<Binary> {
    let bad = |what: String| Invalidity::new(InvalidityKind::Compile, what);
    let mut resources = code_object::read(&code, job).map_err(bad)?;
    resources.dynamic_local_bytes = job.dynamic_local_bytes;
    if let Some(unit) = ComputeUnit::from_architecture(architecture) {
        unit.fit(&mut resources, job.items()).map_err(|why| bad(format!("cannot launch: {why}")))?;
    }
    Ok(Binary { code, resources })
}
