//! What an answer states: the same probability whatever found a config, what was shown of the model, and marks on what is less sure than that.

use crate::common::run;
use seqtune_data::{Dataset, KernelTable, MeasuredProblem, NamedDataset, Table};
use seqtune_eval::measures::shown::record;
use seqtune_kernel::{Config, Kernel, Objective};
use seqtune_predict::confidence::KnownCost;
use seqtune_predict::model::Part;
use seqtune_predict::{Candidate, MeasuredConfig, Model, Predictor, Quality, Query};
use serde_json::Value;
use std::path::Path;

/// By how much a stated probability may differ between any two ways to ask for it: another batch rounds otherwise.
const ERROR: f64 = 1e-4;

fn model(folder: &str, kernel: &str, quality: Quality) -> (Kernel, Model) {
    let model = Model::load_as(&Path::new("models").join(folder), kernel, quality).unwrap();
    (Kernel::open(kernel).unwrap(), model)
}

fn table(kernel: &Kernel, files: &[&str]) -> Table {
    let load = |file: &str| Dataset::load(&Path::new("datasets").join(file)).unwrap();
    let read = |file: &&str| NamedDataset::new(*file, load(file));
    Table::new(kernel, &files.iter().map(read).collect::<Vec<_>>()).unwrap()
}

/// The probability that is stated of a config; `None` where it is not in an answer.
fn stated(answer: &[Candidate], config: &Config) -> Option<f64> {
    answer.iter().find(|c| c.config == *config).and_then(|c| c.probability)
}

#[test]
fn the_stated_probability_of_a_config_is_the_same_by_every_beam_among_given_configs_and_on_devices_never_seen() {
    let asked = [
        ("gemm-cpu", "gemm", Quality::Best, "M=300,N=200,K=100"),
        ("gemm-cpu", "gemm", Quality::Fast, "M=300,N=200,K=100"),
        ("softmax-cpu", "softmax", Quality::Auto, "rows=100,columns=1000"),
        ("histogram-cpu", "histogram", Quality::Auto, "n=100000,batch=1,bins=256,narrow=0"),
    ];
    for (folder, name, quality, problem) in asked {
        let (kernel, model) = model(folder, name, quality);
        let predictor = Predictor::new(&kernel, &model).unwrap();
        let problem = kernel.problem(problem).unwrap();
        let elsewhere = seqtune_predict::Device::find_described("A100").unwrap();
        for device in [&model.meta.devices[0], &elsewhere] {
            let by = |width: usize| {
                let width = predictor.stated_width(width);
                let query = Query { top: width, width, ..Query::new(device) };
                predictor.predict_one(&problem, &query).unwrap().candidates
            };
            let usual = by(20);
            for width in [8, 40, 512] {
                let wide = by(width);
                let shared: Vec<(f64, f64)> =
                    usual.iter().filter_map(|c| Some((c.probability?, stated(&wide, &c.config)?))).collect();
                assert!(shared.len() > 10, "{folder}: a wider beam finds what a narrower does");
                let off = shared.iter().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < ERROR, "{folder} on {}: {off} between widths 20 and {width}", device.name);
                let total: f64 = wide.iter().filter_map(|c| c.probability).sum();
                assert!(total < 1.0 + ERROR, "{folder}: {total} of {} configs", wide.len());
                // as a tuner's door asks: of some configs in any order
                let some: Vec<Config> = wide.iter().rev().step_by(3).map(|c| c.config.clone()).collect();
                let query = Query { top: some.len(), ..Query::new(device) };
                let among = predictor.predict_among(&problem, &query, &some).unwrap().candidates;
                let off = |c: &Candidate| (c.probability.unwrap() - stated(&wide, &c.config).unwrap()).abs();
                assert!(among.iter().all(|c| off(c) < ERROR), "{folder}: among {} configs", some.len());
            }
        }
    }
}

