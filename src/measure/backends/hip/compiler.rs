//! The compiler for an AMD GPU's architecture.

use crate::backends::hip::{clang, rtc};
use crate::compile::Compiler;
use seqtune_predict::error::{Error, Result};

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
