//! AMD GPUs through HIP.

use super::compiler::{Binary, Compiler, Job};
use super::{Fault, fault};
use crate::dataset::InvalidityKind;
use crate::error::{Error, Result};

mod clang;
mod code_object;
mod library;
pub mod rtc;
mod unit;

/// HIP's library, by its names of ROCm 7, 6 and 5.
const LIBRARIES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// What both compilers are told.
const OPTIONS: [&str; 4] = ["-O3", "-std=c++17", "-ffast-math", "-w"];

/// The compiler for an architecture named `gfx90a`: hipRTC, or clang where hipRTC is missing or does not know it.
pub fn compiler(architecture: &str) -> Result<Box<dyn Compiler>> {
    let refused = match rtc::HipRtc::open(architecture) {
        Ok(rtc) => return Ok(Box::new(rtc)),
        Err(e) => e,
    };
    match clang::Clang::open(architecture) {
        Ok(clang) => Ok(Box::new(clang)),
        Err(e) => Err(Error::Unavailable(format!("{refused}; {e}"))),
    }
}

/// A program as its code object says; what the device cannot launch is a fault.
fn finish(code: Vec<u8>, job: &Job, architecture: &str) -> std::result::Result<Binary, Fault> {
    let bad = |what: String| fault(InvalidityKind::Compile, what);
    let mut resources = code_object::read(&code, job.entry).map_err(bad)?;
    resources.dynamic_local_bytes = job.dynamic_local_bytes;
    if let Some(unit) = unit::Unit::of(architecture) {
        unit.fit(&mut resources, job.items).map_err(|why| bad(format!("cannot launch: {why}")))?;
    }
    Ok(Binary { code, resources })
}
