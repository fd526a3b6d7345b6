//! What trains, as a user meets it: wrong input, and the whole way from sweep to validation.

use crate::common::{PATIENT, opencl_or_skip, run, seqtune, signal, text, toy, toy_dataset, toy_sizes, write_toy};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Whether a process waits for Ctrl-C itself.
fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
    caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & (1 << (libc::SIGINT - 1)) != 0)
}

#[test]
fn a_training_that_is_interrupted_ends_in_order_and_says_whether_anything_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (kernel, data, model) = (write_toy(&folder.path().join("toy")), path("toy.sqt"), path("model"));
    toy_dataset(&toy(), toy_sizes()).save(std::path::Path::new(&data)).unwrap();
    let train = ["train", &data, "--kernel", &kernel, "--no-cross-validation", "--epochs", "10000", "-o", &model];
    // in the midst of passes, while libtorch works in other threads
    for after in [Duration::from_millis(300), Duration::from_secs(3)] {
        let mut child = seqtune(&train).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !catches_interrupts(child.id()) && began.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(after);
        signal(child.id(), libc::SIGINT);
        let status = child.wait().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(status.code(), Some(128 + libc::SIGINT), "{status}, {said}");
        let kept = std::path::Path::new(&model).exists();
        let words = if kept { "keeps what was trained so far" } else { "nothing was kept yet" };
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn wrong_input_to_training_gets_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("list.txt"), "# sizes\nM=64,N=64,K=64\nM=64,N=64\n").unwrap();
    std::fs::write(path("bad.safetensors"), "not a model").unwrap();
    std::fs::write(path("bad.toml"), "[[device]]\nname = 3\n").unwrap();
    let cases: Vec<Vec<String>> = [
        "train {none.jsonl} -o {model}",
        "train {list.txt} -o {model}",
        "train datasets/gemm/cpu-skylake-2c.sqt -o {model} --width 100000",
        "train datasets/gemm/cpu-skylake-2c.sqt -o {model} --target best --target-temperature 0.1",
        "evaluate folds --folds 3 --objective energy --lightgbm=off datasets/gemm/cpu-skylake-2c.sqt",
        "distil models/gemm-cpu datasets/gemm/cpu-epyc-2c.sqt datasets/gemm/cpu-xeon-2c.sqt --fine-tuned models/gemm-cpu -o {model}",
    ]
    .iter()
    .map(|line| {
        let word = |w: &str| match w.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            Some(name) => path(name),
            None => w.to_string(),
        };
        line.split(' ').map(word).collect()
    })
    .collect();
    let mut sentences = String::new();
    for case in cases {
        let (out, err, code) = run(&case.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 2, "{case:?}: {out}{err}");
        assert_eq!(err.lines().count(), 1, "one sentence: {err}");
        let err = err.replace(&folder.path().display().to_string(), "DIR");
        // the list of live devices depends on the machine
        let err = if err.contains("opencl:99") { "no live device\n".into() } else { err };
        sentences += &err;
    }
    insta::assert_snapshot!(sentences);
    assert!(!folder.path().join("out.jsonl").exists(), "nothing is written for wrong input");
    assert!(std::fs::read_to_string(path("list.txt")).unwrap().starts_with("# sizes"), "nothing is replaced");
}

