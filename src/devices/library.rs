//! Libraries of makers, opened at run time.

use libloading::Library;
use libloading::os::unix::Library as Unix;
use seqtune_kernel::error::{Error, Result};
use std::ffi::{CStr, c_char};
use std::path::PathBuf;

/// The library that has the function `symbol`: of this process where it is linked in, else the first that opens of `places`.
///
/// It stays open, because those of ROCm do not survive being closed.
pub(crate) fn open(symbol: &str, places: &[PathBuf]) -> Option<&'static Library> {
    let this = Library::from(Unix::this());
    // SAFETY: any symbol has an address
    let linked = unsafe { this.get::<usize>(symbol.as_bytes()) }.is_ok();
    // SAFETY: opens a maker's library, whose initialisers are those of any user of it
    let opened = || places.iter().find_map(|place| unsafe { Library::new(place) }.ok());
    let found = if linked { Some(this) } else { opened() };
    found.map(|library| &*Box::leak(Box::new(library)))
}

/// Looks up a function of a library by its name.
///
/// # Errors
/// [`Error::Unavailable`] where the library lacks it.
///
/// # Safety
/// `F` must be the type of that function.
pub(crate) unsafe fn find<F: Copy>(library: &Library, name: &str) -> Result<F> {
    // SAFETY: as the caller promises
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|f| *f).map_err(|_| Error::Unavailable(format!("the installed driver has no {name}")))
}

/// Text of a library, which ends with a zero, as far as it has one.
///
/// # Safety
/// The pointer is null or that of such a text.
pub(crate) unsafe fn text(at: *const c_char) -> Option<String> {
    // SAFETY: as the caller promises
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

/// Text in a buffer, up to its first zero.
pub(crate) fn text_in(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|b| *b == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).trim().to_string()
}
