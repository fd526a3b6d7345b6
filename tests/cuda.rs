//! The CUDA executor on a double of NVIDIA's driver, with the real compiler: good runs, and every way to fail.

mod common;

use common::{seqtune, text};
use seqtune::dataset::{Dataset, Outcome};
use seqtune::executor::nvrtc::architectures;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The folder of the double, built once; `None`, with a word, where NVRTC or a C compiler is missing.
fn double() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let built = FOLDER.get_or_init(|| {
        if architectures().is_empty() {
            println!("skipped: NVRTC does not open here (scripts/setup.sh fetches it)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for (source, library) in
            [("libcuda.c", "libcuda.so.1"), ("libnvidia-ml.c", "libnvidia-ml.so.1"), ("libcublas.c", "libcublas.so.13")]
        {
            let cc = Command::new("cc")
                .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wno-unused-parameter", "-o"])
                .arg(folder.path().join(library))
                .arg(Path::new("tests/doubles").join(source))
                .output();
            match cc {
                Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
                Err(_) => {
                    println!("skipped: no C compiler");
                    return None;
                }
            }
        }
        Some(folder)
    });
    built.as_ref().map(|folder| folder.path())
}

/// Runs the program with the double as driver.
fn with_double(args: &[&str], mode: &str) -> Option<(String, String, i32)> {
    let folder = double()?;
    let once = tempfile::tempdir().unwrap();
    let run = seqtune(args)
        .env("LD_LIBRARY_PATH", folder)
        .env("DOUBLE_CUDA", mode)
        .env("DOUBLE_CUDA_ONCE", once.path().join("failed"))
        .output()
        .unwrap();
    Some(text(run))
}

#[test]
fn a_gpu_is_listed_with_its_limits() {
    let Some((out, err, code)) = with_double(&["devices", "--json"], "") else { return };
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    let gpu = &answer["live"][0];
    assert_eq!((gpu["id"].as_str(), gpu["name"].as_str()), (Some("cuda:0"), Some("Double 1")));
    assert_eq!((gpu["architecture"].as_str(), gpu["driver"].as_str()), (Some("sm_90"), Some("CUDA 13.0")));
    // 2 multiprocessors of 128 lanes at 1.5 GHz, two operations a multiply-add; 64 bits twice at 1 GHz
    assert_eq!(
        (gpu["limits"]["f32_gflops"].as_f64(), gpu["limits"]["bandwidth_gbs"].as_f64()),
        (Some(768.0), Some(16.0))
    );
}

#[test]
fn a_sweep_measures_and_records_what_each_program_needs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    let args = ["sweep", "gemm", "--device", "cuda:0", "--sample", "12", "-o", path.to_str().unwrap(), "--problems"];
    let args = [&args[..], &["M=40,N=30,K=20", "M=64,N=64,K=8,alpha=0.5,beta=2"]].concat();
    let Some((out, err, code)) = with_double(&args, "") else { return };
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("24 measured now") && out.contains("0 failed"), "{out}");
    let dataset = Dataset::load(&path).unwrap();
    assert_eq!(dataset.header.device.name, "Double 1");
    for record in &dataset.records {
        assert!(matches!(&record.outcome, Outcome::Measured(m) if m.samples_us.len() >= 3), "{record:?}");
        let needs = record.observed.resources.unwrap();
        assert!(needs.registers >= 16 && needs.groups_per_unit >= 1 && needs.occupancy > 0, "{needs:?}");
    }
}