#[test]
fn sweeps_of_several_kernels_make_one_model_or_a_model_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let sweeps = ["datasets/softmax/cpu-epyc-2c.sqt", "datasets/norm/cpu-epyc-2c.sqt"];
    let quick = ["--epochs", "1", "--members", "1", "--pseudo-labels", "0", "--width", "16", "--layers", "1"];
    for (output, options) in [(path("one"), &["--together"][..]), (path("each"), &[])] {
        let (_, err, code) = run(&[&["train", "-o", &output][..], &sweeps, &quick, options].concat());
        assert_eq!(code, 0, "{err}");
        assert_eq!(folder.path().join("each/softmax/model.safetensors").exists(), output == path("each"));
        for (kernel, problem) in [("softmax", "rows=100,columns=1000"), ("norm", "rows=100,columns=1000")] {
            let (out, err, code) = run(&["predict", &output, kernel, problem, "--json"]);
            assert_eq!(code, 0, "{err}");
            let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert!(answer["predictions"][0]["predicted_us"].as_f64().unwrap() > 0.0, "{answer}");
        }
        let (out, err, code) = run(&["evaluate", "model", &output, sweeps[1]]);
        assert!(code == 0 && out.contains("its trees"), "{out}{err}");
    }
    let tuned = path("tuned.sqt");
    let (_, err, code) = run(&["import", "miopen", "tests/goldens/inputs/gfx906_60.tuned.db.txt", "-o", &tuned]);
    assert_eq!(code, 0, "{err}");
    let (_, err, code) = run(&["train", sweeps[0], &tuned, "-o", &path("mixed")]);
    assert!(code == 2 && err.contains("are learned apart"), "{err}");
}

#[test]
fn the_whole_way_from_a_sweep_to_validated_predictions_works_on_a_real_device() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (journal, packed, model, plot) = (path("d.jsonl"), path("d.sqt"), path("model"), path("plot.svg"));
    let sizes: Vec<String> =
        [8, 16, 24, 32, 48, 64, 96, 128].iter().map(|n| format!("M={n},N={},K={}", n + 8, n * 2)).collect();
    let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
    let tail = ["--sample", "12", "--pool", "14", "--private-share", "0", "-o", &journal, "--pack", &packed];
    let (_, err, code) = run(&[&["sweep", "gemm", "--problems"][..], &sizes, &tail, &PATIENT].concat());
    assert_eq!(code, 0, "{err}");
    let (_, err, code) =
        run(&["train", &packed, "-o", &model, "--epochs", "4", "--test", "0.5", "--validation", "0.1"]);
    assert_eq!(code, 0, "{err}");
    let (_, err, code) = run(&["train", &packed, "-o", &model]);
    assert_eq!(code, 2, "a model is not overwritten unasked: {err}");

    let (out, err, code) = run(&["predict", &model, "gemm", "M=40,N=40,K=40", "--top", "3", "--json"]);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["predictions"].as_array().unwrap().len(), 3);
    assert!(answer["predictions"][0]["predicted_us"].as_f64().unwrap() > 0.0);
    let (_, err, code) = run(&["predict", &model, "conv2d", "N=1,C=1,H=8,W=8,K=1,R=1,S=1"]);
    assert_eq!((err.as_str(), code), ("seqtune: the model was made for gemm, not kernel conv2d\n", 2));
    let (_, err, code) = run(&["predict", &model, "gemm", "M=40,N=40,K=40", "--device", "MI300X"]);
    assert_eq!(code, 0);
    assert!(err.contains("the model never saw MI300X"), "{err}");

    let mut child = seqtune(&["predict", &model, "gemm", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let many: String = (1..=300).map(|m| format!("M={m},N=64,K=64\n")).collect();
    child.stdin.take().unwrap().write_all(many.as_bytes()).unwrap();
    let (out, err, code) = text(child.wait_with_output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.lines().count(), 600, "a problem and a config each");

    let (out, err, code) = run(&["evaluate", "model", &model, &packed]);
    assert_eq!(code, 0, "{err}");
    for method in ["seqtune", "kernel default", "best on average", "nearest neighbour", "its trees", "random"] {
        assert!(out.contains(method), "{method} in {out}");
    }
    let (out, err, code) =
        run(&["validate", &model, "gemm", "M=40,N=40,K=40", "--top", "2", "--random", "2", "--plot", &plot, "--json"]);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(answer["predictions"][0]["measured_us"].as_f64().unwrap() > 0.0, "{answer}");
    assert!(answer["default_us"].as_f64().unwrap() > 0.0 && answer["search_us"].as_f64().unwrap() > 0.0, "{answer}");
    assert!(std::fs::read_to_string(&plot).unwrap().contains("<svg"));
}
