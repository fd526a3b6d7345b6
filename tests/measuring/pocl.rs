//! What PoCL compiles, and what it would run though a device has not the room: counted in its own cache.

use crate::common::{opencl_or_skip, seqtune, text, write};
use seqtune_data::{Dataset, InvalidityKind, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel folder whose work-groups of the program are stated, and those of the reference are not.
fn scale(folder: &Path, [local, factor]: [&str; 2]) -> PathBuf {
    let kernel = folder.join("scale");
    std::fs::create_dir(&kernel).unwrap();
    let toml = r#"
name = "scale"
meaning = "y = 2 x, element by element"
field = [{ name = "n", kind = "size", min = 1, max = 100000000, shape = true, meaning = "elements" }]
parameter = [
    { name = "WG", values = [32, 64], default = 64, meaning = "work-items per work-group" },
    { name = "V", values = [1, 2], default = 1, meaning = "elements per work-item" },
]
argument = [
    { name = "n", kind = "int", value = "n" }, { name = "x", kind = "in", length = "n", element = "4" },
    { name = "y", kind = "out", length = "n", element = "4" },
]
program = { file = "scale.cl", entry = "scale", global = ["cdiv(n, WG * V) * WG"], local = ["WG"] }
reference = { file = "reference.cl", entry = "doubled", global = ["n"], local = [] }
work = { flops = "n", bytes = "8 * n", tolerance = "1e-6" }
"#;
    let program = format!(
        "__kernel void scale(const int n, __global const float *x, __global float *y)\n{{\n    {local}\n    const int i = get_global_id(0) * V;\n    for (int v = 0; v < V; ++v)\n        if (i + v < n) y[i + v] = {factor} * x[i + v];\n}}\n"
    );
    let reference = "__kernel void doubled(const int n, __global const float *x, __global float *y)\n{\n    y[get_global_id(0)] = 2 * x[get_global_id(0)];\n}\n";
    write(&kernel, "kernel.toml", toml.as_bytes());
    write(&kernel, "scale.cl", program.as_bytes());
    write(&kernel, "reference.cl", reference.as_bytes());
    kernel
}

/// Sweeps with a cache of its own; gives the journal's place, and the codes that PoCL made by their names.
fn swept(folder: &Path, kernel: &Path, problems: &[&str]) -> (PathBuf, Vec<String>) {
    let journal = folder.join("scale.jsonl");
    let words =
        ["sweep", kernel.to_str().unwrap(), "--device", "live", "--exhaustive", "-o", journal.to_str().unwrap()];
    let mut command = seqtune(&[&words[..], &["--problems"], problems].concat());
    let (out, err, code) = text(command.env("SEQTUNE_CACHE", folder.join("cache")).output().unwrap());
    // 1 where all configs fail
    assert!(matches!(code, 0 | 1), "{out}{err}");
    let mut codes = Vec::new();
    let mut folders = vec![folder.join("cache/pocl")];
    while let Some(place) = folders.pop() {
        for entry in std::fs::read_dir(place).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match name.contains("-goffs0") {
                // a folder for each code: KERNEL/X-Y-Z-goffs0-smallgrid
                true => {
                    let kernel = entry.path().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
                    codes.push(format!("{kernel} {name}"));
                }
                false if entry.path().is_dir() => folders.push(entry.path()),
                false => {}
            }
        }
    }
    codes.sort();
    (journal, codes)
}

#[test]
fn a_config_is_compiled_once_also_for_a_problem_of_many_work_items() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = scale(folder.path(), ["", "2"]);
    // of 200,000 work-items, or 100,000
    let (_, codes) = swept(folder.path(), &kernel, &["n=200000"]);
    let configs: Vec<&String> = codes.iter().filter(|code| code.starts_with("scale")).collect();
    assert_eq!(configs.len(), 4, "{codes:?}");
    assert!(configs.iter().all(|code| !code.contains("smallgrid")), "{codes:?}");
}