#[test]
fn a_beam_too_narrow_to_share_likelihood_out_states_no_probability_and_the_program_asks_a_wider_one() {
    let (kernel, model) = model("gemm-cpu", "gemm", Quality::Fast);
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let problem = kernel.problem("M=300,N=200,K=100").unwrap();
    let query = Query { width: 5, ..Query::new(&model.meta.devices[0]) };
    let quick = predictor.predict_one(&problem, &query).unwrap();
    assert!(quick.candidates[0].probability.is_none() && quick.unsure);
    let words = ["predict", "models/gemm-cpu", "gemm", "M=300,N=200,K=100", "--device", &model.meta.devices[0].name];
    let first = |more: &[&str]| {
        let (out, err, code) = run(&[&words[..], &["--json"], more].concat());
        assert_eq!(code, 0, "{err}");
        let answer: Value = serde_json::from_str(&out).unwrap();
        answer["predictions"][0]["probability"].as_f64().unwrap()
    };
    assert_eq!(first(&["--width", "5"]), first(&[]));
}

/// A shipped model with the files that it learned from.
const LEARNED: [(&str, &str, &[&str]); 2] =
    [("softmax-cpu", "softmax", &["softmax/cpu-epyc-2c.sqt"]), ("nbody-cpu", "nbody", &["nbody/cpu-epyc-2c.sqt"])];

#[test]
fn what_a_shipped_model_says_was_shown_is_what_its_data_show_and_a_tenth_of_these_is_marked() {
    for (folder, name, files) in LEARNED {
        let (kernel, mut model) = model(folder, name, Quality::Best);
        let table = table(&kernel, files);
        let stored = model.meta.held_out.clone();
        let again = record(&mut model, &[KernelTable::new(kernel.clone(), table.clone())], 2).unwrap();
        assert_eq!(again.len(), stored.len(), "{folder}: scripts/figures/shown.sh records it");
        for (a, b) in again.iter().zip(&stored) {
            assert_eq!((a.problems, a.held_out, &a.data), (b.problems, b.held_out, &b.data), "{folder}");
            assert!((a.least - b.least).abs() < ERROR, "{folder}: {a:?} is stored as {b:?}");
        }
        let predictor = Predictor::new(&kernel, &model).unwrap();
        let held_out = table.part(&kernel, &model.meta.split, Part::Test, Objective::Time);
        let is_marked = |tried: &MeasuredProblem| {
            let query = Query::new(&table.devices[tried.device]);
            predictor.beyond(&tried.problem).is_empty() && predictor.predict_one(&tried.problem, &query).unwrap().unsure
        };
        let marked = held_out.iter().filter(|i| is_marked(&table.problems[**i])).count();
        let share = marked as f64 / held_out.len() as f64;
        let step = 1.0 / held_out.len() as f64;
        assert!(share > 0.0 && share <= 0.1 + step, "{folder}: {marked} of {} are marked", held_out.len());
    }
}

#[test]
fn the_program_says_once_what_was_shown_and_marks_sizes_beyond_those_learned() {
    let (_, model) = model("softmax-cpu", "softmax", Quality::Best);
    let device = &model.meta.devices[0].name;
    let words = ["predict", "models/softmax-cpu", "softmax", "--device", device];
    let problems = ["rows=100,columns=1000", "rows=128,columns=2000"];
    let (out, err, code) = run(&[&words[..], &problems].concat());
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("problems held out for testing").count(), 1, "{err}");
    assert!(err.contains("at the 10th percentile"), "{err}");
    assert!(out.lines().any(|line| line.starts_with("rows=") && !line.contains("unsure")), "{out}");
    let (out, _, _) = run(&[&words[..], &["rows=100,columns=1000000", "--json"]].concat());
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&answer["beyond"], answer["unsure"].as_bool()), (&serde_json::json!(["columns"]), Some(true)));
    assert_eq!(answer["shown"]["of"], "best");
    assert!(answer["shown"]["problems"].as_u64().unwrap() >= 5, "{out}");
}

