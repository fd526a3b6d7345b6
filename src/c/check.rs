//! Legality of configs.

use crate::fields::Scratch;
use crate::pointers::{list, object, put, text};
use crate::predictor::{Predictor, Shared};
use crate::status::{Answer, Fault, Status, guard};
use seqtune_kernel::{Config, ConfigSpace, Problem};
use std::ffi::c_char;

fn legal(shared: &Shared, problem: &Problem, config: &Config) -> Answer<()> {
    match ConfigSpace::new(&shared.kernel, problem, &shared.device()).violation(config) {
        None => Ok(()),
        Some(reason) => Err(Fault::new(Status::SeqtuneIllegal, reason)),
    }
}

/// Whether a config, written "MWG=64,NWG=32,...", is legal for a problem on the device: SEQTUNE_OK, or SEQTUNE_ILLEGAL, with
/// the reason in seqtune_last_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_check(
    predictor: *const Predictor,
    problem: *const c_char,
    config: *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, problem, config) =
            unsafe { (&object(predictor, "predictor")?.0, text(problem, "problem")?, text(config, "config")?) };
        legal(shared, &shared.kernel.problem(problem)?, &shared.kernel.config(config)?)
    })
}

/// As seqtune_check, of fields as seqtune_predict_values takes them, and of a config's values, as many as
/// seqtune_parameter_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_check_values(
    predictor: *const Predictor,
    fields: *const f64,
    field_count: usize,
    values: *const i64,
    value_count: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (shared, fields, values) = unsafe {
            let shared = &object(predictor, "predictor")?.0;
            (shared, list(fields, field_count, "fields")?, list(values, value_count, "values")?)
        };
        let mut scratch = Scratch::new(shared);
        scratch.take(shared, fields.iter().copied())?;
        legal(shared, &scratch.problem, &shared.config(values)?)
    })
}

/// Number of the legal configs of a problem on the device; NaN where there are too many to count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_count(predictor: *const Predictor, problem: *const c_char, count: *mut f64) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            let shared = &object(predictor, "predictor")?.0;
            let problem = shared.kernel.problem(text(problem, "problem")?)?;
            let space = ConfigSpace::new(&shared.kernel, &problem, &shared.device());
            put(count, "count", space.counter().total().known_number().unwrap_or(f64::NAN))
        }
    })
}
