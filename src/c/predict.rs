//! Predictions into the caller's memory.

use crate::engine::{Asked, ask};
use crate::fields::Scratch;
use crate::pointers::{list, object, text};
use crate::predictor::{Predictor, Shared};
use crate::session::Session;
use crate::status::{Answer, Fault, Status, guard};
use seqtune_kernel::Objective;
use seqtune_kernel::limits::{MOST_LONGER, WIDTH};
use seqtune_predict::TimeBasis;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Objective: microseconds per launch.
pub const SEQTUNE_TIME: c_int = 0;
/// Objective: joules per launch.
pub const SEQTUNE_ENERGY: c_int = 1;
/// Objective: energy times time.
pub const SEQTUNE_EDP: c_int = 2;

/// What a predicted time is: there is none, for the model learned no times of the device, or none half as short.
pub const SEQTUNE_TIME_ABSENT: c_int = 0;
/// What a predicted time is: learned of times of the device.
pub const SEQTUNE_TIME_LEARNED: c_int = 1;
/// What a predicted time is: the least that the device can do, because what was learned was below it.
pub const SEQTUNE_TIME_BOUNDED: c_int = 2;

/// Candidates of a prediction at most, and the widest search.
pub const SEQTUNE_MOST_CANDIDATES: usize = 10000;

const _: () = assert!(SEQTUNE_MOST_CANDIDATES == WIDTH);

/// Bytes of a candidate at most: what a later version may add to it is a few numbers, and more is a wrong number.
const MOST_STRIDE: usize = 1 << 10;

/// A predicted config.
#[repr(C)]
pub struct Candidate {
    /// Its values in the order of the parameters: a row of the prediction's `values`.
    pub values: *const i64,
    /// Probability that it is the best of all legal configs; NaN where `width` is from 1 to 19 and the model shares its beam's likelihood out.
    pub probability: f64,
    /// Predicted time in microseconds; NaN where the model learned no times of the device, or none half as short.
    pub time_us: f64,
    /// Predicted joules per launch; NaN where the model learned no energy of the device.
    pub joules: f64,
    /// What `time_us` is: SEQTUNE_TIME_ABSENT, SEQTUNE_TIME_LEARNED or SEQTUNE_TIME_BOUNDED.
    pub time_basis: c_int,
}

/// Bytes of a candidate of programs that were built before `time_basis` was there: they go on without it.
const FIRST_CANDIDATE: usize = std::mem::offset_of!(Candidate, time_basis);

/// What is wanted, and room for the answer. SEQTUNE_PREDICTION fills it in.
#[repr(C)]
pub struct Prediction {
    /// In: sizeof(seqtune_prediction), so that more can be added at its end.
    pub size: usize,
    /// In: sizeof(seqtune_candidate), likewise.
    pub candidate_size: usize,
    /// In: room for `top` candidates.
    pub candidates: *mut Candidate,
    /// In: number of candidates wanted.
    pub top: usize,
    /// In: room for the values of `top` configs.
    pub values: *mut i64,
    /// In: number of values there is room for, at least `top` times seqtune_parameter_count.
    pub value_count: usize,
    /// In: hypotheses that the search follows; 0 for the usual 20. Fewer are faster, and state no probability.
    pub width: usize,
    /// In: SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP.
    pub objective: c_int,
    /// Out: 1 where the answer is less sure than what was shown of the model (seqtune_shown_of), or states no probability: measure the first few. Else 0.
    pub unsure: c_int,
    /// Out: number of candidates, best first; fewer than `top` where fewer are legal.
    pub found: usize,
    /// In: 0.02 asks for the fewest joules among configs that are predicted to take at most 2 % longer than the fastest, whatever `objective` says;
    /// 0 sets no such limit.
    pub within_time: f64,
}

/// Bytes of a prediction of programs that were built before `within_time` was there: they go on without it.
const FIRST_PREDICTION: usize = std::mem::offset_of!(Prediction, within_time);

