//! Predictions with configs of the very problem measured.

use crate::common::run;
use seqtune_data::{Dataset, Outcome};
use seqtune_predict::Model;
use std::path::Path;

/// A problem that the model of gemm did not learn from, with all that was measured of it: on another processor than the model's first, as which it
/// is given out here.
fn held_out() -> (String, Dataset) {
    let mut dataset = Dataset::load(Path::new("datasets/gemm/cpu-skylake-2c.sqt")).unwrap();
    dataset.header.device = Model::load(Path::new("models/gemm-cpu")).unwrap().meta.devices[0].clone();
    let problem = dataset.records[0].problem.clone();
    dataset.records.retain(|record| record.problem == problem && matches!(record.outcome, Outcome::Measured(_)));
    (problem.to_string(), dataset)
}

/// The first few records that a test is for, as a journal.
fn journal(folder: &Path, all: &Dataset, is_told: &dyn Fn(&str) -> bool) -> (Dataset, String) {
    let mut few = all.clone();
    few.records.retain(|record| is_told(&record.config));
    few.records.truncate(3);
    let path = folder.join("few.jsonl");
    few.save_journal(&path).unwrap();
    (few, path.display().to_string())
}

fn answers(problem: &str, more: &[&str]) -> serde_json::Value {
    let args = [
        "predict",
        "models/gemm-cpu",
        "gemm",
        problem,
        "--device",
        "epyc",
        "--top",
        "300",
        "--quality",
        "best",
        "--json",
    ];
    let (out, err, code) = run(&[&args[..], more].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// Configs with their predicted times.
fn predictions(answer: &serde_json::Value) -> Vec<(&str, f64)> {
    let list = answer["predictions"].as_array().unwrap().iter();
    list.map(|p| (p["config"].as_str().unwrap(), p["predicted_us"].as_f64().unwrap())).collect()
}

#[test]
fn measured_configs_are_shown_as_measured_and_bring_the_others_nearer_to_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let (problem, all) = held_out();
    let plain = answers(&problem, &[]);
    let plain = predictions(&plain);
    // configs that the model would name, so that they are among the answers
    let (few, path) = journal(folder.path(), &all, &|config| plain.iter().any(|(named, _)| *named == config));
    assert_eq!(few.records.len(), 3);
    let informed = answers(&problem, &["--measured", &path]);
    let informed = predictions(&informed);
    for record in &few.records {
        let (_, said) = informed.iter().find(|(config, _)| *config == &*record.config).unwrap();
        let measured = record.outcome.time_us().unwrap();
        assert!((said / measured - 1.0).abs() < 1e-6, "{said} instead of {measured}");
    }
    // how far predictions of the others are off
    let off = |list: &[(&str, f64)]| {
        let others = all.records.iter().filter(|r| few.records.iter().all(|told| told.config != r.config));
        let errors: Vec<f64> = others
            .filter_map(|r| {
                let (_, said) = list.iter().find(|(config, _)| *config == &*r.config)?;
                Some((said / r.outcome.time_us()?).ln().abs())
            })
            .collect();
        errors.iter().sum::<f64>() / errors.len() as f64
    };
    println!("mean error of ln us: {:.3} before, {:.3} with three measured", off(&plain), off(&informed));
    assert!(off(&informed) < off(&plain), "{} and {}", off(&informed), off(&plain));
}

#[test]
fn data_without_the_problem_and_objectives_that_were_not_learned_are_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (problem, all) = held_out();
    let (_, few) = journal(folder.path(), &all, &|_| true);
    let ask = |problem: &str, more: &[&str]| {
        let (_, err, code) =
            run(&[&["predict", "models/gemm-cpu", "gemm", problem, "--device", "epyc", "--measured", &few], more]
                .concat());
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
        err
    };
    let of_another = ["--measured", "datasets/gemm/cpu-skylake-2c.sqt"];
    let args = ["predict", "models/gemm-cpu", "gemm", &problem, "--device", "epyc"];
    let (_, err, code) = run(&[&args[..], &of_another].concat());
    assert!(
        code == 2 && err.contains("--measured: the datasets were measured on pthread-skylake-avx512-Intel"),
        "{err}"
    );
    let err = ask("M=7,N=7,K=7", &[]);
    assert!(err.contains("the datasets hold no working config of these problems"), "{err}");
    let err = ask(&problem, &["--objective", "energy"]);
    assert!(err.contains("energy"), "{err}");
}

#[test]
fn measured_configs_correct_the_front_of_time_and_energy() {
    let (problem, metered) = ("M=256,N=256,K=256", "datasets/gemm/h200-energy.sqt");
    let args = ["predict", "models/gemm-h200", "gemm", problem, "--pareto", "--json", "--measured", metered];
    let (out, err, code) = run(&args);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    // the best measured config stands among the rows even where it is behind the front
    let rows = answer["predictions"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["measured"] == true), "{out}");
    let front: Vec<[f64; 2]> = rows.iter().filter(|row| row["measured"] != true).map(costs).collect();
    assert!(
        front.len() > 1 && front.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] > pair[1][1]),
        "{front:?}"
    );
    // what was measured is told as measured, and none of it beats the front
    for record in Dataset::load(metered.as_ref()).unwrap().records {
        let (Some(us), Some(joules)) = (record.outcome.time_us(), record.outcome.joules()) else { continue };
        if record.problem.starts_with("M=256,N=256,K=256,transA=N,transB=N") {
            let beats = |point: &[f64; 2]| us < 0.999 * point[0] && joules < 0.999 * point[1];
            assert!(!front.iter().any(beats), "{us} us and {joules} J");
        }
    }
}

fn costs(prediction: &serde_json::Value) -> [f64; 2] {
    ["predicted_us", "predicted_joules"].map(|name| prediction[name].as_f64().unwrap())
}
