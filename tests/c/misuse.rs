//! What a caller can get wrong is answered with a status and a sentence.

use crate::kit::toy;
use seqtune_c::*;
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

fn last() -> String {
    // SAFETY: a text of this thread that ends with a zero
    unsafe { CStr::from_ptr(seqtune_last_error()) }.to_str().unwrap().to_string()
}

fn opened() -> *mut Predictor {
    let [model, kernel] = toy().map(|text| CString::new(text).unwrap());
    let mut predictor = null_mut();
    // SAFETY: texts that end with a zero, and room for a pointer
    let status = unsafe { seqtune_open(model.as_ptr(), kernel.as_ptr(), c"A100".as_ptr(), &mut predictor) };
    assert_eq!(status, Status::SeqtuneOk, "{}", last());
    predictor
}

fn prediction(candidates: &mut [Candidate], values: &mut [i64]) -> Prediction {
    Prediction {
        size: size_of::<Prediction>(),
        candidate_size: size_of::<Candidate>(),
        candidates: candidates.as_mut_ptr(),
        top: candidates.len(),
        values: values.as_mut_ptr(),
        value_count: values.len(),
        width: 0,
        objective: SEQTUNE_TIME,
        unsure: 0,
        found: 0,
        within_time: 0.0,
    }
}

fn room() -> Candidate {
    Candidate { values: null(), probability: 0.0, time_us: 0.0, joules: 0.0, time_basis: 0 }
}

#[test]
fn null_pointers_are_named() {
    let predictor = opened();
    let (text, mut session, mut number) = (c"M=1".as_ptr(), null_mut(), 0.0);
    // SAFETY: each pointer is null or right
    let answers = unsafe {
        [
            (seqtune_open(null(), text, null(), &mut null_mut()), "model", last()),
            (seqtune_open(text, null(), null(), &mut null_mut()), "kernel", last()),
            (seqtune_open(text, text, null(), null_mut()), "predictor", last()),
            (seqtune_open_memory(null(), 9, text, null(), &mut null_mut()), "bytes", last()),
            (seqtune_session_open(null(), &mut session), "predictor", last()),
            (seqtune_session_open(predictor, null_mut()), "session", last()),
            (seqtune_predict(null(), null_mut(), text, null_mut()), "predictor", last()),
            (seqtune_predict(predictor, null_mut(), text, null_mut()), "prediction", last()),
            (seqtune_set_device(predictor, null()), "device", last()),
            (seqtune_set_device_limits(predictor, text, null(), null(), 1), "names", last()),
            (seqtune_set_device_limits(predictor, text, [null::<c_char>()].as_ptr(), &1.0, 1), "names", last()),
            (seqtune_device_limit(predictor, null(), &mut number), "limit", last()),
            (seqtune_device_limit(predictor, c"is_cpu".as_ptr(), null_mut()), "value", last()),
            (seqtune_check(predictor, null(), text), "problem", last()),
            (seqtune_check(predictor, text, null()), "config", last()),
            (seqtune_count(predictor, text, null_mut()), "count", last()),
            (seqtune_config_text(predictor, null(), 2, null_mut(), 0, null_mut()), "values", last()),
        ]
    };
    for (at, (status, name, sentence)) in answers.into_iter().enumerate() {
        // which sentence is the call's is settled by its order in the tuple
        assert_eq!((status, sentence), (Status::SeqtuneInput, format!("`{name}` is NULL")), "call {at}");
    }
    // SAFETY: null or right, as above
    unsafe {
        assert_eq!(seqtune_parameter_count(null()), 0);
        assert!(seqtune_parameter_name(null(), 0).is_null() && seqtune_field_name(null(), 0).is_null());
        assert_eq!(seqtune_parameter_index(predictor, null()), -1);
        seqtune_close(predictor);
    }
}

