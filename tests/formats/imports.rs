//! Sweeps of others, read into datasets: real files, where they are at hand.

use crate::common::{public, run, write};
use seqtune_data::{Dataset, Outcome};
use std::path::Path;

const HUB: &str = "github.com/AutoTuningAssociation/benchmark_hub";

#[test]
fn kernel_tuners_cache_and_t4_results_of_one_sweep_give_the_same_records() {
    let (Some(cache), Some(t4)) = (
        public("benchmark_hub/convolution_A4000.json.gz", HUB),
        public("benchmark_hub/convolution_A4000_T4.json.gz", HUB),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let import = |format: &str, file: &str, more: &[&str]| {
        let path = folder.path().join(format).display().to_string();
        let args = ["import", format, file, "--kernel", "hub_convolution", "-o", &path];
        let (out, err, code) = run(&[&args[..], more].concat());
        assert!(code == 0 && out.contains("4362 records") && out.contains("161 of them"), "{out}{err}");
        Dataset::load(Path::new(&path)).unwrap()
    };
    let cache = import("kernel-tuner", &cache, &[]);
    let t4 = import("t4", &t4, &["--problem", "width=4096,height=4096", "--device", "RTX A4000"]);
    assert_eq!(cache.header.device.name, "RTX A4000");
    for (a, b) in cache.records.iter().zip(&t4.records) {
        assert_eq!((&a.problem, &a.config, a.outcome.time_us()), (&b.problem, &b.config, b.outcome.time_us()));
    }
    // the space as it is described has exactly the configs that were measured
    let (out, _, _) = run(&["space", "hub_convolution", "width=4096,height=4096", "--device", "RTX A4000", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["legal"].as_u64(), Some(cache.records.len() as u64));
}

#[test]
fn autoheuristics_data_are_read_without_repeats_and_what_cannot_fit_is_what_failed() {
    let Some(file) = public("autoheuristic/a100_mm.zip", "github.com/AlnisM/autoheuristic-datasets") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mm.sqt").display().to_string();
    let (out, err, code) = run(&["import", "autoheuristic", &file, "-o", &path, "--json"]);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((answer["rows"].as_u64(), answer["repeated"].as_u64()), (Some(631_164), Some(369_667)));
    assert_eq!((answer["references"].as_u64(), answer["failed"].as_u64()), (Some(3_822), Some(0)));
    assert_eq!(answer["left_out"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum::<u64>(), 5_030);
    let dataset = Dataset::load(Path::new(&path)).unwrap();
    assert!(dataset.records.iter().all(|r| matches!(r.outcome, Outcome::Measured(_))));
    assert!(dataset.records.iter().all(|r| r.observed.library_us.is_some()));
}

#[test]
fn what_cannot_be_imported_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "text.json", b"a,b\n1,2\n");
    let open = write(
        folder.path(),
        "open.json",
        br#"{"device_name": "NVIDIA Nothing", "problem_size": 7, "tune_params_keys": [], "cache": {}}"#,
    );
    let output = folder.path().join("out.sqt").display().to_string();
    for (args, expected) in [
        (["import", "kernel-tuner", &text, "--kernel", "hub_convolution", "-o", &output], "is no cache file"),
        (
            ["import", "kernel-tuner", &open, "--kernel", "hub_convolution", "-o", &output],
            "was measured on NVIDIA Nothing",
        ),
        (["import", "t4", &text, "--kernel", "hub_convolution", "-o", &output], "is no file of T4 results"),
        (["import", "t4", &text, "--kernel", "nothing", "-o", &output], "no kernel `nothing`"),
    ] {
        let (out, err, code) = run(&args);
        assert!(code == 2 && err.contains(expected) && err.lines().count() == 1, "{code} {out}{err}");
        assert!(!Path::new(&output).exists());
    }
}

#[test]
fn a_wrong_row_of_autoheuristic_is_named_by_its_line_whatever_ends_the_lines() {
    let head = r#"{"numerical_features": [], "categorical_features": [], "choices": [], "shared_memory": 166912, "device_capa": [8, 0], "name": "mm"}"#;
    let good = "64,type=triton_BLOCK-M=16_BLOCK-K=32_BLOCK-N=32_numstages=2_numwarps=2,0.5";
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.sqt").display().to_string();
    for (end, blank, line) in [("\n", "", 4), ("\r\n", "", 4), ("\n", "\n\n", 6)] {
        let bad = "\"2,type=triton_BLOCK-M=16,never";
        let text = [head, "m,choice,feedback", good, &format!("{blank}{bad}"), good].join(end);
        let file = write(folder.path(), "rows.txt", text.as_bytes());
        let sizes: Vec<String> =
            ["k=64", "n=64", "mat1_dtype=float16", "mat2_dtype=float16", "mat1_stride_0=64", "mat1_stride_1=1"]
                .into_iter()
                .chain([
                    "mat2_stride_0=64",
                    "mat2_stride_1=1",
                    "mat1_iscontig=True",
                    "mat2_iscontig=True",
                    "using_tf32=not_float_32",
                ])
                .map(|set| format!("--set={set}"))
                .collect();
        let ask = ["import", "autoheuristic", &file, "-o", &output, "--strict"];
        let (_, err, code) = run(&[&ask[..], &sizes.iter().map(String::as_str).collect::<Vec<_>>()].concat());
        assert!(code == 2 && err.contains(&format!("line {line}: `never` is no time")), "{err}");
    }
}

#[test]
fn caches_of_kernel_tuner_go_out_one_per_problem_and_come_back_as_one_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (sweep, caches, back) = (path("sweep.jsonl"), path("caches"), path("back.sqt"));
    let args = ["sweep", "gemm", "--device", "fake", "--sample", "30", "-o", &sweep, "--problems"];
    let mut swept = crate::common::seqtune(&[&args[..], &["M=64,N=64,K=64", "M=100,N=7,K=3"]].concat());
    let (_, err, code) = crate::common::text(swept.env("SEQTUNE_FAKE", "faults").output().unwrap());
    assert_eq!(code, 0, "{err}");
    let (_, err, code) = run(&["export", "kernel-tuner", &sweep, "-o", &sweep, "--overwrite"]);
    assert!(code == 2 && err.contains("is a file, and there are 2 problems"), "{err}");
    let (out, err, code) = run(&["export", "kernel-tuner", &sweep, "-o", &caches]);
    assert!(code == 0 && out.contains("60 records of gemm in 2 cache files"), "{out}{err}");
    let files = ["M64_N64_K64.json", "M100_N7_K3.json"].map(|name| format!("{caches}/{name}"));
    let import = ["import", "kernel-tuner", &files[0], &files[1], "--kernel", "gemm", "--device", "H100", "-o", &back];
    let (_, err, code) = run(&[&import[..], &["--problem", "M=1,N=1,K=1"]].concat());
    assert!(code == 2 && err.contains("--problem is of one file"), "{err}");
    // what is not legal on an H100 is left out
    let (out, err, code) = run(&import);
    assert!(code == 0 && out.contains("39 records of gemm on H100"), "{out}{err}");
    let (before, after) = (Dataset::load(Path::new(&sweep)).unwrap(), Dataset::load(Path::new(&back)).unwrap());
    for record in &after.records {
        let own = before.records.iter().find(|r| (&r.problem, &r.config) == (&record.problem, &record.config)).unwrap();
        assert_eq!(own.outcome.time_us().is_some(), record.outcome.time_us().is_some());
    }
}

