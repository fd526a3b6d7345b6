//! Choice of the compiler for an AMD GPU.

use crate::backends::hip::{clang, rtc};
use crate::compile::Compiler;
use seqtune_kernel::error::{Error, Result};

/// Opens the compiler for an architecture such as `gfx90a`: hipRTC, or clang where hipRTC is missing or does not support it.
///
/// # Errors
/// [`Error::Unavailable`] where neither compiles for the architecture.
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
