//! What a model has shown on problems that it did not learn from.

use crate::pointers::{object, put};
use crate::predictor::Predictor;
use crate::status::{Fault, Status, guard};
use seqtune_predict::confidence::HeldOutScore;
use std::ffi::c_int;

/// What first choices were worth on problems that nothing was learned from. Shares are from 0 to 1, and NaN where the data do not tell them.
#[repr(C)]
pub struct Shown {
    /// In: sizeof(seqtune_shown), so that more can be added at its end.
    pub size: usize,
    /// Out: such problems; 0 where nothing was recorded for the device and the objective.
    pub problems: usize,
    /// Out: mean share of the best measured speed (or of what else is compared).
    pub mean: f64,
    /// Out: its tenth percentile.
    pub p10: f64,
    /// Out: of tuned configs, the share of the problems whose tuned config came first.
    pub first: f64,
    /// Out: likewise, among the first five.
    pub five: f64,
}

/// What was shown of the predictor on its device, for SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP. Answers that are less sure than nine tenths of
/// those were are marked unsure. `shown->size` is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_shown_of(predictor: *const Predictor, objective: c_int, shown: *mut Shown) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let shared = &unsafe { object(predictor, "predictor") }?.0;
        // SAFETY: as the caller promises; `size` stands in every version of it
        let size = *unsafe { object(shown.cast::<usize>().cast_const(), "shown") }?;
        if size != size_of::<Shown>() {
            return Err(Fault::input(format!(
                "shown.size is {size}, and this library knows {}: set it to sizeof(seqtune_shown), and build with the header of this library",
                size_of::<Shown>()
            )));
        }
        let objective = shared.objective(objective)?;
        let (device, mut found) = (
            shared.device(),
            Shown { size, problems: 0, mean: f64::NAN, p10: f64::NAN, first: f64::NAN, five: f64::NAN },
        );
        if let Some(known) = shared.predictor.held_out_result(&device, objective) {
            found.problems = known.problems;
            match known.worth {
                HeldOutScore::Best { mean, p10, .. } => (found.mean, found.p10) = (mean, p10),
                HeldOutScore::Tuned { first, five } => (found.first, found.five) = (first, five),
            }
        }
        // SAFETY: the caller's structure, whose size was checked
        unsafe { put(shown, "shown", found) }
    })
}