#[test]
fn a_model_of_one_kernel_is_asked_without_its_name() {
    let ask = |words: &[&str]| run(&[&["predict"], words, &["--device", "epyc"]].concat());
    let (out, err, code) = ask(&["models/gemm-cpu", "M=300,N=200,K=100"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, ask(&["models/gemm-cpu", "gemm", "M=300,N=200,K=100"]).0);
    for (words, told) in [
        (["models/gemm-cpu", "gemm"], "no problem of gemm is given"),
        (["models/gemm-cpu", "sizes.txt"], "sizes.txt is no file"),
        (["models/library-h200", "n=1000"], "serves several kernels; name one of them: attention, "),
    ] {
        let (out, err, code) = ask(&words);
        assert!(code == 2 && out.is_empty() && err.contains(told) && err.lines().count() == 1, "{code} {out}{err}");
    }
}

#[test]
fn the_best_measured_config_is_among_the_rows_whatever_is_guessed_to_beat_it() {
    let (kernel, model) = model("softmax-cpu", "softmax", Quality::Best);
    let table = table(&kernel, LEARNED[0].2);
    let predictor = Predictor::new(&kernel, &model).unwrap();
    let mut beyond_what_was_asked_for = 0;
    for tried in table.problems.iter().take(3) {
        // the slower half was measured
        let costs = tried.costs(Objective::Time);
        let slower = &costs[costs.len() / 2..];
        let known = |known: &KnownCost| MeasuredConfig {
            config: known.config.clone(),
            time_us: Some(known.cost),
            joules: None,
        };
        let known: Vec<MeasuredConfig> = slower.iter().map(known).collect();
        let query = Query::new(&table.devices[tried.device]);
        let found = predictor.predict_measured(&tried.problem, &query, &known).unwrap().candidates;
        let best = found.iter().find(|c| c.config == *slower[0].config).expect("the best measured one");
        assert!(best.measured && (best.time_us.unwrap() / slower[0].cost - 1.0).abs() < 1e-9);
        assert!(found.len() <= 2 && found.iter().filter(|c| c.measured).count() == 1);
        beyond_what_was_asked_for += found.len() - 1;
    }
    assert!(beyond_what_was_asked_for > 0);
}

#[test]
fn a_cover_is_refused_wherever_a_sample_of_the_space_was_learned_from() {
    for (folder, name, problem) in [
        ("gemm-cpu", "gemm", "M=300,N=200,K=100"),
        ("softmax-cpu", "softmax", "rows=100,columns=1000"),
        ("gemm_wg-h200", "gemm_wg", "M=512,N=512,K=512"),
    ] {
        let (_, model) = model(folder, name, Quality::Best);
        let (folder, device) = (format!("models/{folder}"), &model.meta.devices[0].name);
        let (_, err, code) = run(&["predict", &folder, name, problem, "--cover", "80", "--device", device]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("a sample of its space") && err.contains("--top"), "{err}");
    }
}

#[test]
fn an_answer_names_the_digest_of_its_model_and_another_model_is_refused() {
    let ask = |model: &str, digest: &str| {
        run(&[
            "predict",
            model,
            "M=64,N=64,K=64",
            "--device",
            "epyc",
            "--quality",
            "fast",
            "--json",
            "--expect",
            digest,
        ])
    };
    let (_, err, code) = ask("models/gemm-cpu", "0123456789abcdef");
    assert!(code == 2 && err.lines().count() == 1 && err.contains("--expect: the model's digest is "), "{code} {err}");
    let digest = err.split("digest is ").nth(1).unwrap()[..16].to_string();
    let (out, err, code) = ask("models/gemm-cpu", &digest);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["model"], *digest);
    assert_eq!(answer["seqtune"], env!("CARGO_PKG_VERSION"));
    // the other form of it has other weights, and answers otherwise
    let other = run(&[
        "predict",
        "models/gemm-cpu",
        "M=64,N=64,K=64",
        "--device",
        "epyc",
        "--quality",
        "best",
        "--expect",
        &digest,
    ]);
    assert_eq!(other.2, 2, "{}", other.1);
}