#[test]
fn energy_clocks_and_throttling_are_read_from_the_management_library() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    let args = ["sweep", "gemm", "--device", "cuda:0", "--sample", "1", "--energy", "-o", path.to_str().unwrap()];
    let Some((out, err, code)) = with_double(&[&args[..], &["--problems", "M=40,N=30,K=20"]].concat(), "") else {
        return;
    };
    assert_eq!(code, 0, "{out}{err}");
    let record = &Dataset::load(&path).unwrap().records[0];
    let conditions = record.observed.conditions.as_ref().unwrap();
    assert_eq!((conditions.clock_mhz, conditions.memory_clock_mhz, conditions.temperature), (1500, 2600, 55));
    assert_eq!(conditions.throttled, ["SW_POWER_CAP"]);
    let Outcome::Measured(m) = &record.outcome else { panic!("{record:?}") };
    let energy = m.energy.unwrap();
    assert!((energy.idle_watts / 300.0 - 1.0).abs() < 0.02, "{energy:?}");
    // the double multiplies on the host, at 300 W: launches back to back take a little more than one alone
    let watts = energy.joules / (m.median_us() * 1e-6);
    assert!((150.0..1_500.0).contains(&watts), "{watts} W, {m:?}");
}

/// Records of a sweep of eight configs of one problem in a mode of the double.
fn failing(mode: &str) -> Option<Vec<Outcome>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    let args =
        ["sweep", "gemm", "--device", "cuda:0", "--sample", "8", "--timeout", "6s", "-o", path.to_str().unwrap()];
    let args = [&args[..], &["--problems", "M=40,N=30,K=20"]].concat();
    let (out, err, code) = with_double(&args, mode)?;
    assert_eq!(code, 0, "{mode}: {out}{err}");
    let outcomes: Vec<Outcome> = Dataset::load(&path).unwrap().records.into_iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes.len(), 8, "{mode}");
    Some(outcomes)
}

#[test]
fn a_config_that_fails_is_booked_with_the_drivers_words_and_the_others_are_measured() {
    // the first launch is the reference's; each config is launched twice before any is timed
    for (mode, expected) in [
        ("launch=4", "too many resources requested for launch"),
        ("wrong=4", "the reference says"),
        ("lost=40", "an illegal memory access was encountered"),
        ("hang=4", "silent for 6.0 s"),
    ] {
        let Some(outcomes) = failing(mode) else { return };
        let failures: Vec<String> = outcomes
            .iter()
            .filter_map(|o| match o {
                Outcome::Invalid(invalidity) => Some(invalidity.detail.clone()),
                _ => None,
            })
            .collect();
        assert!(failures.len() == 1 && failures[0].contains(expected), "{mode}: {failures:?}");
    }
}

#[test]
fn what_ends_a_run_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("sweep.jsonl").display().to_string();
    let sweep =
        |device| ["sweep", "gemm", "--device", device, "--sample", "2", "-o", &output, "--problems", "M=8,N=8,K=8"];
    for (device, mode, expected, wanted) in [
        ("cuda:0", "memory", "allocating 256 bytes: CUDA: out of memory", 1),
        ("cuda:3", "", "no live device `cuda:3`", 2),
        ("cuda:0", "none", "no live device `cuda:0`", 2),
    ] {
        let Some((out, err, code)) = with_double(&sweep(device), mode) else { return };
        assert!(code == wanted && err.contains(expected), "{mode}: {code} {out}{err}");
    }
    let Some((out, _, _)) = with_double(&["devices"], "none") else { return };
    assert!(out.contains("Not available: CUDA: no CUDA-capable device is detected"), "{out}");
}

#[test]
fn the_vendors_library_is_measured_beside_the_predictions() {
    let args =
        ["validate", "models/gemm-cpu", "gemm", "M=40,N=30,K=20", "M=33,N=17,K=50,alpha=0.5,beta=2", "--top", "1"];
    let Some((out, err, code)) = with_double(&[&args[..], &["--device", "cuda:0", "--energy"]].concat(), "") else {
        return;
    };
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("| % of cuBLAS 13.0.2 | mJ |") && out.contains(" % of cuBLAS 13.0.2."), "{out}");
    let args = [&args[..], &["--device", "cuda:0", "--json"]].concat();
    let (out, err, code) = with_double(&args, "").unwrap();
    assert_eq!(code, 0, "{out}{err}");
    for line in out.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["library"], "cuBLAS 13.0.2", "{answer}");
        assert!(answer["library_us"].as_f64().is_some_and(|us| us > 0.0), "{answer}");
    }
}
