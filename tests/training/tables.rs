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

/// Compiled kernels of AITER by the rows of a product that they are for in the tables that follow, with their numbers.
const COMPILED: [(u64, u32, &str); 3] = [
    (64, 8, "16x64x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_4_1x1_intrawave_v1"),
    (512, 16, "64x64x128_16x16_32x32_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v1"),
    (u64::MAX, 0, "128x128x128_16x16_32x32_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"),
];

/// A tuned table of AITER for MI300X, and a row of another GPU.
fn tuned_gemms() -> String {
    let mut text = "cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n".to_string();
    let mut add = |units: u32, m: u64, n: u64, k: u64| {
        let (_, id, name) = COMPILED.iter().find(|(most, ..)| m <= *most).unwrap();
        let us = (m * n * k) as f64 / 1e8 + 5.0;
        text += &format!("{units},{m},{n},{k},{id},0,{us},a8w8_blockscale_1x128x128_256x{name},1,1,0.0\n");
    };
    for n in [512, 1536, 2112, 3072, 4096, 7168] {
        for k in [512, 1536, 2048, 7168] {
            [1, 16, 32, 64, 128, 256, 512, 1024, 4096].iter().for_each(|m| add(304, *m, n, k));
        }
    }
    add(80, 16, 512, 512);
    text
}

/// A model of made-up tables of AITER, in a folder, beside the table that it learned.
fn model_of_gemms(folder: &Path) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    let table = path(TUNED);
    std::fs::write(&table, tuned_gemms()).unwrap();
    let (data, model) = (path("data.sqt"), path("model"));
    let (out, err, code) = run(&["import", "aiter", &table, "--device", "MI300X", "-o", &data]);
    assert!(code == 0 && out.contains("216 records of gemm_a8w8_blockscale on MI300X"), "{out}{err}");
    assert!(out.contains("left out, 1 row: of GPUs with other compute units than the 304 of MI300X"), "{out}");
    let small = ["--epochs", "2", "--members", "1", "--width", "32", "--pseudo-labels", "1", "-o", &model];
    let (out, err, code) = run(&[&["train", &data][..], &small].concat());
    assert_eq!(code, 0, "{out}{err}");
    model
}

const TUNED: &str = "a8w8_blockscale_tuned_gemm.csv";

/// Adds rows to the table of a folder for a file of it.
fn add_rows(folder: &Path, model: &str, source: &str, to: &str, more: &[&str]) -> (String, String, i32) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (from, table, to) = (path(source), path(TUNED), path(to));
    let words = ["export", "table", model, "--for", "aiter", "--from", &from, "--extend", &table, "-o", &to];
    run(&[&words[..], more].concat())
}

#[test]
fn a_log_of_shapes_that_aiter_misses_becomes_rows_of_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let model = model_of_gemms(folder.path());
    let missing = |m: u64, file: &str| {
        format!(
            "[aiter] shape is M:{m}, N:2304, K:7168, not found tuned config in /srv/{file}, will use default config!\n"
        )
    };
    let other = missing(8, "a8w8_tuned_gemm.csv") + &missing(8, "x").replace("/srv/x", "CKGEMM or asmGEMM");
    let log = missing(1, TUNED).repeat(2) + &missing(2048, TUNED) + &other;
    std::fs::write(path("log"), log).unwrap();
    let (out, err, code) = add_rows(folder.path(), &model, "log", "new.csv", &[]);
    assert!(code == 0 && out.contains("new.csv: 2 rows added for MI300X, not measured"), "{out}{err}");
    assert!(out.contains("learned on MI300X only"), "{out}");
    assert!(out.contains("left out, 1 line: missed in a8w8_tuned_gemm.csv"), "{out}");
    assert!(out.contains("left out, 1 line: missed in CKGEMM or asmGEMM"), "{out}");
    assert!(out.contains("AITER_CONFIG_GEMM_A8W8_BLOCKSCALE="), "{out}");
    let text = std::fs::read_to_string(path("new.csv")).unwrap();
    let rows: Vec<&str> = text.strip_prefix(&tuned_gemms()).unwrap().lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("304,1,2304,7168,") && rows[1].starts_with("304,2048,2304,7168,"));
    let is_named = |row: &&str| {
        let cells: Vec<&str> = row.split(',').collect();
        COMPILED.iter().any(|(_, id, name)| cells[4] == id.to_string() && cells[7].ends_with(name))
    };
    assert!(rows.iter().all(is_named), "{rows:?}");
    let about = std::fs::read_to_string(path("new.csv.seqtune.json")).unwrap();
    assert!(about.contains("learned on MI300X only") && about.contains("\"model\":"), "{about}");
    assert_other_sources(folder.path(), &model);
}

/// An untuned table is a source too; what is wrong gets one sentence, and nothing is written.
fn assert_other_sources(folder: &Path, model: &str) {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("untuned.csv", "M,N,K\n1, 2304, 7168\n16, 512, 512\nx,1,1\n");
    let (out, err, code) = add_rows(folder, model, "untuned.csv", "of-list.csv", &[]);
    assert!(code == 0 && out.contains("1 row added") && out.contains("1 shape: the table has a row"), "{out}{err}");
    write("known", "M=16,N=512,K=512\n");
    write("empty", "INFO\n");
    for (source, more, said) in [
        ("known", &[][..], "no shape needs a row; left out, 1 shape"),
        ("empty", &[], "no line names a shape that a8w8_blockscale_tuned_gemm.csv lacks"),
        ("untuned.csv", &["--strict"], "--strict"),
        ("known", &["--device", "H200"], "exists for gfx942, gfx950, not for H200"),
        ("log", &["--table", "other.csv"], "missed in a8w8_blockscale_tuned_gemm.csv"),
    ] {
        let (out, err, code) = add_rows(folder, model, source, "nothing.csv", more);
        assert!(code == 2 && err.contains(said), "{source}: {code} {out}{err}");
        assert!(!folder.join("nothing.csv").exists(), "{source}");
    }
}
