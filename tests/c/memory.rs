//! Memory that a call asks for: with a session and room of the caller's, none.

use crate::kit::toy;
use seqtune_c::*;
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// How often something asks the system for memory in this thread.
fn asked_for(work: impl FnOnce()) -> usize {
    let before = pool::allocation_count();
    work();
    pool::allocation_count() - before
}

#[test]
fn a_call_like_one_before_asks_for_no_memory_with_a_session() {
    let [model, kernel] = toy();
    let [model, kernel] = [model, kernel].map(|text| CString::new(text).unwrap());
    let (mut predictor, mut session) = (null_mut(), null_mut());
    let mut best =
        [const { Candidate { values: null(), probability: 0.0, time_us: 0.0, joules: 0.0, time_basis: 0 } }; 3];
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
        within_time: 0.0,
    };
    // SAFETY: texts, lists and rooms of this test
    unsafe {
        let device = c"A100".as_ptr();
        assert_eq!(seqtune_open(model.as_ptr(), kernel.as_ptr(), device, &mut predictor), Status::SeqtuneOk);
        assert_eq!(seqtune_session_open(predictor, &mut session), Status::SeqtuneOk);
        let mut by_text =
            || assert_eq!(seqtune_predict(predictor, session, c"M=1000".as_ptr(), &mut asked), Status::SeqtuneOk);
        assert!(asked_for(&mut by_text) > 0);
        assert_eq!(asked_for(by_text), 0);
        let mut by_size =
            || assert_eq!(seqtune_predict_sizes(predictor, session, &1000, 1, &mut asked), Status::SeqtuneOk);
        by_size();
        assert_eq!(asked_for(by_size), 0);
        seqtune_session_close(session);
        seqtune_close(predictor);
    }
}

/// What one thread asked for, others free, and the other way round, more than any keeps.
#[test]
fn memory_goes_from_thread_to_thread_and_comes_back_whole() {
    let blocks = || -> Vec<Vec<u64>> { (0..2_000u64).map(|i| vec![i; 1 + (i as usize * 7) % 900]).collect() };
    let whole = |blocks: &[Vec<u64>]| blocks.iter().enumerate().all(|(i, b)| b.iter().all(|x| *x == i as u64));
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(blocks)).collect();
    let made: Vec<Vec<Vec<u64>>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let own = blocks();
    assert!(made.iter().all(|blocks| whole(blocks)));
    drop(made);
    let again = blocks();
    assert!(whole(&own) && whole(&again));
    assert!(std::thread::spawn(move || whole(&own) && whole(&blocks())).join().unwrap());
}
