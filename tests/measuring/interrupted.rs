//! Long work that a user interrupts.

use crate::common::{opencl_or_skip, root, seqtune, signal};
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

#[test]
fn a_kernel_that_is_edited_while_it_is_measured_ends_the_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("transpose");
    std::fs::create_dir(&own).unwrap();
    for entry in std::fs::read_dir(root().join("kernels/transpose")).unwrap().flatten() {
        std::fs::copy(entry.path(), own.join(entry.file_name())).unwrap();
    }
    let (place, path) = (own.display().to_string(), folder.path().join("sweep.jsonl"));
    let output = path.to_str().unwrap();
    // each config measures for some 0.1 s; one in eleven ends its worker
    let args =
        ["sweep", &place, "--device", "fake", "-o", output, "--sample", "100", "--problems", "rows=300,columns=300"];
    let mut sweep = seqtune(&args);
    let child =
        sweep.env("SEQTUNE_FAKE", "faults,slow=20").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let source = own.join("transpose.cl");
    let text = std::fs::read_to_string(&source).unwrap();
    std::fs::write(&source, format!("{text}\nvoid another(void) {{}}\n")).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && err.contains("was changed while it was measured; put its files back"),
        "{err}"
    );
}
