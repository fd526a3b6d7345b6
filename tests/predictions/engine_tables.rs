//! `export table --for megatron`: what the command says, writes and refuses. The forms of the files are held in `seqtune_data`.

use crate::common::run;
use serde_json::{Value, json};
use std::path::Path;

const MODEL: &str = "models/triton_mm-h200";
const TYPES: &str = "torch.float16|torch.float16|torch.float16";

/// A tuning key of a product of two square matrices.
fn key(rows: u32, size: u32) -> String {
    let strides = format!("mat1_stride_0={size}|mat1_stride_1=1|mat2_stride_0={size}|mat2_stride_1=1");
    format!("m={rows}|k={size}|n={size}|{strides}|{TYPES}")
}

fn config(m: u32, n: u32, k: u32, stages: u32, warps: u32) -> Value {
    json!({ "kwargs": { "BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k }, "num_warps": warps, "num_stages": stages })
}

/// The recording of a rank: rows of the kernel, of another one, and of another architecture.
fn recording() -> Value {
    let old = config(32, 32, 32, 2, 4);
    json!({
        "sm90": {
            "mine.ops._triton_mm": { key(16, 2048): old, key(4096, 2048): old, "m=64|speed=3": old },
            "mine.ops._other": { key(16, 2048): old },
        },
        "sm103": { "mine.ops._triton_mm": { key(32, 2048): old } },
    })
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs the export with a folder's files.
fn export(folder: &Path, source: &str, to: &str, more: &[&str]) -> (String, String, i32) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (from, to) = (path(source), path(to));
    let words = ["export", "table", MODEL, "--for", "megatron", "--from", &from, "--device", "H200", "-o", &to];
    let more: Vec<String> = more.iter().map(|word| word.replace("@", &path(""))).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    run(&[&words[..], &more].concat())
}

#[test]
fn keys_of_a_recording_get_rows_of_the_function_s_own_configs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rec.rank0.json"), recording().to_string()).unwrap();
    let own = [config(16, 64, 64, 4, 4), config(128, 128, 32, 4, 4), config(64, 64, 32, 3, 4)];
    std::fs::write(folder.path().join("own.json"), Value::from(own.to_vec()).to_string()).unwrap();
    let (out, err, code) = export(folder.path(), "rec.rank0.json", "tables", &["--candidates", "@own.json"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.contains("sm90.json: 3 rows of mine.ops._triton_mm; not measured; device H200; learned on H200 only"),
        "{out}"
    );
    for left in ["1 key: of other functions", "1 key: of other architectures", "has no field `speed`"] {
        assert!(out.contains(left), "{left}: {out}");
    }
    let table = read(&folder.path().join("tables/sm90.json"));
    let rows = table["kernels"]["mine.ops._triton_mm"].as_object().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.values().all(|row| own.contains(row)), "{rows:?}");
    assert!(rows[&key(16, 2048)] != rows[&key(4096, 2048)]);
    assert!(table["source"].as_str().unwrap().contains("not measured, model ") && table["arch"] == "sm90");

    // the table grows: what it has stays, and rows that `*` serves as well are left to it
    let log = format!("Ranks disagree on 1 choice(s)\n  sm90|mine.ops._triton_mm|{}\n", key(512, 2048));
    std::fs::write(folder.path().join("log"), log + &key(16, 2048)).unwrap();
    let more = ["--extend", "@tables/sm90.json", "--within", "99%", "--triton", "3.6.0"];
    let (out, err, code) = export(folder.path(), "log", "more", &more);
    assert!(code == 0 && out.contains("1 row of mine.ops._triton_mm; 3 rows kept"), "{out}{err}");
    assert!(out.contains("1 key: the table that is extended has a row") && err.contains("--candidates"), "{out}{err}");
    let grown = read(&folder.path().join("more/sm90.json"));
    let more = grown["kernels"]["mine.ops._triton_mm"].as_object().unwrap();
    assert!(more.len() == 4 && rows.iter().all(|(key, row)| more[key] == *row));
}

#[test]
fn a_row_stands_for_several_values_of_a_field_that_keys_lack_and_any_key_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let strides = "mat1_stride_0=512|mat1_stride_1=1|mat2_stride_0=512|mat2_stride_1=1";
    let keys = format!("k=512|n=512|{strides}|{TYPES}\nk=256|n=512|{strides}|{TYPES}\n");
    std::fs::write(folder.path().join("keys"), keys).unwrap();
    let more = ["--set", "m=64,2048,32768", "--function", "mm", "--within", "99%"];
    let (out, err, code) = export(folder.path(), "keys", "tables", &more);
    assert!(
        code == 0 && out.contains("1 row of mm; not measured") && out.contains("left to `*`, 2 keys"),
        "{out}{err}"
    );
    let table = read(&folder.path().join("tables/sm90.json"));
    let rows = table["kernels"]["mm"].as_object().unwrap();
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["*"]);
    assert!(rows["*"]["num_stages"].as_u64().is_some() && rows["*"]["kwargs"]["BLOCK_M"].as_u64().is_some());
    let (_, err, code) = export(folder.path(), "keys", "tables", &more);
    assert!(code == 2 && err.contains("--overwrite"), "{err}");
}

#[test]
fn what_no_table_can_be_made_of_gets_one_sentence_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("keys", &key(16, 2048));
    write("rec", &recording().to_string());
    write("empty", "INFO no key here\n");
    write("cut", "{\"sm90\": {\"_mm\": {");
    write("other.json", r#"{"arch": "sm103", "kernels": {}}"#);
    write("none.json", "[]");
    write("far.json", &Value::from(vec![config(7, 7, 7, 1, 1)]).to_string());
    for (source, more, said) in [
        ("empty", &[][..], "no source has a tuning key"),
        ("cut", &[], "is cut off, or no JSON"),
        ("rec", &["--strict"], "has no field `speed`"),
        ("rec", &["--function", "nothing"], "no key of nothing needs a row"),
        ("keys", &["--extend", "@other.json"], "is a table of sm103, not of sm90"),
        ("keys", &["--extend", "@far.json"], "is no table of Megatron-Core"),
        ("keys", &["--candidates", "@none.json"], "lists no config"),
        ("keys", &["--candidates", "@far.json"], "no config is one of triton_mm"),
        ("keys", &["--set", "speed=3"], "is no field of triton_mm"),
        ("keys", &["--set", "fast"], "write FIELD=VALUE"),
    ] {
        let (out, err, code) = export(folder.path(), source, "nothing", more);
        assert!(code == 2 && err.contains(said), "{source} {more:?}: {code} {out}{err}");
        assert!(!folder.path().join("nothing").exists(), "{source} {more:?}");
    }
    let words = ["export", "megatron", "models/gemm-cpu", "keys", "--device", "epyc", "-o", "nowhere"];
    let (_, err, code) = run(&words);
    assert!(code == 2 && err.contains("is no device of CUDA"), "{err}");
}
