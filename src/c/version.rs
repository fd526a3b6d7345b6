//! The version of the library, and that of the header.

use std::ffi::{CStr, c_char};

/// Major version of the header.
pub const SEQTUNE_VERSION_MAJOR: u32 = 0;
/// Minor version of the header.
pub const SEQTUNE_VERSION_MINOR: u32 = 1;
/// Patch version of the header.
pub const SEQTUNE_VERSION_PATCH: u32 = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Version of the library, such as "0.1.0": that of the header where both are of one installation. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seqtune_version() -> *const c_char {
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_version_of_the_package() {
        let header = format!("{SEQTUNE_VERSION_MAJOR}.{SEQTUNE_VERSION_MINOR}.{SEQTUNE_VERSION_PATCH}");
        assert_eq!(header, env!("CARGO_PKG_VERSION"));
        assert_eq!(VERSION.to_str(), Ok(header.as_str()));
    }
}