#[test]
fn references_that_state_no_group_share_a_few_codes_whatever_the_sizes_are() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = scale(folder.path(), ["", "2"]);
    let sizes = [960, 1_000, 1_009, 1_080, 1_100, 1_155, 1_200, 1_296, 1_331, 1_408];
    let problems: Vec<String> = sizes.iter().map(|n| format!("n={n}")).collect();
    let problems: Vec<&str> = problems.iter().map(String::as_str).collect();
    let (_, codes) = swept(folder.path(), &kernel, &problems);
    let references: Vec<&String> = codes.iter().filter(|code| code.starts_with("doubled")).collect();
    assert_eq!(references.len(), 3, "groups of 64, of 8 and of 1: {codes:?}");
}

#[test]
fn a_kernel_that_declares_more_local_memory_than_the_device_has_fails_with_both_numbers() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // more than the last-level cache of any processor, which PoCL states
    let local = "__local float t[1 << 29];\n    t[get_local_id(0)] = 2;\n    barrier(CLK_LOCAL_MEM_FENCE);";
    let kernel = scale(folder.path(), [local, "t[get_local_id(0) ^ 1]"]);
    let (journal, _) = swept(folder.path(), &kernel, &["n=64"]);
    let records = Dataset::load(&journal).unwrap().records;
    assert_eq!(records.len(), 4);
    for record in records {
        let Outcome::Invalid(fault) = &record.outcome else { panic!("{} is measured", record.config) };
        assert!(fault.kind == InvalidityKind::Compile, "{fault:?}");
        assert!(
            fault.detail.contains("cannot launch: needs 2147483648 bytes of local memory, the device gives "),
            "{fault:?}"
        );
    }
}

/// The program with the file system of `options` mounted on a folder that is its cache; `None` where this system lets nobody mount.
fn with_cache_on(options: &str, folder: &Path, words: &[&str]) -> Option<(String, String, i32)> {
    let cache = folder.join("mounted");
    std::fs::create_dir_all(&cache).unwrap();
    let script = "mount -t tmpfs -o \"$1\" tmpfs \"$2\" || exit 77; export SEQTUNE_CACHE=\"$2\"; shift 2; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh", options, cache.to_str().unwrap()]);
    command.arg(env!("CARGO_BIN_EXE_seqtune")).args(words).env_remove("POCL_CACHE_DIR");
    let done = command.output().ok().map(text);
    let done = done.filter(|(_, err, code)| *code != 77 && !err.contains("unshare"));
    if done.is_none() {
        println!(
            "skipped: no file system can be mounted here; it takes a system that allows user namespaces, or an administrator"
        );
    }
    done
}

#[test]
fn a_cache_that_is_full_or_runs_no_programs_is_told_and_no_config_is_booked() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = scale(folder.path(), ["", "2"]);
    let journal = folder.path().join("scale.jsonl");
    let words = [
        "sweep",
        kernel.to_str().unwrap(),
        "--device",
        "live",
        "--exhaustive",
        "--problems",
        "n=100",
        "-o",
        journal.to_str().unwrap(),
    ];
    for (options, told) in
        [("noexec", "runs no programs (noexec)"), ("size=64k", "SEQTUNE_CACHE"), ("size=300k", "SEQTUNE_CACHE")]
    {
        let Some((out, err, code)) = with_cache_on(options, folder.path(), &words) else { return };
        assert!(matches!(code, 1 | 3) && err.contains(told), "{options}: {code} {out}{err}");
        let booked = if journal.exists() { Dataset::load(&journal).map_or(0, |data| data.records.len()) } else { 0 };
        assert_eq!(booked, 0, "{options}: {err}");
    }
}

#[test]
fn a_device_has_as_many_units_as_this_process_may_use() {
    if !opencl_or_skip() {
        return;
    }
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0", env!("CARGO_BIN_EXE_seqtune"), "devices"]);
    let (out, err, code) = text(command.env_remove("POCL_MAX_PTHREAD_COUNT").output().unwrap());
    let first = out.lines().find(|line| line.contains("compute_units=")).unwrap_or_else(|| panic!("{code} {out}{err}"));
    assert!(first.contains("compute_units=1 "), "{out}");
}
