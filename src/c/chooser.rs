//! Choosing at each launch: a config that starts with the predictions and settles by the times that are reported.

use crate::fields::Scratch;
use crate::pointers::{TextBuffer, close, list, object, optional, put, text};
use crate::predictor::{Predictor, Shared};
use crate::session::Session;
use crate::status::{Answer, Fault, Status, guard};
use seqtune_choose::{Goal, Measured, Options, Predicted};
use seqtune_kernel::error::Error;
use seqtune_predict::Objective;
use std::ffi::{c_char, c_int};
use std::path::PathBuf;
use std::sync::Arc;

/// Chooses among a predictor's configs. Any number of threads may use one at once, except to close it.
pub struct Chooser {
    shared: Arc<Shared>,
    chooser: seqtune_choose::Chooser,
}

/// How a chooser goes about it. SEQTUNE_CHOOSER_OPTIONS has what is usual.
#[repr(C)]
pub struct ChooserOptions {
    /// sizeof(seqtune_chooser_options), so that more can be added at its end.
    pub size: usize,
    /// Configs per problem that are considered, 1 to 100.
    pub top: usize,
    /// File that choices are remembered in, shared by any number of processes; NULL remembers nothing.
    pub memory: *const c_char,
    /// Driver that programs run through, by name and version: what was remembered under another is forgotten. NULL: that of
    /// the device's description.
    pub driver: *const c_char,
    /// Microseconds that the first use of a config costs this process (its compilation); 0 where that does not matter.
    pub setup_us: f64,
    /// Share of a call that trying other configs must be expected to gain; below it the choice is settled.
    pub tolerance: f64,
}

/// A config that was chosen for a call.
#[repr(C)]
pub struct Pick {
    /// Number that stands for it in seqtune_chooser_report.
    pub id: u64,
    /// 1 where it is the settled choice, 0 where its time is awaited.
    pub settled: c_int,
}

/// The predictor of a shared handle.
struct Held(Arc<Shared>);

impl std::borrow::Borrow<seqtune_predict::Predictor> for Held {
    fn borrow(&self) -> &seqtune_predict::Predictor {
        &self.0.predictor
    }
}

/// The options that a caller gives, checked.
///
/// # Safety
/// As the header demands.
unsafe fn options_of(options: *const ChooserOptions) -> Answer<Options> {
    if options.is_null() {
        return Ok(Options::default());
    }
    // SAFETY: as the caller promises; `size` stands in every version of it
    let size = *unsafe { object(options.cast::<usize>(), "options") }?;
    if size != size_of::<ChooserOptions>() {
        let sentence = format!(
            "options.size is {size}, and this library knows {}: set it to sizeof(seqtune_chooser_options), and build with the header of this library",
            size_of::<ChooserOptions>()
        );
        return Err(Fault::input(sentence));
    }
    // SAFETY: as the caller promises
    let given = unsafe { object(options, "options") }?;
    // SAFETY: as the caller promises
    let word = |at: *const c_char, what: &str| unsafe { optional(at, what) };
    Ok(Options {
        top: given.top,
        memory: word(given.memory, "options.memory")?.map(PathBuf::from),
        driver: word(given.driver, "options.driver")?.unwrap_or_default().into(),
        setup_us: given.setup_us,
        tolerance: given.tolerance,
        ..Options::default()
    })
}

/// Opens a chooser among what a predictor predicts for the device that it has now. `options` may be NULL. The predictor may
/// be closed before it. Close it with seqtune_chooser_close, which writes what was learned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_open(
    predictor: *const Predictor,
    options: *const ChooserOptions,
    chooser: *mut *mut Chooser,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe {
            put(chooser, "chooser", std::ptr::null_mut())?;
            let (shared, options) = (object(predictor, "predictor")?.0.clone(), options_of(options)?);
            let device = shared.device();
            let points =
                Predicted::with_predictor(&shared.kernel, Held(shared.clone()), shared.digest.clone(), &device);
            let inner = seqtune_choose::Chooser::new(&shared.kernel, &device, Box::new(points), options)?;
            put(chooser, "chooser", Box::into_raw(Box::new(Chooser { shared, chooser: inner })))
        }
    })
}

/// Closes a chooser; NULL is let pass.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_close(chooser: *mut Chooser) {
    // SAFETY: as the header demands: it was opened here, and nobody uses it any more
    unsafe { close(chooser) }
}

