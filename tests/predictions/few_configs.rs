//! `select` and `export breakpoints`: what the commands say, write and refuse. How sets, intervals and modules are made is held in
//! `src/choose`.

use crate::common::{root, run};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::Dataset;
use seqtune_kernel::{ConfigSpace, Device, Kernel};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The toy kernel and its model.
fn toy() -> (String, String) {
    let toy = root().join("src/predict/toy").display().to_string();
    let model = format!("{toy}/model");
    (toy, model)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// What a module in Python chooses.
fn chosen_in_python(folder: &Path, m: u64) -> Value {
    let ask = format!("import json, choices; print(json.dumps(choices.choose({{'M': {m}}})))");
    let output = Command::new("python3").args(["-c", &ask]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_selection_names_its_configs_and_loses_less_the_more_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let (toy, model) = toy();
    let list = folder.path().join("sizes.txt");
    std::fs::write(&list, "# a mix\nM=64 3\nM=100\nM=4000 0.5 # seldom\nM=100\nM=1000\nM=3000\n").unwrap();
    let list = list.display().to_string();
    let select = |more: &[&str]| run(&[&["select", &model, "--kernel", &toy, "--problems", &list], more].concat());
    let loss = |count: &str| {
        let (out, err, code) = select(&["--configs", count, "--json"]);
        assert_eq!((code, err.as_str()), (0, ""));
        let answer: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(answer["problems"], 5, "the one that stands twice counts twice");
        let configs = answer["configs"].as_array().unwrap();
        let shares: f64 = configs.iter().map(|config| config["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{answer}");
        assert!(answer["model"].as_str().unwrap().len() == 16 && answer["version"] == env!("CARGO_PKG_VERSION"));
        answer["loss"]["mean"].as_f64().unwrap()
    };
    let losses = ["1", "2", "5"].map(loss);
    assert!(losses[0] > losses[1] && losses[1] >= losses[2] && losses[2] < 1e-9, "{losses:?}");
    let within = format!("{:.6}%", 100.0 * losses[1] + 1e-3);
    let (out, _, code) = select(&["--within", &within]);
    assert!(code == 0 && out.contains("\n2 configs of ") && out.contains("no other 2 configs lose less"), "{out}");
}

#[test]
fn measured_times_of_the_very_problems_take_the_place_of_predicted_losses() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::load(Path::new("datasets/softmax/cpu-epyc-2c.sqt")).unwrap();
    let problem = dataset.records[0].problem.to_string();
    let list = folder.path().join("one").display().to_string();
    std::fs::write(&list, &problem).unwrap();
    let words = ["select", "models/softmax-cpu", "--problems", &list, "--configs", "1", "--device", "epyc"];
    let (out, err, code) = run(&[&words[..], &["--measured", "datasets/softmax/cpu-epyc-2c.sqt"]].concat());
    assert!(code == 0 && out.contains(", 1 problem, by measured times\n"), "{out}{err}");
    let (_, err, code) = run(&[&words[..], &["--measured", "datasets/gemv/cpu-epyc-2c.sqt"]].concat());
    assert!(code == 2, "{err}");
}

#[test]
fn choices_of_a_selection_are_written_in_each_form_with_the_digest_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let (toy, model) = toy();
    let digest = run(&["check", &model]).0;
    let select = |output: &str, more: &[&str]| {
        let output = folder.path().join(output).display().to_string();
        let words =
            ["select", &model, "--kernel", &toy, "--configs", "2", "--samples", "30", "-o", &output, "--problems"];
        run(&[&words[..], &["M=64", "M=4000"], more].concat())
    };
    for (name, sign) in [("choices.hpp", "// "), ("choices.rs", "// "), ("choices.py", "# "), ("choices.csv", "# ")] {
        let (_, err, code) = select(name, &[]);
        assert!(
            code == 0 && err.trim_end().ends_with(&format!("wrote {}", folder.path().join(name).display())),
            "{err}"
        );
        let text = read(folder.path(), name);
        assert!(
            text.starts_with(&format!("{sign}Made by seqtune {}: kernel toy, ", env!("CARGO_PKG_VERSION"))),
            "{text}"
        );
        let model = text.lines().take(2).find_map(|line| line.split_once("odel ")).unwrap().1[..16].to_string();
        assert!(digest.contains(&model), "{name}: {model}, {digest}");
        let (_, err, code) = select(name, &[]);
        assert!(code == 2 && err.contains("exists; name another file, or pass --overwrite"), "{err}");
        let (_, err, code) = select(name, &["--overwrite"]);
        assert_eq!(code, 0, "{err}");
    }
    let (_, err, code) = select("choices.json", &[]);
    assert_eq!(code, 0, "{err}");
    let table: Value = serde_json::from_str(&read(folder.path(), "choices.json")).unwrap();
    let first = &table["choices"][0];
    assert_eq!(first["problem"]["M"], 64);
    assert_eq!(chosen_in_python(folder.path(), 64), first["config"]);
    let rows: Vec<String> = read(folder.path(), "choices.csv").lines().skip(1).map(String::from).collect();
    assert_eq!(rows[0], "M,tile,width,loss_percent");
    assert!(rows.len() == 3 && rows[1].starts_with("64,"), "{rows:?}");
}

#[test]
fn breakpoints_are_a_table_in_the_terminal_and_in_files_and_code_agrees_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let (toy, model) = toy();
    let export = |more: &[&str]| {
        let words =
            ["export", "breakpoints", &model, "M=64", "--kernel", &toy, "--over", "M=64..4096", "--within", "3%"];
        run(&[&words[..], more].concat())
    };
    let (out, err, code) = export(&[]);
    assert!(code == 0 && out.starts_with("| M | predicted loss at most, % | config |\n"), "{out}{err}");
    assert!(err.contains(" of M from 64 to 4096 in 1 line; the first choice changes "), "{err}");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["buckets.json", "buckets.csv", "choices.py", "choices.hpp"] {
        let (_, err, code) = export(&["-o", &path(name)]);
        assert!(code == 0 && err.contains("wrote "), "{err}");
    }
    let table: Value = serde_json::from_str(&read(folder.path(), "buckets.json")).unwrap();
    let rows = table["choices"].as_array().unwrap();
    assert_eq!(rows.len(), out.lines().count() - 2);
    assert_eq!((&rows[0]["problem"]["M"][0], &rows[rows.len() - 1]["problem"]["M"][1]), (&64.into(), &4096.into()));
    for row in rows {
        let end = row["problem"]["M"][1].as_u64().unwrap();
        assert!(row["loss"].as_f64().unwrap() <= 0.03);
        assert_eq!(chosen_in_python(folder.path(), end), row["config"], "M={end}");
    }
    assert!(read(folder.path(), "buckets.csv").lines().nth(1).unwrap().starts_with("M_first,M_last,tile,width,loss_"));
    assert_eq!(read(folder.path(), "choices.hpp").matches("    if (quantities[0] <= ").count(), rows.len() - 1);
}