#[test]
fn datasets_are_written_as_t4_csv_and_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (sweep, t4, back, csv) = (path("sweep.jsonl"), path("t4.json"), path("back.sqt"), path("sweep.csv"));
    let problems = ["M=64,N=64,K=64", "M=100,N=7,K=3"];
    let args = ["sweep", "gemm", "--device", "fake", "--sample", "30", "-o", &sweep, "--problems"];
    let mut swept = crate::common::seqtune(&[&args[..], &problems].concat());
    let (_, err, code) = crate::common::text(swept.env("SEQTUNE_FAKE", "faults").output().unwrap());
    assert_eq!(code, 0, "{err}");
    let (_, err, code) = run(&["export", "t4", &sweep, "-o", &t4]);
    assert!(code == 2 && err.contains("holds several problems"), "{err}");
    let (out, err, code) = run(&["export", "t4", &sweep, "--problem", problems[0], "-o", &t4]);
    assert!(code == 0 && out.contains("30 records of gemm"), "{out}{err}");
    let device = ["--device", "H100", "--problem", problems[0]];
    let import = ["import", "t4", &t4, "--kernel", "gemm", "-o", &back];
    let (_, err, code) = run(&[&import[..], &device].concat());
    assert_eq!(code, 0, "{err}");
    let (before, after) = (Dataset::load(Path::new(&sweep)).unwrap(), Dataset::load(Path::new(&back)).unwrap());
    for record in &after.records {
        let own = before.records.iter().find(|r| (&r.problem, &r.config) == (&record.problem, &record.config)).unwrap();
        match (&own.outcome, &record.outcome) {
            (Outcome::Measured(a), Outcome::Measured(b)) => assert_eq!(a.samples_us, b.samples_us),
            (Outcome::Invalid(a), Outcome::Invalid(b)) => assert_eq!(a.kind, b.kind),
            other => panic!("{other:?}"),
        }
    }
    let (out, err, code) = run(&["export", "csv", &sweep, "-o", &csv]);
    assert!(code == 0 && out.contains("60 records"), "{out}{err}");
    let text = std::fs::read_to_string(&csv).unwrap();
    let columns = text.lines().next().unwrap().split(',').count();
    assert!(text.starts_with("M,N,K,transA,") && text.lines().count() == 61);
    // a failure's words may hold commas, in quotes
    assert!(text.lines().filter(|l| !l.contains('"')).all(|l| l.split(',').count() == columns));
    let parquet = path("sweep.parquet");
    let (out, err, code) = run(&["export", "parquet", &sweep, "-o", &parquet]);
    assert!(code == 0 && out.contains("60 records"), "{out}{err}");
    let file = std::fs::File::open(&parquet).unwrap();
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    let rows: Vec<parquet::record::Row> = reader.into_iter().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), 60);
    // the same names and values as the text, typed; what is not known is null
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    let at = |name: &str| lines[0].iter().position(|n| *n == name).unwrap();
    for (row, line) in rows.iter().zip(&lines[1..]) {
        let value = |name: &str| row.get_column_iter().find(|(n, _)| *n == name).unwrap().1.clone();
        assert_eq!(value("M"), parquet::record::Field::Long(line[at("M")].parse().unwrap()));
        assert_eq!(value("outcome"), parquet::record::Field::Str(line[at("outcome")].into()));
        match (value("median_us"), line[at("outcome")]) {
            (parquet::record::Field::Double(us), "measured") => {
                assert_eq!(us, line[at("median_us")].parse::<f64>().unwrap())
            }
            (other, outcome) => assert!(outcome != "measured" && other == parquet::record::Field::Null, "{outcome}"),
        }
    }
}