#[test]
fn wrong_sizes_and_numbers_of_a_prediction_are_named() {
    let predictor = opened();
    let (mut candidates, mut values) = ([room(), room()], [0; 4]);
    type Change = fn(&mut Prediction);
    let cases: [(Change, &str); 15] = [
        (|p| p.size = 8, "prediction.size is 8, and this library knows 80: set it to sizeof(seqtune_prediction)"),
        (|p| p.candidate_size = 24, "prediction.candidate_size is 24: set it to sizeof(seqtune_candidate)"),
        (|p| p.candidate_size = 33, "prediction.candidate_size is 33: set it to sizeof(seqtune_candidate)"),
        (|p| p.candidate_size = 1 << 12, "prediction.candidate_size is 4096: set it to sizeof(seqtune_candidate)"),
        (|p| p.candidate_size = 1 << 62, "prediction.candidate_size is 4611686018427387904: set it to"),
        (|p| p.candidate_size = usize::MAX - 7, "prediction.candidate_size is 18446744073709551608: set it to"),
        (|p| p.top = 0, "prediction.top is 0: ask for 1 to 10000"),
        (|p| p.top = usize::MAX, "prediction.top is 18446744073709551615: ask for 1 to 10000"),
        (|p| p.width = 10_001, "prediction.width is 10001: 0 or up to 10000"),
        (|p| p.candidates = null_mut(), "prediction.candidates is NULL or not aligned"),
        (|p| p.values = 12 as *mut i64, "prediction.values is NULL or not aligned"),
        (|p| p.value_count = 3, "prediction.values has room for 3 values: 2 configs of 2 parameters need 4"),
        (|p| p.within_time = -0.1, "prediction.within_time is -0.1: a share from 0 to 100, such as 0.02"),
        (|p| p.within_time = f64::NAN, "prediction.within_time is NaN: a share from 0 to 100, such as 0.02"),
        (|p| p.objective = 7, "objective 7: name SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP"),
    ];
    for (change, sentence) in cases {
        let mut wrong = prediction(&mut candidates, &mut values);
        change(&mut wrong);
        // SAFETY: the sizes and pointers that are wrong are what is tested
        let status = unsafe { seqtune_predict(predictor, null_mut(), c"M=1".as_ptr(), &mut wrong) };
        assert!(status != Status::SeqtuneOk && last().starts_with(sentence), "{}", last());
    }
    let mut energy = prediction(&mut candidates, &mut values);
    energy.objective = SEQTUNE_ENERGY;
    // SAFETY: all is right but what the model knows
    let status = unsafe { seqtune_predict(predictor, null_mut(), c"M=1".as_ptr(), &mut energy) };
    assert_eq!((status, last().as_str()), (Status::SeqtuneMismatch, "the model was not trained for energy"));
    let mut within = prediction(&mut candidates, &mut values);
    within.within_time = 0.02;
    // SAFETY: as above
    let status = unsafe { seqtune_predict(predictor, null_mut(), c"M=1".as_ptr(), &mut within) };
    assert_eq!((status, last().as_str()), (Status::SeqtuneMismatch, "the model was not trained for energy"));
    // a program that was built before `within_time` was there
    within.size = std::mem::offset_of!(Prediction, within_time);
    // SAFETY: as above
    let status = unsafe { seqtune_predict(predictor, null_mut(), c"M=1".as_ptr(), &mut within) };
    assert_eq!((status, within.found), (Status::SeqtuneOk, 2));
    // SAFETY: opened here
    unsafe { seqtune_close(predictor) };
}

#[test]
fn sizes_that_no_memory_holds_are_refused_before_anything_is_read() {
    let mut predictor = opened();
    let (name, values) = (c"local_memory".as_ptr(), [1.0, 2.0]);
    // SAFETY: what is too long is refused before it is read
    unsafe {
        for count in [17, 1 << 40, usize::MAX / 8] {
            let status = seqtune_set_device_limits(predictor, c"x".as_ptr(), &name, values.as_ptr(), count);
            assert_eq!((status, last()), (Status::SeqtuneInput, format!("`count` is {count}: there are 16 limits")));
        }
        let twice = [name, name];
        let status = seqtune_set_device_limits(predictor, c"x".as_ptr(), twice.as_ptr(), values.as_ptr(), 2);
        assert_eq!((status, last().as_str()), (Status::SeqtuneInput, "the limit `local_memory` is given twice"));
        for wrong in [f64::INFINITY, f64::NAN, -1.0] {
            let status = seqtune_set_device_limits(predictor, c"x".as_ptr(), &name, &wrong, 1);
            assert_eq!(status, Status::SeqtuneInput, "{wrong}: {}", last());
        }
        seqtune_close(predictor);
        for size in [1 << 40, isize::MAX as usize] {
            let status = seqtune_open_memory(c"x".as_ptr().cast(), size, c"gemm".as_ptr(), null(), &mut predictor);
            assert!(status == Status::SeqtuneInput && last().contains("a model has at most"), "{}", last());
        }
    }
}