#[test]
fn a_table_has_the_fewest_rows_and_loses_less_than_the_bound_wherever_its_reader_looks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let line = "No tuned GEMM configuration found for this device and shape (N=640,K=96,device_name=NVIDIA_H200.json). Falling back";
    std::fs::write(path("log"), line).unwrap();
    let table = |engine: &str, within: &str| {
        let (from, to) = (path("log"), path(&format!("{engine}{within}")));
        let words = ["export", "table", "models/gemm-h200", "--for", engine, "--from", &from, "-o", &to];
        let (out, err, code) = run(&[&words[..], &["--within", within, "--tokens", "48"]].concat());
        assert_eq!(code, 0, "{out}{err}");
        let text = read(folder.path(), &format!("{engine}{within}/N=640,K=96,device_name=NVIDIA_H200.json"));
        let told: Value =
            serde_json::from_str(&read(folder.path(), &format!("{engine}{within}/seqtune.json"))).unwrap();
        let rows: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(told["rows"][0].as_array().unwrap().len(), rows.len(), "{told}");
        assert!(rows.keys().all(|row| (1..=48).contains(&row.parse::<u64>().unwrap())), "{text}");
        (out, rows.len())
    };
    let ((wide, few), (_, many)) = (table("huggingface", "40%"), table("huggingface", "1%"));
    assert!(few < many, "{few} {many}");
    assert!(wide.ends_with("copy the tables into torch-ext/PACKAGE/configs\n"), "{wide}");
    assert!(table("vllm", "40%").0.contains("VLLM_TUNED_CONFIG_FOLDER="));
    // evidence that a pair of configs was measured with: one row of three has it
    let kernel = Kernel::open("gemm").unwrap();
    let default = kernel.show_config(&kernel.default_config());
    let problem = kernel.problem("M=16,N=640,K=96").unwrap();
    let space = ConfigSpace::new(&kernel, &problem, &Device::find_described("H200").unwrap());
    let other = space.counter().sample(&mut ChaCha8Rng::seed_from_u64(1)).unwrap().unwrap();
    let (problem, other) = (kernel.show_problem(&problem), kernel.show_config(&other));
    assert_ne!(other, default);
    let evidence = serde_json::json!({
        "certified_by": "seqtune 0", "kernel": "gemm", "device": "H200", "model": "0", "date": "2026-11-30",
        "rows": [{ "problem": problem, "config": other, "certified": true, "predicted": other, "default": default, "n": 8,
            "difference": -0.1, "interval": [-0.2, -0.05] }],
    });
    std::fs::write(path("evidence"), evidence.to_string()).unwrap();
    let (from, to, evidence) = (path("log"), path("certified"), path("evidence"));
    let words =
        ["export", "table", "models/gemm-h200", "--for", "vllm", "--from", &from, "-o", &to, "--rows", "1,16,64"];
    let (out, err, code) = run(&[&words[..], &["--certified", &evidence]].concat());
    assert!(code == 0 && out.contains("1 row certified on H200 on 2026-11-30, others the default"), "{out}{err}");
    let told: Value = serde_json::from_str(&read(folder.path(), "certified/seqtune.json")).unwrap();
    assert_eq!(told["certified"]["rows"][0]["interval"][1], -0.05);
    let rows: Value =
        serde_json::from_str(&read(folder.path(), "certified/N=640,K=96,device_name=NVIDIA_H200.json")).unwrap();
    assert!(rows["1"] == rows["64"] && rows["1"] != rows["16"], "{rows}");
    // a target with options of its own
    let (toy, model) = toy();
    let (header, sizes) = (path("table.h"), path("sizes"));
    std::fs::write(&sizes, "M=100\nM=200\n").unwrap();
    let words = ["export", "table", &model, "--for", "header", "--from", &sizes, "--kernel", &toy, "--samples", "30"];
    let (out, err, code) = run(&[&words[..], &["-o", &header]].concat());
    assert!(code == 0 && out.contains("2 fixed problems in a table"), "{out}{err}");
}