/// Whether candidates may lie so many bytes apart.
fn is_stride(bytes: usize) -> bool {
    let known = bytes == FIRST_CANDIDATE || (size_of::<Candidate>()..=MOST_STRIDE).contains(&bytes);
    known && bytes.is_multiple_of(align_of::<Candidate>())
}

/// Room for an answer, checked.
struct AnswerBuffer {
    prediction: *mut Prediction,
    wanted: Prediction,
    /// Values of one config.
    row: usize,
}

impl AnswerBuffer {
    /// The room of a prediction for configs of so many values.
    ///
    /// # Safety
    /// As the header demands.
    unsafe fn new(prediction: *mut Prediction, row: usize) -> Answer<AnswerBuffer> {
        // SAFETY: as the caller promises; `size` stands in every version of it
        let size = *unsafe { object(prediction.cast::<usize>(), "prediction") }?;
        if size != size_of::<Prediction>() && size != FIRST_PREDICTION {
            let sentence = format!(
                "prediction.size is {size}, and this library knows {}: set it to sizeof(seqtune_prediction), and build with the header of this library",
                size_of::<Prediction>()
            );
            return Err(Fault::input(sentence));
        }
        // SAFETY: a prediction is numbers and pointers, for which zeros are values
        let mut wanted: Prediction = unsafe { std::mem::zeroed() };
        // SAFETY: as the caller promises, there are so many bytes; what an older program's lacks stays zero
        unsafe { std::ptr::copy_nonoverlapping(prediction.cast::<u8>(), (&raw mut wanted).cast::<u8>(), size) };
        let (top, stride) = (wanted.top, wanted.candidate_size);
        let wrong = match () {
            () if top == 0 || top > WIDTH => format!("prediction.top is {top}: ask for 1 to {WIDTH}"),
            () if wanted.width > WIDTH => format!("prediction.width is {}: 0 or up to {WIDTH}", wanted.width),
            () if !is_stride(stride) => {
                format!("prediction.candidate_size is {stride}: set it to sizeof(seqtune_candidate)")
            }
            () if !(0.0..=MOST_LONGER).contains(&wanted.within_time) => {
                format!(
                    "prediction.within_time is {}: a share from 0 to {MOST_LONGER}, such as 0.02",
                    wanted.within_time
                )
            }
            () if wanted.candidates.is_null() || !wanted.candidates.is_aligned() => {
                "prediction.candidates is NULL or not aligned".into()
            }
            () if wanted.values.is_null() || !wanted.values.is_aligned() => {
                "prediction.values is NULL or not aligned".into()
            }
            () if wanted.value_count < top.saturating_mul(row) => {
                let sentence = format!(
                    "prediction.values has room for {} values: {top} configs of {row} parameters need {}",
                    wanted.value_count,
                    top * row
                );
                return Err(Fault::new(Status::SeqtuneTooSmall, sentence));
            }
            () => return Ok(AnswerBuffer { prediction, wanted, row }),
        };
        Err(Fault::input(wrong))
    }
}

fn number(basis: TimeBasis) -> c_int {
    match basis {
        TimeBasis::Absent => SEQTUNE_TIME_ABSENT,
        TimeBasis::Learned => SEQTUNE_TIME_LEARNED,
        TimeBasis::Bounded => SEQTUNE_TIME_BOUNDED,
    }
}