/// A pick for a problem that `read` puts into the scratch.
unsafe fn pick_for(
    chooser: *const Chooser,
    session: *mut Session,
    (values, count): (*mut i64, usize),
    pick: *mut Pick,
    read: impl FnOnce(&Shared, &mut Scratch) -> Answer<()>,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let Chooser { shared, chooser } = unsafe { object(chooser, "chooser") }?;
        let parameters = &shared.kernel.parameters;
        if values.is_null() || !values.is_aligned() || count < parameters.len() {
            let sentence = format!("`values` has room for {count} values, and a config has {}", parameters.len());
            return Err(Fault::new(Status::SeqtuneTooSmall, sentence));
        }
        let choose = |scratch: &mut Scratch| {
            read(shared, scratch)?;
            let chosen = chooser.pick(&scratch.problem)?;
            for (at, (parameter, choice)) in parameters.iter().zip(&chosen.config().0).enumerate() {
                // SAFETY: there is room for so many
                unsafe { values.add(at).write(parameter.values[*choice as usize]) };
            }
            // SAFETY: as the header demands
            unsafe { put(pick, "pick", Pick { id: chosen.id(), settled: chosen.is_settled().into() }) }
        };
        if session.is_null() {
            return choose(&mut Scratch::new(shared));
        }
        // SAFETY: as the header demands
        let session = unsafe { object(session.cast_const(), "session") }?;
        match Arc::ptr_eq(&session.shared, shared) {
            true => choose(&mut *session.scratch()?),
            false => Err(Fault::input("the session is another predictor's")),
        }
    })
}

/// The config for a call of a problem, which is written as "M=512,N=512,K=64": its values go into `values`, of which there
/// is room for `value_count`, at least seqtune_parameter_count.
///
/// `session` is one of this thread and of the chooser's predictor, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_pick(
    chooser: *const Chooser,
    session: *mut Session,
    problem: *const c_char,
    values: *mut i64,
    value_count: usize,
    pick: *mut Pick,
) -> Status {
    // SAFETY: as the header demands
    unsafe {
        pick_for(chooser, session, (values, value_count), pick, |shared, scratch| {
            scratch.read(shared, text(problem, "problem")?)
        })
    }
}

/// As seqtune_chooser_pick, of the first `count` fields by their values, as seqtune_predict_sizes takes them. With a session, a settled
/// choice asks for no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_pick_sizes(
    chooser: *const Chooser,
    session: *mut Session,
    fields: *const i64,
    count: usize,
    values: *mut i64,
    value_count: usize,
    pick: *mut Pick,
) -> Status {
    // SAFETY: as the header demands
    unsafe {
        pick_for(chooser, session, (values, value_count), pick, |shared, scratch| {
            scratch.take(shared, list(fields, count, "fields")?.iter().map(|field| *field as f64))
        })
    }
}

/// What the call of a pick took: microseconds, and joules or NaN. A pick of a problem that is held no more is let pass.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_report(chooser: *const Chooser, id: u64, time_us: f64, joules: f64) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let chooser = &unsafe { object(chooser, "chooser") }?.chooser;
        let joules = (!joules.is_nan()).then_some(joules);
        chooser.report_id(id, Measured { time_us, joules })?;
        Ok(())
    })
}

/// Books the config of a pick as failed for its problem: it did not compile, launch or compute what it should.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_failed(chooser: *const Chooser, id: u64) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        unsafe { object(chooser, "chooser") }?.chooser.failed_id(id);
        Ok(())
    })
}

/// Sets what is minimised (SEQTUNE_TIME, SEQTUNE_ENERGY, SEQTUNE_EDP) and what a call may take at most: microseconds, watts,
/// joules; NaN where there is no limit. The next pick follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_set_goal(
    chooser: *const Chooser,
    objective: c_int,
    time_us: f64,
    power_w: f64,
    joules: f64,
) -> Status {
    // SAFETY: as the header demands
    unsafe { seqtune_chooser_set_goal_within(chooser, objective, time_us, power_w, joules, f64::NAN) }
}

/// As seqtune_chooser_set_goal, with a limit to the time that follows the fastest config: with SEQTUNE_ENERGY, a `within_time` of 0.02 asks for the
/// fewest joules within 2 % of its time. NaN sets no such limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_set_goal_within(
    chooser: *const Chooser,
    objective: c_int,
    time_us: f64,
    power_w: f64,
    joules: f64,
    within_time: f64,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let chooser = &unsafe { object(chooser, "chooser") }?.chooser;
        let objective = usize::try_from(objective).ok().and_then(|at| Objective::ALL.get(at));
        let Some(objective) = objective else {
            return Err(Fault::input("objective: name SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP"));
        };
        let limit = |x: f64| (!x.is_nan()).then_some(x);
        let (time_us, power_w, joules, within_time) =
            (limit(time_us), limit(power_w), limit(joules), limit(within_time));
        Ok(chooser.set_goal(Goal { objective: *objective, time_us, power_w, joules, within_time })?)
    })
}

/// Writes what was learned to the file of the options; also done at times by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_save(chooser: *const Chooser) -> Status {
    // SAFETY: as the header demands
    guard(|| Ok(unsafe { object(chooser, "chooser") }?.chooser.save().map_err(|e: Error| e)?))
}

/// Writes what went wrong without being in a call's way (a damaged file, a full disk), a sentence a line, and a zero into `room` bytes at
/// `text`; "" where nothing did. `*needed` is the number of bytes that takes; `needed` may be NULL. What was written is forgotten.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqtune_chooser_warnings(
    chooser: *const Chooser,
    text: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the header demands
        let (chooser, room) = unsafe { (&object(chooser, "chooser")?.chooser, TextBuffer::new(text, room, needed)?) };
        let warnings = chooser.warnings();
        room.put(&warnings.join("\n")).inspect_err(|_| chooser.keep_warnings(warnings.clone()))
    })
}
