//! Configs as lines of text.

use crate::engine::{Asked, ask};
use crate::fields::Scratch;
use crate::pointers::{TextBuffer, list, object, text};
use crate::predictor::Predictor;
use crate::status::{Fault, Status, guard};
use seqtune_kernel::Objective;
use seqtune_kernel::limits::WIDTH;
use std::ffi::c_char;

/// Predicts the fastest configs, `top` at most, each as a line "MWG=64,NWG=32,...", best first, without a line's end behind
/// the last. Writes them and a zero into `room` bytes at `configs`, whole or not at all: `*needed` is the number of bytes
/// that takes; `needed` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_predict_text(
    predictor: *const Predictor,
    problem: *const c_char,
    top: usize,
    configs: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, problem, room) = unsafe {
            (&object(predictor, "predictor")?.0, text(problem, "problem")?, TextBuffer::new(configs, room, needed)?)
        };
        if top == 0 || top > WIDTH {
            return Err(Fault::input(format!("top is {top}: ask for 1 to {WIDTH}")));
        }
        let (mut scratch, device) = (Scratch::new(shared), shared.device());
        scratch.read(shared, problem)?;
        let mut lines = Vec::new();
        let asked = Asked {
            problem: &scratch.problem,
            device: &device,
            objective: Objective::Time,
            top,
            width: 0,
            within_time: None,
        };
        ask(shared, &asked, &mut |_, candidate, _| lines.push(shared.kernel.show_config(&candidate.config)))?;
        room.put(&lines.join("\n"))
    })
}

/// Writes a config's values as "MWG=64,NWG=32,...", as seqtune_predict_text does. `count` is seqtune_parameter_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_config_text(
    predictor: *const Predictor,
    values: *const i64,
    count: usize,
    config: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, values, room) = unsafe {
            (&object(predictor, "predictor")?.0, list(values, count, "values")?, TextBuffer::new(config, room, needed)?)
        };
        room.put(&shared.kernel.show_config(&shared.config(values)?))
    })
}