/// Puts an answer into its room; nothing is asked of the memory here.
///
/// # Safety
/// As the header demands.
unsafe fn answer(shared: &Shared, scratch: &Scratch, room: &AnswerBuffer, objective: Objective) -> Answer<()> {
    let device = shared.device();
    let (wanted, row) = (&room.wanted, room.row);
    let asked = Asked {
        problem: &scratch.problem,
        device: &device,
        objective,
        top: wanted.top,
        width: wanted.width,
        within_time: Some(wanted.within_time).filter(|share| *share > 0.0),
    };
    let (base, stride, values) = (wanted.candidates.cast::<u8>(), wanted.candidate_size, wanted.values);
    let (found, unsure) = ask(shared, &asked, &mut |at, candidate, basis| {
        // SAFETY: `at` is below `top`, for which there is room
        let (place, values) = unsafe { (base.add(at * stride).cast::<Candidate>(), values.add(at * row)) };
        for (i, (parameter, choice)) in shared.kernel.parameters.iter().zip(&candidate.config.0).enumerate() {
            // SAFETY: a row has so many values
            unsafe { values.add(i).write(parameter.values[*choice as usize]) };
        }
        // SAFETY: the place is within the room, and aligned as its stride is; what an older program's lacks is not written
        unsafe {
            (&raw mut (*place).values).write(values);
            (&raw mut (*place).probability).write(candidate.probability.unwrap_or(f64::NAN));
            (&raw mut (*place).time_us).write(candidate.time_us.unwrap_or(f64::NAN));
            (&raw mut (*place).joules).write(candidate.joules.unwrap_or(f64::NAN));
            if stride > FIRST_CANDIDATE {
                (&raw mut (*place).time_basis).write(number(basis));
            }
        }
    })?;
    // SAFETY: the caller's structure, whose size was checked
    unsafe {
        (&raw mut (*room.prediction).found).write(found);
        (&raw mut (*room.prediction).unsure).write(unsure.into());
    }
    Ok(())
}

/// A prediction of a problem that `read` puts into the scratch.
unsafe fn predict_into(
    predictor: *const Predictor,
    session: *mut Session,
    prediction: *mut Prediction,
    read: impl FnOnce(&Shared, &mut Scratch) -> Answer<()>,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let shared = &unsafe { object(predictor, "predictor") }?.0;
        // SAFETY: as the header demands
        let room = unsafe { AnswerBuffer::new(prediction, shared.parameters.len()) }?;
        let objective = shared.objective(room.wanted.objective)?;
        if room.wanted.within_time > 0.0 {
            shared.objective(SEQTUNE_ENERGY)?;
        }
        let answer_with = |scratch: &mut Scratch| {
            read(shared, scratch)?;
            // SAFETY: as the header demands
            unsafe { answer(shared, scratch, &room, objective) }
        };
        if session.is_null() {
            return answer_with(&mut Scratch::new(shared));
        }
        // SAFETY: as the header demands
        let session = unsafe { object(session.cast_const(), "session") }?;
        match Arc::ptr_eq(&session.shared, shared) {
            true => answer_with(&mut *session.scratch()?),
            false => Err(Fault::input("the session is another predictor's")),
        }
    })
}

/// Predicts for a problem that is written as "M=512,N=512,K=64". Fields with a default may be left out.
///
/// `session` is one of this thread, or NULL: then the call makes one for itself. Where this fails, `prediction->found` and
/// what stands in the rooms are not to be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_predict(
    predictor: *const Predictor,
    session: *mut Session,
    problem: *const c_char,
    prediction: *mut Prediction,
) -> Status {
    // SAFETY: as the header demands
    unsafe {
        predict_into(predictor, session, prediction, |shared, scratch| scratch.read(shared, text(problem, "problem")?))
    }
}

/// As seqtune_predict, of the first `count` fields by their values in the kernel's order, so that nothing is parsed. That of
/// a choice is the number of its label (seqtune_field_label). Fields after them take their default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_predict_sizes(
    predictor: *const Predictor,
    session: *mut Session,
    fields: *const i64,
    count: usize,
    prediction: *mut Prediction,
) -> Status {
    // SAFETY: as the header demands
    unsafe {
        predict_into(predictor, session, prediction, |shared, scratch| {
            scratch.take(shared, list(fields, count, "fields")?.iter().map(|field| *field as f64))
        })
    }
}

/// As seqtune_predict_sizes, where fields are no whole numbers or stand behind such as take their default: NaN stands for
/// the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_predict_values(
    predictor: *const Predictor,
    session: *mut Session,
    fields: *const f64,
    count: usize,
    prediction: *mut Prediction,
) -> Status {
    // SAFETY: as the header demands
    unsafe {
        predict_into(predictor, session, prediction, |shared, scratch| {
            scratch.take(shared, list(fields, count, "fields")?.iter().copied())
        })
    }
}
