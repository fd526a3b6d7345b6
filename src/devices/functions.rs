//! Functions that the libraries of NVIDIA and AMD have alike, under names of their own.

use std::ffi::c_int;

/// The handle of an ordinal.
pub(crate) type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
/// A device's name, into so many bytes.
pub(crate) type Name = unsafe extern "C" fn(*mut u8, c_int, c_int) -> c_int;
/// Bytes of memory.
pub(crate) type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
/// Version of the driver or the run-time library.
pub(crate) type Version = unsafe extern "C" fn(*mut c_int) -> c_int;

/// The function that tells a number of a device by the number of its attribute. Made of a function of that type of a library that stays open.
#[derive(Clone, Copy)]
pub(crate) struct Attributes(pub(crate) unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int);

impl Attributes {
    /// Asks a device; nothing where it does not tell, or tells 0.
    pub(crate) fn reader(self, device: c_int) -> impl Fn(i32) -> Option<f64> {
        move |number| {
            let mut value = 0;
            // SAFETY: writes one number
            let code = unsafe { (self.0)(&mut value, number, device) };
            (code == 0 && value > 0).then_some(value as f64)
        }
    }
}
