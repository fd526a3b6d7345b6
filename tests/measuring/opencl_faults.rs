//! Drivers of OpenCL with faults: a double between the program and PoCL loses the device, tells odd times, and is short of memory.

use crate::common::{PATIENT, build_double_on, opencl_or_skip, seqtune, text};
use seqtune_data::{Dataset, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The system's loader of OpenCL.
fn loader() -> Option<PathBuf> {
    let listed = Command::new("/sbin/ldconfig").arg("-p").output().ok()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let line = listed.lines().find(|line| line.trim_start().starts_with("libOpenCL.so.1 "))?;
    Some(line.rsplit_once("=> ")?.1.trim().into())
}

/// A folder with the double as libOpenCL.so.1, and the system's under another name; `None`, with a word, where something is missing.
fn double() -> Option<tempfile::TempDir> {
    if !opencl_or_skip() {
        return None;
    }
    let Some(loader) = loader() else {
        println!("skipped: ldconfig names no libOpenCL.so.1; `scripts/setup.sh opencl` installs it");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    // its own name stands in it too, as long as this one
    let mut bytes = std::fs::read(loader).unwrap();
    let (old, new) = (b"libOpenCL.so.1", b"libOpenCX.so.1");
    let places: Vec<usize> = bytes.windows(old.len()).enumerate().filter(|(_, w)| w == old).map(|(at, _)| at).collect();
    places.iter().for_each(|at| bytes[*at..*at + new.len()].copy_from_slice(new));
    let real = folder.path().join("libOpenCX.so.1");
    std::fs::write(&real, bytes).unwrap();
    build_double_on("libOpenCL.c", &folder.path().join("libOpenCL.so.1"), &[&real]).then_some(folder)
}

/// Sweeps five configs of two problems in a mode of the double.
fn sweep(folder: &Path, mode: &str) -> (String, String, i32, Vec<Outcome>) {
    let path = folder.join("sweep.jsonl");
    let args = ["sweep", "gemm", "--device", "opencl:0", "--sample", "5", "--pool", "5", "--private-share", "0", "-o"];
    let mut run = seqtune(
        &[&args[..], &[path.to_str().unwrap(), "--problems", "M=40,N=30,K=20", "M=33,N=17,K=50"], &PATIENT].concat(),
    );
    run.env("LD_LIBRARY_PATH", folder).env("DOUBLE_CL", mode).env("DOUBLE_CL_ONCE", folder.join("once"));
    let (out, err, code) = text(run.output().unwrap());
    let records = Dataset::load(&path).map_or(Vec::new(), |found| found.records);
    let _ = std::fs::remove_file(&path);
    let _ = std::fs::remove_file(folder.join("once"));
    (out, err, code, records.into_iter().map(|record| record.outcome).collect())
}

fn failures(outcomes: &[Outcome]) -> Vec<&str> {
    fn detail(outcome: &Outcome) -> Option<&str> {
        match outcome {
            Outcome::Invalid(invalidity) => Some(&invalidity.detail),
            _ => None,
        }
    }
    outcomes.iter().filter_map(detail).collect()
}

#[test]
fn a_lost_device_costs_one_config_and_another_process_goes_on() {
    let Some(folder) = double() else { return };
    for launch in [2, 4, 12, 25, 60] {
        let (out, err, code, outcomes) = sweep(folder.path(), &format!("gpu,lost={launch}"));
        let failures = failures(&outcomes);
        assert!(code == 0 && outcomes.len() == 10 && failures.len() <= 1, "launch {launch}: {out}{err} {failures:?}");
    }
}

#[test]
fn times_that_cannot_be_are_no_times_and_a_journal_stays_readable() {
    let Some(folder) = double() else { return };
    let (out, err, code, outcomes) = sweep(folder.path(), "gpu,still");
    assert!(code == 0 && outcomes.len() == 10, "{out}{err}");
    let measured =
        |outcome: &Outcome| matches!(outcome, Outcome::Measured(m) if m.samples_us.iter().all(|us| *us > 0.0));
    assert!(outcomes.iter().all(measured), "{outcomes:?}");
    let (out, err, code, _) = sweep(folder.path(), "gpu,backwards");
    let said = "the driver says that it ended at";
    assert!(code != 0 && (out.contains(said) || err.contains(said)), "{code} {out}{err}");
}

#[test]
fn too_little_memory_is_told_of_the_problem_and_booked_of_no_config() {
    let Some(folder) = double() else { return };
    // what flushes the caches has 64 MB at least
    let (_, err, code, outcomes) = sweep(folder.path(), "gpu,full=60000000");
    assert!(code != 0 && err.contains("making room to flush the cache") && outcomes.is_empty(), "{code} {err}");
    let (_, err, code, outcomes) = sweep(folder.path(), "gpu,least=1000");
    assert!(code != 0 && err.contains("1 to 250 fit the device") && outcomes.is_empty(), "{code} {err}");
}
