//! Long work that a user interrupts.

use crate::common::{opencl_or_skip, root, seqtune, signal, write};
use seqtune_data::Dataset;
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
        let words = "a.jsonl keeps what was measured, and the same command goes on";
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
    let source = own.join("transpose.cl");
    // each config measures for some 0.1 s; one in eleven ends its worker, or hangs
    let words = ["sweep", &place, "--device", "fake", "--sample", "100", "--timeout", "2s", "-o", output];
    let args = [&words[..], &["--problems", "rows=300,columns=300"]].concat();
    let mut sweep = seqtune(&args);
    let child =
        sweep.env("SEQTUNE_FAKE", "faults,slow=20").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = std::fs::read_to_string(&source).unwrap();
    std::fs::write(&source, format!("{text}\nvoid another(void) {{}}\n")).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let said = "was changed while it was measured: the source transpose.cl differs beyond comments and white space; put its files back";
    assert!(output.status.code() == Some(2) && err.contains(said), "{err}");
}

#[test]
fn a_program_that_is_edited_while_it_is_measured_leaves_no_record_of_its_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let toml = r#"
name = "mine"
meaning = "a program for tests"
field = [{ name = "n", kind = "size", min = 1, max = 1000, shape = true, meaning = "size" }]
parameter = [{ name = "A", values = [1, 2, 3, 4], default = 1, meaning = "what it does" }]

[run]
command = ["sh", "{kernel}/script.sh"]
files = ["script.sh"]
time = { pattern = 'took ([0-9.]+) s' }
samples = 2
"#;
    let own = folder.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    write(&own, "kernel.toml", toml.as_bytes());
    write(&own, "script.sh", b"sleep 0.1; echo took 0.001 s\n");
    let (place, journal) = (own.display().to_string(), folder.path().join("sweep.jsonl"));
    let output = journal.display().to_string();
    let words = ["sweep", &place, "--exhaustive", "-o", &output, "--problems", "n=1", "n=2"];
    let child = seqtune(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // the header and all configs of the first problem
    let began = Instant::now();
    while std::fs::read_to_string(&journal).unwrap_or_default().lines().count() < 5 {
        assert!(began.elapsed() < Duration::from_secs(120), "the first problem is not measured");
        std::thread::sleep(Duration::from_millis(5));
    }
    write(&own, "script.sh", b"sleep 0.1; echo took 0.002 s\n");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let said = "was changed while it was measured: the file script.sh differs beyond comments and white space; put its files back";
    assert!(output.status.code() == Some(2) && err.contains(said), "{err}");
    assert_eq!(Dataset::load(&journal).unwrap().records.len(), 4);
}
