//! Long work that a user interrupts.

mod common;

use common::{opencl_or_skip, seqtune, signal};
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Whether a process has started others.
fn has_children(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    text.is_ok_and(|text| !text.trim().is_empty())
}

#[test]
fn a_sweep_of_a_device_that_is_interrupted_says_what_is_kept_and_how_to_go_on() {
    if !opencl_or_skip() {
        return;
    }
    for by in [libc::SIGINT, libc::SIGTERM] {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("a.jsonl").display().to_string();
        let words = ["sweep", "gemm", "--problems", "M=64,N=64,K=64", "--sample", "40", "-o", &output];
        let mut child = seqtune(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !has_children(child.id()) && began.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(5));
        }
        signal(child.id(), by);
        let status = child.wait().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let words = "a.jsonl keeps the problems that were finished, and the same command goes on";
        assert!(status.code() == Some(1) && said.contains(words), "{by}: {status}, {said}");
    }
}
