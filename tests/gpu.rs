//! What only a GPU can show. Elsewhere each test says that it was skipped. On a machine without Rust scripts/gpu_run.sh runs this program,
//! built elsewhere, with the seqtune of SEQTUNE_BIN.

mod common;

use common::run;
use seqtune_data::{Dataset, Outcome, Record};
use std::path::Path;

/// The first GPU with an API of its own; `None`, with a word, where there is none.
fn gpu() -> Option<String> {
    let (out, err, code) = run(&["devices", "--json"]);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    let ids = answer["live"].as_array().unwrap().iter().filter_map(|d| d["id"].as_str());
    let gpu = ids.filter(|id| !id.starts_with("opencl:")).map(String::from).next();
    if gpu.is_none() {
        println!(
            "skipped: no GPU opens here; it takes a GPU of NVIDIA's or AMD's with its driver ({})",
            answer["missing"]
        );
    }
    gpu
}

/// Records of a sweep of so many configs of each problem.
fn sweep(gpu: &str, kernel: &str, sample: &str, more: &[&str]) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl").display().to_string();
    let args = [&["sweep", kernel, "--device", gpu, "--sample", sample, "-o", &path][..], more].concat();
    let (out, err, code) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    Dataset::load(Path::new(&path)).unwrap().records
}

fn assert_sound(kernel: &str, records: &[Record]) {
    let failed: Vec<&Record> = records.iter().filter(|r| !matches!(r.outcome, Outcome::Measured(_))).collect();
    assert!(failed.is_empty(), "{kernel}: {} of {} failed, first {:?}", failed.len(), records.len(), failed[0]);
    println!("{kernel}: {} configs right", records.len());
}

#[test]
fn every_kernel_is_right_on_odd_sizes() {
    let Some(gpu) = gpu() else { return };
    let gemm = [
        "--problems",
        "M=1,N=1,K=1",
        "M=17,N=33,K=65",
        "M=128,N=1,K=300",
        "M=255,N=257,K=31,transA=T,transB=T,alpha=0.5,beta=2",
        "M=100,N=200,K=300,dtype=f16",
    ];
    assert_sound("gemm", &sweep(&gpu, "gemm", "24", &gemm));
    let conv2d = [
        "--problems",
        "N=1,C=1,H=1,W=1,K=1,R=1,S=1",
        "N=2,C=6,H=13,W=9,K=10,R=3,S=2,pad_h=1,stride_w=2,groups=2",
        "N=1,C=32,H=28,W=28,K=32,R=3,S=3,pad_h=2,pad_w=2,dilation_h=2,dilation_w=2,dtype=f16",
    ];
    assert_sound("conv2d", &sweep(&gpu, "conv2d", "24", &conv2d));
}

#[test]
fn tensor_cores_are_right_on_odd_sizes() {
    let Some(gpu) = gpu().filter(|id| id.starts_with("cuda:")) else { return };
    let problems = [
        "--problems",
        "M=1,N=1,K=1",
        "M=17,N=33,K=65",
        "M=77,N=54,K=31,transA=T,transB=T,alpha=0.5,beta=2",
        "M=256,N=128,K=96,transA=T,dtype=bf16",
        "M=300,N=200,K=1000,transB=T",
    ];
    assert_sound("gemm_tc", &sweep(&gpu, "gemm_tc", "24", &problems));
}

#[test]
fn a_large_product_is_held_against_double_precision() {
    let Some(gpu) = gpu() else { return };
    assert_sound("gemm", &sweep(&gpu, "gemm", "2", &["--problems", "M=10240,N=10240,K=10240"]));
}

#[test]
fn the_time_of_a_config_is_found_again() {
    let Some(gpu) = gpu() else { return };
    let problems = ["--problems", "M=1024,N=1024,K=1024", "M=4096,N=4096,K=256", "M=64,N=64,K=4096"];
    let once = || sweep(&gpu, "gemm", "8", &problems);
    let (first, second) = (once(), once());
    let mut worst: f64 = 1.0;
    for record in &first {
        let again = second.iter().find(|r| (&r.problem, &r.config) == (&record.problem, &record.config)).unwrap();
        let (Some(a), Some(b)) = (record.outcome.time_us(), again.outcome.time_us()) else { continue };
        worst = worst.max(a / b).max(b / a);
    }
    println!("24 configs measured twice agree within {:.1} %", 100.0 * (worst - 1.0));
    assert!(worst < 1.15, "{worst}");
}

#[test]
fn the_energy_of_a_config_is_found_again() {
    let Some(gpu) = gpu() else { return };
    let joules = || {
        let records = sweep(&gpu, "gemm", "1", &["--energy", "--problems", "M=2048,N=2048,K=2048"]);
        let record = &records[0];
        match (&record.outcome, &record.observed.unmetered) {
            (Outcome::Measured(m), None) => Ok((m.energy.unwrap(), m.median_us())),
            (_, reason) => Err(reason.clone().unwrap_or_default()),
        }
    };
    match (joules(), joules()) {
        (Ok((a, us)), Ok((b, _))) => {
            let watts = a.joules / us * 1e6;
            let spread = (a.joules / b.joules).max(b.joules / a.joules) - 1.0;
            println!(
                "{:.4} and {:.4} J ({:.1} % apart, {watts:.0} W at work, {:.0} W idle)",
                a.joules,
                b.joules,
                100.0 * spread,
                a.idle_watts
            );
            assert!(spread < 0.1 && watts > a.idle_watts && watts < 3e3, "{a:?} {b:?}");
        }
        (Err(reason), _) | (_, Err(reason)) => {
            println!("skipped: no energy is metered here ({reason}); it takes a GPU whose driver counts it")
        }
    }
}

#[test]
fn predictions_are_measured_beside_the_vendors_library() {
    let Some(gpu) = gpu() else { return };
    let args = ["validate", "models/gemm-cpu", "gemm", "M=512,N=512,K=512", "--device", &gpu, "--json"];
    let (out, err, code) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(answer["best_us"].as_f64().is_some_and(|us| us > 0.0), "{answer}");
    match answer["library"].as_str() {
        Some(name) => {
            let us = answer["library_us"].as_f64().expect("the library failed");
            println!("{name}: {us:.1} us, best prediction {:.1}", answer["best_us"]);
        }
        None => println!("skipped: no vendor's library opens here; it takes cuBLAS of a CUDA toolkit"),
    }
}