#[test]
fn bad_rows_of_a_real_database_are_left_out_and_counted_unless_none_may_be() {
    let Some(file) = public("miopen/gfx1030_36.db.bz2", "github.com/ROCm/MIOpen") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let args = ["import", "miopen", &file, "-o", &out];
    let (_, err, code) = run(&[&args[..], &["--strict"]].concat());
    assert!(code == 2 && err.contains("--strict: 4 of 8881 rows cannot be read"), "{err}");
    let (text, err, code) = run(&args);
    assert_eq!(code, 0, "{err}");
    assert!(
        text.contains("left out, 4 rows: its in_h is `…`\n  first: row 823 of perf_db: its in_h is `-5`"),
        "{text}"
    );
    assert!(text.contains(" records of ") && text.contains("RX 6800 XT"), "{text}");
}

#[test]
fn a_file_of_which_most_rows_are_bad_is_refused_with_what_is_probably_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = "64-56-56-1x1-64-56-56-32-0x0-1x1-1x1-0-NCHW-FP32-F=A:1\nnonsense\nmore of it\n";
    let path = write(folder.path(), "gfx906_60.db.txt", text.as_bytes());
    let (_, err, code) = run(&["import", "miopen", &path, "-o", &out]);
    assert!(code == 2 && err.contains("2 of 3 rows cannot be read; the commonest reason: has no"), "{err}");
    assert!(err.contains("line 2") && !Path::new(&out).exists(), "{err}");
}

#[test]
fn an_import_tells_of_each_rule_how_many_records_keep_it_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    // the second row is of a solver that is for another direction
    let text = "96-40-40-1x1-48-40-40-24-0x0-1x1-1x1-0-NCHW-FP32-F=ConvAsm1x1U:1,16,1,64,2,1,1,2;ConvMlirIgemmFwd:128,64,64,8,4,4\n\
                80-20-24-1x1-160-20-24-12-0x0-1x1-1x1-0-NCHW-FP32-W=ConvMlirIgemmFwd:128,64,64,8,4,4\n";
    let path = write(folder.path(), "gfx906_60.db.txt", text.as_bytes());
    let (told, err, code) = run(&["import", "miopen", &path, "-o", &out, "--rules"]);
    assert_eq!(code, 0, "{err}");
    assert!(told.contains("of which 1 are not kept by all records"), "{told}");
    let rule = told.lines().find(|line| line.contains(" of ") && line.contains("forward direction"));
    assert!(rule.is_some_and(|line| line.trim_start().starts_with("1 of        2")), "{told}");
    let (json, _, code) = run(&["import", "miopen", &path, "-o", &out, "--rules", "--overwrite", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        code == 0 && json["rules"][0]["solver"] == "ConvAsm1x1U" && json["rules"][0]["rules"][0]["kept"] == 1,
        "{json}"
    );
}
