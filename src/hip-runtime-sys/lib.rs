//! Prototypes of the functions of HIP that `seqtune-measure` looks up at run time.
//!
//! It takes the place of the published crate of this name, which hip-sys imports: that one ends the build where ROCm's headers are missing,
//! and links ROCm's library. Source: AMD's HIP API reference, ROCm 6.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

/// Status code of a call; 0 is success.
pub type hipError_t = c_uint;
/// Address in a device's memory.
pub type hipDeviceptr_t = *mut c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $opaque:ident, $handle:ident;)*) => {
        $(
            #[doc(hidden)]
            #[repr(C)]
            pub struct $opaque {
                _private: [u8; 0],
            }
            $(#[$doc])*
            pub type $handle = *mut $opaque;
        )*
    };
}
handles! {
    /// Point in a stream at which time is taken.
    ihipEvent_t, hipEvent_t;
    /// Order of work on a device; null is the default one.
    ihipStream_t, hipStream_t;
    /// Code that was loaded.
    ihipModule_t, hipModule_t;
    /// Kernel of a module.
    ihipModuleSymbol_t, hipFunction_t;
}

unsafe extern "C" {
    /// Counts the devices.
    pub fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
    /// Writes a device's address on the bus as text.
    pub fn hipDeviceGetPCIBusId(text: *mut c_char, bytes: c_int, device: c_int) -> hipError_t;
    /// Chooses the device of the calling thread.
    pub fn hipSetDevice(device: c_int) -> hipError_t;
    /// Waits for all work of the device.
    pub fn hipDeviceSynchronize() -> hipError_t;
    /// Allocates memory of the device.
    pub fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t;
    /// Frees memory of the device.
    pub fn hipFree(pointer: *mut c_void) -> hipError_t;
    /// Copies to the device.
    pub fn hipMemcpyHtoD(to: hipDeviceptr_t, from: *mut c_void, bytes: usize) -> hipError_t;
    /// Copies from the device.
    pub fn hipMemcpyDtoH(to: *mut c_void, from: hipDeviceptr_t, bytes: usize) -> hipError_t;
    /// Fills memory of the device with a byte.
    pub fn hipMemsetD8Async(to: hipDeviceptr_t, value: c_uchar, bytes: usize, stream: hipStream_t) -> hipError_t;
    /// Loads a code object.
    pub fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
    /// Finds a kernel of a module.
    pub fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) -> hipError_t;
    /// Unloads a module.
    pub fn hipModuleUnload(module: hipModule_t) -> hipError_t;
    /// Launches a kernel: groups and work-items in three dimensions, dynamic local memory in bytes.
    pub fn hipModuleLaunchKernel(
        function: hipFunction_t,
        groups_x: c_uint,
        groups_y: c_uint,
        groups_z: c_uint,
        items_x: c_uint,
        items_y: c_uint,
        items_z: c_uint,
        local_bytes: c_uint,
        stream: hipStream_t,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> hipError_t;
    /// Makes an event.
    pub fn hipEventCreate(event: *mut hipEvent_t) -> hipError_t;
    /// Puts an event into a stream.
    pub fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
    /// Milliseconds between two events.
    pub fn hipEventElapsedTime(milliseconds: *mut f32, start: hipEvent_t, end: hipEvent_t) -> hipError_t;
    /// Waits for an event.
    pub fn hipEventSynchronize(event: hipEvent_t) -> hipError_t;
}