#[test]
fn problems_are_read_alike_from_text_and_numbers_and_their_faults_are_named() {
    let mut predictor = null_mut();
    let model = CString::new(crate::kit::root().join("models/gemm-cpu").display().to_string()).unwrap();
    let mut candidates = [room()];
    let mut values = [0; 64];
    // SAFETY: texts, lists and rooms of this test
    unsafe {
        assert_eq!(seqtune_open(model.as_ptr(), c"gemm".as_ptr(), c"EPYC".as_ptr(), &mut predictor), Status::SeqtuneOk);
        let mut asked = prediction(&mut candidates, &mut values);
        asked.width = 5;
        for text in [
            c"M=300,N=200,K=100,transB=T",
            c" M=300, N=200 ,K=100,,transB=T,alpha=1",
            c"{\"M\":300,\"N\":200,\"K\":100,\"transB\":\"T\"}",
        ] {
            assert_eq!(
                seqtune_predict(predictor, null_mut(), text.as_ptr(), &mut asked),
                Status::SeqtuneOk,
                "{}",
                last()
            );
        }
        let by_text =
            (std::slice::from_raw_parts((*asked.candidates).values, 8).to_vec(), (*asked.candidates).probability);
        let numbers = [300.0, 200.0, 100.0, f64::NAN, 1.0];
        assert_eq!(seqtune_predict_values(predictor, null_mut(), numbers.as_ptr(), 5, &mut asked), Status::SeqtuneOk);
        let by_numbers =
            (std::slice::from_raw_parts((*asked.candidates).values, 8).to_vec(), (*asked.candidates).probability);
        // narrow beams state no probability, which is no number
        let bits = |(values, probability): (Vec<i64>, f64)| (values, probability.to_bits());
        assert_eq!(bits(by_text), bits(by_numbers));
        for (fields, sentence) in [
            (vec![300.0, 200.0], "field `K` is missing"),
            (vec![0.0, 200.0, 100.0], "field `M`: 0 is not a whole number from 1 to 65536"),
            (vec![1.5, 200.0, 100.0], "field `M`: 1.5 is not a whole number from 1 to 65536"),
            (vec![3.0, 2.0, 1.0, 2.0], "field `transA`: 2 is not the index of one of N, T"),
            (vec![3.0, 2.0, 1.0, 0.0, 0.0, f64::INFINITY], "field `alpha`: inf is not a finite number"),
        ] {
            let status = seqtune_predict_values(predictor, null_mut(), fields.as_ptr(), fields.len(), &mut asked);
            assert_eq!((status, last().as_str()), (Status::SeqtuneProblem, sentence));
        }
        let text = c"M=300,N=200,K=100,transB=X".as_ptr();
        assert_eq!(seqtune_predict(predictor, null_mut(), text, &mut asked), Status::SeqtuneProblem);
        assert!(last().ends_with("field `transB`: `X` is not one of N, T"), "{}", last());
        assert_eq!(seqtune_predict(predictor, null_mut(), c"M=\xff".as_ptr(), &mut asked), Status::SeqtuneInput);
        assert_eq!(last(), "`problem` is not text in UTF-8");
        seqtune_close(predictor);
    }
}

/// Opens a shipped model; the status, and the predictor.
fn open_of(model: &str, kernel: &std::ffi::CStr, device: *const c_char) -> (Status, *mut Predictor) {
    let model = CString::new(crate::kit::root().join("models").join(model).display().to_string()).unwrap();
    let mut predictor = null_mut();
    // SAFETY: texts that end with a zero, and room for a pointer
    let status = unsafe { seqtune_open(model.as_ptr(), kernel.as_ptr(), device, &mut predictor) };
    (status, predictor)
}

