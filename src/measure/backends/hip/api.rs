//! Functions of HIP, looked up at run time, with the prototypes of hip-sys.
//!
//! Nothing is linked: [`function`] takes a closure that it never calls, whose result has the type of the function. So one program
//! runs on machines with and without ROCm, and none of its symbols shadows the library's.

use crate::backends::driver::DriverResult;
use crate::backends::hip::library::LIBRARIES;
use crate::backends::hip::library::{find, open};
use hip_sys::hiprt::hipError_t;
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

/// Function of HIP that returns a status code.
///
/// hip-sys declares the code as an enumeration of HIP 5.4. Newer versions have more codes, so that it is read as a number.
pub trait Prototype {
    /// Type of the function with a number as status code.
    type Raw: Copy;
}

macro_rules! prototypes {
    ($(($($argument:ident),*))*) => {
        $(impl<$($argument),*> Prototype for unsafe extern "C" fn($($argument),*) -> hipError_t {
            type Raw = unsafe extern "C" fn($($argument),*) -> u32;
        })*
    };
}
prototypes! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E, F, G, H, I, J, K) }

/// Library of HIP; `None` where it is not installed.
pub fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    *LIBRARY.get_or_init(|| open(&LIBRARIES))
}

/// Cached address of a function, so that a timed launch does not wait for the lookup.
pub type Found = OnceLock<DriverResult<usize>>;

/// Looks up the function `name` with the type that the closure would return.
///
/// # Errors
/// A message where the library is not installed or lacks the function.
pub fn function<P: Prototype>(found: &Found, _prototype: impl FnOnce() -> P, name: &str) -> DriverResult<P::Raw> {
    let address = found.get_or_init(|| {
        let library = library().ok_or("HIP: libamdhip64.so, AMD's run-time library, is not installed")?;
        // SAFETY: any symbol has an address
        unsafe { find::<usize>(library, name) }
    });
    // SAFETY: a pointer to a function has the size of an address; hip-sys says what the function takes, and a `u32` is what it answers with
    address.clone().map(|address| unsafe { std::mem::transmute_copy(&address) })
}

/// Checks a status code of HIP.
///
/// # Errors
/// The message of HIP for a code other than success.
pub fn check(code: u32) -> DriverResult<()> {
    if code == 0 {
        return Ok(());
    }
    let text = library().and_then(|library| {
        // SAFETY: the name and type are HIP's in all versions; it gives a constant of the library
        unsafe {
            let ask: unsafe extern "C" fn(u32) -> *const c_char = find(library, "hipGetErrorString").ok()?;
            let text = ask(code);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    Err(text.map_or_else(|| format!("HIP error {code}"), |text| format!("HIP: {text}")))
}

/// Calls a function of HIP by its name, with its arguments.
macro_rules! hip {
    (@any $argument:expr) => { _ };
    ($name:ident $(, $argument:expr)* $(,)?) => {{
        static FOUND: $crate::backends::hip::api::Found = $crate::backends::hip::api::Found::new();
        $crate::backends::hip::api::function(
            &FOUND,
            || -> unsafe extern "C" fn($($crate::backends::hip::api::hip!(@any $argument)),*) -> hip_sys::hiprt::hipError_t {
                hip_sys::hiprt::$name
            },
            stringify!($name),
        )
        .and_then(|function| $crate::backends::hip::api::check(function($($argument),*)))
    }};
}
pub(crate) use hip;
