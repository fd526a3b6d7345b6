//! Memory that a call asks for: with a session and room of the caller's, none beside the engine's.

use crate::kit::toy;
use seqtune_c::*;
use seqtune_predict::{Device, Kernel, Model, Query};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CString;
use std::path::Path;
use std::ptr::{null, null_mut};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts what each thread asks for.
struct Counting;

// SAFETY: the system's allocator does the work
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How often something asks for memory in this thread.
fn asked_for(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

/// How often the engine itself does, of the same question.
fn of_the_engine(model: &str, kernel: &str) -> usize {
    let kernel = Kernel::open(kernel).unwrap();
    let predictor = seqtune_predict::Predictor::new(&kernel, &Model::load(Path::new(model)).unwrap()).unwrap();
    let (device, problem) = (Device::described("A100").unwrap(), kernel.problem("M=1000").unwrap());
    let question = || drop(predictor.predict(std::slice::from_ref(&problem), &Query { top: 3, ..Query::new(&device) }));
    question();
    asked_for(question)
}

#[test]
fn a_call_with_a_session_asks_for_no_memory_beside_the_engines() {
    let [model, kernel] = toy();
    let engine = of_the_engine(&model, &kernel);
    let [model, kernel] = [model, kernel].map(|text| CString::new(text).unwrap());
    let (mut predictor, mut session) = (null_mut(), null_mut());
    let mut best = [const { Candidate { values: null(), probability: 0.0, time_us: 0.0, joules: 0.0 } }; 3];
    let mut values = [0; 6];
    let mut asked = Prediction {
        size: size_of::<Prediction>(),
        candidate_size: size_of::<Candidate>(),
        candidates: best.as_mut_ptr(),
        top: 3,
        values: values.as_mut_ptr(),
        value_count: 6,
        width: 0,
        objective: SEQTUNE_TIME,
        unsure: 0,
        found: 0,
    };
    // SAFETY: texts, lists and rooms of this test
    unsafe {
        let device = c"A100".as_ptr();
        assert_eq!(seqtune_open(model.as_ptr(), kernel.as_ptr(), device, &mut predictor), Status::SeqtuneOk);
        assert_eq!(seqtune_session_open(predictor, &mut session), Status::SeqtuneOk);
        let mut by_text =
            || assert_eq!(seqtune_predict(predictor, session, c"M=1000".as_ptr(), &mut asked), Status::SeqtuneOk);
        by_text();
        assert_eq!(asked_for(by_text), engine);
        let mut by_size =
            || assert_eq!(seqtune_predict_sizes(predictor, session, &1000, 1, &mut asked), Status::SeqtuneOk);
        by_size();
        assert_eq!(asked_for(by_size), engine);
        seqtune_session_close(session);
        seqtune_close(predictor);
    }
}