#[test]
fn what_cannot_be_selected_or_cut_gets_one_sentence_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (toy, model) = toy();
    let output = folder.path().join("x.hpp").display().to_string();
    let select = ["select", &model, "--kernel", &toy, "-o", &output];
    let cut = ["export", "breakpoints", &model, "--kernel", &toy, "-o", &output, "M=64"];
    let solver = ["--kernel", "ConvAsmBwdWrW3x3", "--device", "MI50"];
    let faults: Vec<(Vec<&str>, &str)> = vec![
        (
            [&select[..], &["--configs", "2", "--problems", "M=64 -3"]].concat(),
            "the weight behind a problem is a positive number, not -3",
        ),
        (
            [&select[..], &["--configs", "2", "--problems", "M=64 NaN"]].concat(),
            "the weight behind a problem is a positive number",
        ),
        ([&select[..], &["--configs", "2", "--problems", "N=64"]].concat(), "N"),
        ([&select[..], &["--configs", "0", "--problems", "M=64"]].concat(), "0 is not in 1..=256"),
        ([&select[..], &["--within", "3", "--problems", "M=64"]].concat(), "write it in percent"),
        ([&select[..], &["--within", "3%", "--configs", "2", "--problems", "M=64"]].concat(), "--within"),
        ([&select[..], &["--configs", "2"]].concat(), "--problems"),
        ([&select[..], &["--configs", "2", "--problems", "nothing.txt"]].concat(), "no such file"),
        (
            vec!["select", &model, "--kernel", &toy, "--configs", "2", "--problems", "M=64", "-o", "x.txt"],
            "the end of the name says the form",
        ),
        ([&cut[..], &["--over", "Q=1..9"]].concat(), "`Q` is no size of kernel"),
        ([&cut[..], &["--over", "M=9..1"]].concat(), "the first is at most the second"),
        ([&cut[..], &["--over", "M"]].concat(), "write it as M=16..4096"),
        ([&cut[..], &["--over", "M=1..9", "--within", "100%"]].concat(), "below 100%"),
        (cut.to_vec(), "--over"),
    ];
    for (words, fault) in &faults {
        let (out, err, code) = run(words);
        assert!(code == 2 && err.contains(fault) && out.is_empty(), "{words:?}: {out}{err}");
    }
    let list = folder.path().join("layers.txt");
    let goldens = std::fs::read_to_string(root().join("tests/goldens/predict/ConvAsmBwdWrW3x3.txt")).unwrap();
    let layer =
        goldens.lines().find_map(|line| line.split_whitespace().next().filter(|word| word.contains('='))).unwrap();
    std::fs::write(&list, layer).unwrap();
    let list = list.display().to_string();
    let (_, err, code) =
        run(&[&["select", "models/miopen", "--configs", "2", "--problems", &list][..], &solver].concat());
    assert!(code == 2 && err.contains("the model learned tuned configs alone"), "{err}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the list alone");
}
