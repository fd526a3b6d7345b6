//! Tables of engines: imported, learned, and exported for the shapes that a log misses.

use crate::common::run;
use seqtune_data::Dataset;
use std::path::Path;

const DEVICE: &str = "NVIDIA_H100_80GB_HBM3";
const TOKENS: [u64; 5] = [1, 16, 64, 256, 1024];

/// A table whose tile grows with the tokens of an expert.
fn table(experts: u64) -> String {
    let row = |tokens: &u64| {
        let tile = (tokens * 8 / experts).next_power_of_two().clamp(16, 128);
        format!(
            r#""{tokens}": {{"BLOCK_SIZE_M": {tile}, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1, "num_warps": 4, "num_stages": 3}}"#
        )
    };
    format!("{{{}}}", TOKENS.iter().map(row).collect::<Vec<_>>().join(", "))
}

/// A model of tables that were made up, in a folder.
fn model(folder: &Path) -> String {
    let mut files = Vec::new();
    for experts in [4, 8, 16, 32, 64, 128] {
        for columns in [256, 512, 768, 1024, 1536, 2048, 3072, 4096] {
            let path = folder.join(format!("E={experts},N={columns},device_name={DEVICE}.json"));
            std::fs::write(&path, table(experts)).unwrap();
            files.push(path.display().to_string());
        }
    }
    let (data, model) = (folder.join("data").display().to_string(), folder.join("model").display().to_string());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (out, err, code) = run(&[&["import", "tables", "-o", &data][..], &files].concat());
    assert!(code == 0 && out.contains("H100.sqt: 240 records of fused_moe on H100"), "{out}{err}");
    let data = format!("{data}/H100.sqt");
    let small = ["--epochs", "2", "--members", "1", "--width", "32", "--pseudo-labels", "1", "-o", &model];
    let (out, err, code) = run(&[&["train", &data][..], &small].concat());
    assert_eq!(code, 0, "{out}{err}");
    model
}

/// Shapes of a list and of comma-separated values, on a GPU that is named, give the table that a log gave.
fn assert_lists_give_the_same(folder: &Path, model: &str, wanted: &str, text: &str) {
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("list"), "# mine\nE=24,N=640\n").unwrap();
    std::fs::write(path("csv"), "E,N,dtype\n24,640,auto\n").unwrap();
    for source in ["list", "csv"] {
        let (from, to) = (path(source), path(&format!("of-{source}")));
        let words = ["export", "table", model, "--for", "vllm", "--from", &from, "--rows", "1,256", "-o", &to];
        let (out, err, code) = run(&[&words[..], &["--device-name", DEVICE]].concat());
        assert_eq!(code, 0, "{out}{err}");
        assert_eq!(std::fs::read_to_string(folder.join(format!("of-{source}/{wanted}.json"))).unwrap(), text);
    }
}

/// Tables of another device are left out and counted; what is wrong gets one sentence, and nothing is written.
fn assert_refused(folder: &Path, model: &str) {
    let path = |name: &str| folder.join(name).display().to_string();
    let export = |source: &str, to: &str, more: &[&str]| {
        let (from, to) = (path(source), path(to));
        let words = ["export", "table", model, "--for", "sglang", "--rows", "1", "--from", &from, "-o", &to];
        run(&[&words[..], more].concat())
    };
    let (out, err, code) = export("two", "of-one", &["--device-name", DEVICE]);
    let others = "left out, 1 table: of another device, first E=8,N=64,device_name=NVIDIA_H200.json";
    assert!(code == 0 && out.contains(others) && err.contains("--triton makes that one"), "{out}{err}");
    for (source, more, said) in [
        ("two", &[][..], "the sources name tables of NVIDIA_H100_80GB_HBM3 and NVIDIA_H200; choose one"),
        ("log", &["--strict"], "has no field `K`"),
        ("list", &[], "no source names the GPU"),
        ("list", &["--device-name", "ACME 9"], "or name another device with --device"),
        ("list", &["--device-name", "../a"], "is part of a file's name"),
        ("log", &["--triton", "../3"], "write a version such as 3.5.1"),
        ("model/model.safetensors", &[], "is not text"),
    ] {
        let (out, err, code) = export(source, "nothing", more);
        assert!(code == 2 && err.contains(said) && err.lines().count() == 1, "{source}: {code} {out}{err}");
        assert!(!Path::new(&path("nothing")).exists(), "{source}");
    }
}

#[test]
fn a_log_of_missing_tables_becomes_the_tables_that_an_engine_looks_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let model = model(folder.path());
    let missing = |name: &str| {
        format!("WARNING 09-24 20:53:34 [x.py:7] Config file not found at ['/srv/a b/configs/{name}.json']\n")
    };
    let wanted = format!("E=24,N=640,device_name={DEVICE}");
    let blocks = format!("E=48,N=640,device_name={DEVICE},dtype=fp8_w8a8,block_shape=[128, 128]");
    let log = "INFO starting\n".to_string()
        + &missing(&wanted).repeat(3)
        + &missing(&blocks)
        + &missing(&format!("E=8,N=64,K=8,device_name={DEVICE}"));
    std::fs::write(path("log"), &log).unwrap();
    let export = |more: &[&str]| run(&[&["export", "table", &model][..], more].concat());
    let (log_path, tables) = (path("log"), path("tables"));
    let (out, err, code) = export(&["--for", "vllm", "--from", &log_path, "--rows", "1,256", "-o", &tables]);
    assert!(code == 0 && out.contains("2 tables with 4 rows for NVIDIA_H100_80GB_HBM3"), "{out}{err}");
    assert!(out.contains("has no field `K`") && out.contains(&format!("VLLM_TUNED_CONFIG_FOLDER={tables}")), "{out}");
    let text = std::fs::read_to_string(folder.path().join(format!("tables/{wanted}.json"))).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names: Vec<&String> = rows.as_object().unwrap().keys().collect();
    assert_eq!(names, ["1", "256"]);
    assert!(rows["256"]["BLOCK_SIZE_M"].as_u64().is_some_and(|tile| tile >= 16) && rows["1"].get("kpack").is_none());
    assert!(folder.path().join(format!("tables/{}.json", blocks.replace(", 128", ",128"))).is_file());
    let about = std::fs::read_to_string(folder.path().join("tables/seqtune.json")).unwrap();
    assert!(about.contains("learned on H100 only") && about.contains("\"model\":"), "{about}");
    // the form of the other engine, in its folder
    let words = ["--for", "sglang", "--triton", "3.5.1", "--rows", "1", "--from", &log_path, "-o"];
    let (out, err, code) = export(&[&words[..], &[&path("sg")]].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(folder.path().join(format!("sg/configs/triton_3_5_1/{blocks}.json")).is_file(), "{out}");
    // what was exported is imported again
    let table = format!("{tables}/{wanted}.json");
    let (out, err, code) = run(&["import", "tables", &table, "-o", &path("again")]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(Dataset::load(&folder.path().join("again/H100.sqt")).unwrap().records.len(), 2);
    assert_lists_give_the_same(folder.path(), &model, &wanted, &text);
    std::fs::write(path("two"), log + &missing("E=8,N=64,device_name=NVIDIA_H200")).unwrap();
    assert_refused(folder.path(), &model);
    // a table that somebody tuned stays
    let (_, err, code) = export(&["--for", "vllm", "--from", &log_path, "-o", &tables]);
    assert!(code == 2 && err.contains("--overwrite"), "{err}");
}
