//! Opening and closing.

use crate::pointers::{close, list, object, optional, put, text};
use crate::predictor::{Predictor, Shared};
use crate::session::Session;
use crate::status::{Answer, Fault, Status, guard};
use seqtune_kernel::Kernel;
use seqtune_kernel::error::quote;
use seqtune_kernel::limits;
use seqtune_predict::{Model, Quality};
use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::Arc;

fn open_predictor(
    kernel: &str,
    device: Option<&str>,
    load: impl FnOnce(&Kernel) -> Answer<Model>,
) -> Answer<*mut Predictor> {
    let kernel = Kernel::open(kernel)?;
    let model = load(&kernel)?;
    let shared = Shared::new(kernel, &model, device)?;
    Ok(Box::into_raw(Box::new(Predictor(Arc::new(shared)))))
}

/// Opens a model for a kernel.
///
/// `model` is a folder or a file. Of a folder that holds a whole model and the small one that was distilled from it, the small
/// one is taken where it was found level with the whole; name the file to have the other. `kernel` a shipped name or a folder with a kernel.toml; `device` a name as
/// seqtune_set_device takes it, or NULL for the device that the model learned: of several the one that is live on this machine, and
/// SEQTUNE_DEVICE, with a list, where none is. `*predictor` is NULL where this fails. Close it with seqtune_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_open(
    model: *const c_char,
    kernel: *const c_char,
    device: *const c_char,
    predictor: *mut *mut Predictor,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            put(predictor, "predictor", std::ptr::null_mut())?;
            let (model, device) = (text(model, "model")?, optional(device, "device")?);
            let load = |kernel: &Kernel| Ok(Model::load_as(Path::new(model), &kernel.name, Quality::Auto)?);
            put(predictor, "predictor", open_predictor(text(kernel, "kernel")?, device, load)?)
        }
    })
}

/// Opens a model from the bytes of its file (model.safetensors or distilled.safetensors), which may be freed afterwards; else as seqtune_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_open_memory(
    bytes: *const c_void,
    size: usize,
    kernel: *const c_char,
    device: *const c_char,
    predictor: *mut *mut Predictor,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            put(predictor, "predictor", std::ptr::null_mut())?;
            if size as u64 > limits::MODEL.bytes {
                let sentence = format!("`size` is {size}: a model has at most {} bytes", limits::MODEL.bytes);
                return Err(Fault::input(sentence));
            }
            let (bytes, device) = (list(bytes.cast::<u8>(), size, "bytes")?, optional(device, "device")?);
            let load = |kernel: &Kernel| Ok(Model::from_bytes(bytes).map_err(|e| e.at_place(place(kernel)))?);
            put(predictor, "predictor", open_predictor(text(kernel, "kernel")?, device, load)?)
        }
    })
}

fn place(kernel: &Kernel) -> String {
    format!("the model in memory for {}", quote(&kernel.name))
}

/// Closes a predictor; NULL is let pass. Its sessions go on until they are closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_close(predictor: *mut Predictor) {
    // SAFETY: as the header demands: it was opened here, and nobody uses it any more
    unsafe { close(predictor) }
}

/// Opens a session: the memory of one thread's predictions. Close it with seqtune_session_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_session_open(predictor: *const Predictor, session: *mut *mut Session) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            put(session, "session", std::ptr::null_mut())?;
            let opened = Session::new(&object(predictor, "predictor")?.0);
            put(session, "session", Box::into_raw(Box::new(opened)))
        }
    })
}

/// Closes a session; NULL is let pass.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_session_close(session: *mut Session) {
    // SAFETY: as the header demands: it was opened here, and nobody uses it any more
    unsafe { close(session) }
}
