//! A program for an AMD GPU, as both compilers finish it.

use crate::backends::hip::code_object;
use crate::backends::hip::occupancy::ComputeUnit;
use crate::compile::{Binary, Job};
use seqtune_data::{Invalidity, InvalidityKind};

/// What both compilers are told.
pub const OPTIONS: [&str; 4] = ["-O3", "-std=c++17", "-ffast-math", "-w"];

/// A program as its code object says; what the device cannot launch is a fault.
pub fn finish(code: Vec<u8>, job: &Job, architecture: &str) -> std::result::Result<Binary, Invalidity> {
    let bad = |what: String| Invalidity::new(InvalidityKind::Compile, what);
    let mut resources = code_object::read(&code, job.entry).map_err(bad)?;
    resources.dynamic_local_bytes = job.dynamic_local_bytes;
    if let Some(unit) = ComputeUnit::of(architecture) {
        unit.fit(&mut resources, job.items).map_err(|why| bad(format!("cannot launch: {why}")))?;
    }
    Ok(Binary { code, resources })
}