#[test]
fn of_a_model_of_several_devices_one_is_named_or_live_or_all_are_listed() {
    let (status, predictor) = open_of("miopen", c"ConvOclBwdWrW2", null());
    match status {
        // a machine with one of the three
        Status::SeqtuneOk => {
            println!("skipped: one of the model's devices is live here; it takes a machine without AMD's GPUs")
        }
        _ => {
            assert_eq!(status, Status::SeqtuneDevice);
            let list =
                "none of them is live here: name the device that is asked about, `MI50`, `RX 6800 XT` or `RX Vega 56`";
            assert!(last().ends_with(list), "{}", last());
        }
    }
    // SAFETY: opened here, or NULL
    unsafe { seqtune_close(predictor) };
    let (status, predictor) = open_of("miopen", c"ConvOclBwdWrW2", c"gfx900-56".as_ptr());
    assert_eq!(status, Status::SeqtuneOk, "{}", last());
    // SAFETY: as above
    unsafe { seqtune_close(predictor) };
    let (status, predictor) = open_of("gemm-h200", c"gemm", null());
    assert_eq!(status, Status::SeqtuneOk, "a model of one device is asked about that");
    // SAFETY: as above
    unsafe { seqtune_close(predictor) };
}

#[test]
fn a_time_is_told_with_what_it_rests_on_and_older_programs_go_on_without_that() {
    let (status, predictor) = open_of("gemm-h200", c"gemm", null());
    assert_eq!(status, Status::SeqtuneOk, "{}", last());
    let (mut candidates, mut values) = ([room(), room()], [0; 64]);
    let mut asked = prediction(&mut candidates, &mut values);
    let predict = |asked: &mut Prediction| {
        // SAFETY: room of this test
        let status = unsafe { seqtune_predict(predictor, null_mut(), c"M=1024,N=512,K=256".as_ptr(), asked) };
        assert_eq!(status, Status::SeqtuneOk, "{}", last());
    };
    predict(&mut asked);
    assert!(candidates.iter().all(|c| c.time_us > 0.0 && c.joules > 0.0 && c.time_basis == SEQTUNE_TIME_LEARNED));
    // SAFETY: texts of this test
    assert_eq!(unsafe { seqtune_set_device(predictor, c"Tesla T4".as_ptr()) }, Status::SeqtuneOk);
    let mut asked = prediction(&mut candidates, &mut values);
    predict(&mut asked);
    assert!(candidates.iter().all(|c| c.time_us.is_nan() && c.joules.is_nan() && c.time_basis == SEQTUNE_TIME_ABSENT));
    // four members of eight bytes, as the first version had them, one behind the other
    let mut first = [77u64; 9];
    let mut asked = prediction(&mut candidates, &mut values);
    (asked.candidate_size, asked.candidates) = (32, first.as_mut_ptr().cast());
    predict(&mut asked);
    assert_eq!((asked.found, first[8]), (2, 77), "nothing is written behind them");
    assert!((0.0..=1.0).contains(&f64::from_bits(first[1])) && (0.0..=1.0).contains(&f64::from_bits(first[5])));
    // SAFETY: opened here
    unsafe { seqtune_close(predictor) };
}

#[test]
fn the_fewest_joules_within_a_share_of_the_time_need_no_more_than_those_of_the_fastest() {
    let (status, predictor) = open_of("gemm-h200", c"gemm", null());
    assert_eq!(status, Status::SeqtuneOk, "{}", last());
    let (mut candidates, mut values) = ([room()], [0; 64]);
    let mut first = |within_time: f64| {
        let mut asked = prediction(&mut candidates, &mut values);
        asked.within_time = within_time;
        // SAFETY: room of this test
        let status = unsafe { seqtune_predict(predictor, null_mut(), c"M=1024,N=1024,K=1024".as_ptr(), &mut asked) };
        assert_eq!((status, asked.found), (Status::SeqtuneOk, 1), "{}", last());
        (candidates[0].time_us, candidates[0].joules)
    };
    let (least_us, joules) = first(1e-9);
    let (us, fewer) = first(0.5);
    assert!(us <= 1.5 * least_us && us > least_us && fewer < joules, "{us} of {least_us} us, {fewer} of {joules} J");
    // SAFETY: opened here
    unsafe { seqtune_close(predictor) };
}
