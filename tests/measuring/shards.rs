//! Sweeps that machines share: shards, their merge, their status, and the signal that ends one.

use crate::common::{SIZES, run, seqtune, signal, write};
use seqtune_data::{Dataset, Record};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Products beside [`SIZES`].
const MORE: [&str; 4] = ["M=51,N=60,K=70", "M=52,N=60,K=70", "M=53,N=60,K=70", "M=54,N=60,K=70"];

fn sweep(output: &Path, more: &[&str]) -> (String, String, i32) {
    let output = output.display().to_string();
    run(&[
        &["sweep", "gemm", "--device", "fake", "--sample", "12", "-o", &output, "--problems"][..],
        &SIZES,
        &MORE,
        more,
    ]
    .concat())
}

fn set(path: &Path) -> BTreeSet<String> {
    let key = |r: &Record| format!("{} {} {:.1?}", r.problem, r.config, r.outcome.time_us());
    Dataset::load(path).unwrap().records.iter().map(key).collect()
}

#[test]
fn shards_that_are_merged_hold_what_one_sweep_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).display().to_string();
    assert_eq!(sweep(&at("whole.jsonl"), &[]).2, 0);
    for shard in ["1/3", "2/3", "3/3"] {
        let (out, err, code) = sweep(&at("s.jsonl"), &["--shard", shard]);
        assert_eq!(code, 0, "{out}{err}");
    }
    let parts = ["s.1-of-3.jsonl", "s.2-of-3.jsonl", "s.3-of-3.jsonl"].map(text);
    let merge = |names: &[&String], more: &[&str]| {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        run(&[&["sweep", "merge"][..], &names, more].concat())
    };
    let all = text("all.sqt");
    let (out, err, code) = merge(&parts.iter().collect::<Vec<_>>(), &["-o", &all]);
    assert!(code == 0 && out.contains("120 records of 10 problems from 3 datasets, 0 failed"), "{out}{err}");
    let part = |name: &String| set(Path::new(name));
    assert_eq!(part(&all), set(&at("whole.jsonl")));
    assert!(parts.iter().all(|name| !part(name).is_empty()));

    let (_, err, code) = merge(&[&parts[0], &parts[2]], &["-o", &text("two.sqt")]);
    assert!(code == 2 && err.contains("shard 2 of 3 is missing") && err.contains("--partial"), "{err}");
    assert!(!at("two.sqt").exists());
    let (_, err, code) = merge(&[&parts[0], &parts[2]], &["--partial", "-o", &text("two.sqt")]);
    assert!(code == 0 && err.contains("warning: shard 2 of 3 is missing"), "{err}");
    std::fs::copy(&parts[0], at("copy.jsonl")).unwrap();
    let copy = text("copy.jsonl");
    let again: Vec<&String> = parts.iter().chain([&copy]).collect();
    let (_, err, code) = merge(&again, &["--overwrite", "-o", &all]);
    assert!(code == 0 && err.contains("copy.jsonl holds what another one holds; it counts once"), "{err}");
    // a shard that was measured a second time
    let cut: Vec<String> = std::fs::read_to_string(&parts[0]).unwrap().lines().map(String::from).collect();
    write(folder.path(), "copy.jsonl", (cut[..5].join("\n") + "\n").as_bytes());
    let (_, err, code) = merge(&again, &["--overwrite", "-o", &all]);
    assert!(code == 2 && err.contains("are both shard 1 of 3, and differ"), "{err}");
    let (_, err, code) = merge(&[&copy, &parts[1], &parts[2]], &["--overwrite", "-o", &all]);
    let words = format!("shard 1 of 3 has 4 of {} records", part(&parts[0]).len());
    assert!(code == 2 && err.contains(&words), "{words}: {err}");
    let (_, err, code) = merge(&[&text("whole.jsonl"), &parts[1]], &["--overwrite", "-o", &all]);
    assert!(code == 2 && err.contains("does not belong to") && err.contains("its plan is"), "{err}");
}

#[test]
fn a_shard_goes_on_as_what_it_was_begun_and_an_array_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("s.jsonl");
    let output = at.display().to_string();
    let words =
        [&["sweep", "gemm", "--device", "fake", "--sample", "12", "-o", &output, "--problems"][..], &SIZES, &MORE]
            .concat();
    let array = |words: &[&str], id: &str| {
        let mut command = seqtune(words);
        command.env("SLURM_ARRAY_TASK_ID", id).env("SLURM_ARRAY_TASK_MIN", "0").env("SLURM_ARRAY_TASK_COUNT", "4");
        crate::common::text(command.output().unwrap())
    };
    let auto = [&words[..], &["--shard", "auto"]].concat();
    let (out, err, code) = array(&auto, "2");
    assert!(code == 0 && folder.path().join("s.3-of-4.jsonl").exists(), "{out}{err}");
    let (out, _, code) = array(&auto, "2");
    assert!(code == 0 && out.contains(" 0 measured now"), "{out}");
    // of another plan
    let (_, err, code) = array(&[&words[..], &["M=9,N=9,K=9", "--shard", "auto"]].concat(), "2");
    assert!(code == 2 && err.contains("was begun with shard 3 of 4 (plan"), "{err}");
    let (_, err, code) = run(&[&words[..], &["--shard", "auto"]].concat());
    assert!(code == 2 && err.contains("write --shard I/N"), "{err}");
    for wrong in ["0/4", "5/4", "x"] {
        let (_, err, code) = run(&[&words[..], &["--shard", wrong]].concat());
        assert!(code == 2 && err.contains(&format!("--shard {wrong}")), "{err}");
    }
    let (out, err, code) = run(&["sweep", "status", &folder.path().display().to_string()]);
    assert!(code == 0 && out.contains("| 3 of 4 | fake |"), "{out}{err}");
    assert!(out.contains("gemm: 1 of 4 shards complete") && out.contains("3 not begun: 1, 2, 4"), "{out}");
}

#[test]
fn a_shard_that_no_sweep_has_is_refused_by_check_merge_and_status_alike() {
    // what lies in the system's folder is others'
    let outer = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir_in(outer.path()).unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    assert_eq!(sweep(Path::new(&at("s.jsonl")), &["--shard", "1/2"]).2, 0);
    let journal = at("s.1-of-2.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let (index, of, output) = ("\"index\":1", "\"of\":2", at("all.sqt"));
    assert!(text.contains(index) && text.contains(of));
    for (other_index, other_of) in
        [("0", "2"), ("3", "2"), ("1", "0"), ("1", "100001"), ("1", "1099511627776"), ("1", "18446744073709551615")]
    {
        let changed =
            text.replacen(index, &format!("\"index\":{other_index}"), 1).replacen(of, &format!("\"of\":{other_of}"), 1);
        std::fs::write(&journal, changed).unwrap();
        let fault = format!("s.1-of-2.jsonl: line 1: shard {other_index} of {other_of}: ");
        for words in [&["check", &journal][..], &["sweep", "merge", &journal, "-o", &output, "--partial"]] {
            let (out, err, code) = run(words);
            assert!(code == 2 && err.contains(&fault) && out.is_empty(), "{words:?}: {out}{err}");
        }
        let (out, err, code) = run(&["sweep", "status", &folder.path().display().to_string()]);
        assert!(code == 0 && err.contains(&fault) && !out.contains("gemm"), "{out}{err}");
    }
    // nothing is named into a folder above, and no shard is put beside a folder of the same name
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    for output in ["inner/..", "inner"] {
        let (_, err, code) = sweep(Path::new(&at(output)), &["--shard", "1/2"]);
        assert!(code == 2 && (err.contains("names no file") || err.contains("is a folder")), "{err}");
    }
    let parent = folder.path().parent().unwrap();
    assert!(
        std::fs::read_dir(parent).unwrap().flatten().all(|e| !e.file_name().to_string_lossy().starts_with(".1-of-2"))
    );
}

#[test]
fn shards_of_two_devices_are_merged_apart() {
    let folder = tempfile::tempdir().unwrap();
    for shard in ["1/2", "2/2"] {
        assert_eq!(sweep(&folder.path().join("s.jsonl"), &["--shard", shard]).2, 0);
    }
    let second = folder.path().join("s.2-of-2.jsonl");
    let text = std::fs::read_to_string(&second).unwrap().replacen("\"name\":\"fake\"", "\"name\":\"other\"", 1);
    std::fs::write(&second, text).unwrap();
    let (place, all) = (folder.path().display().to_string(), folder.path().join("all.sqt").display().to_string());
    let (_, err, code) = run(&["sweep", "merge", &place, "-o", &all]);
    assert!(code == 2 && err.contains("is of fake") && err.contains("of other; --by-device"), "{err}");
    let (out, err, code) = run(&["sweep", "merge", &place, "--by-device", "-o", &all]);
    assert!(code == 0 && err.contains("shard 2 of 2 is missing"), "{out}{err}");
    let records = |name: &str| Dataset::load(&folder.path().join(name)).unwrap().records.len();
    assert_eq!(records("all.fake.sqt") + records("all.other.sqt"), 120);
}

#[test]
fn devices_whose_names_make_one_file_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for shard in ["1/2", "2/2"] {
        assert_eq!(sweep(&folder.path().join("s.jsonl"), &["--shard", shard]).2, 0);
    }
    for (file, name) in [("s.1-of-2.jsonl", "A 1"), ("s.2-of-2.jsonl", "A-1")] {
        let path = folder.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"name\":\"fake\"", &format!("\"name\":\"{name}\""), 1)).unwrap();
    }
    let place = folder.path().display().to_string();
    for output in ["all.sqt", "..", "."] {
        let output = folder.path().join(output).display().to_string();
        let (_, err, code) = run(&["sweep", "merge", &place, "--by-device", "--overwrite", "-o", &output]);
        assert!(
            code == 2 && ["would be one file", "names no file", "is a folder"].iter().any(|w| err.contains(w)),
            "{err}"
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is written");
}

#[test]
fn a_sweep_that_a_batch_system_ends_stops_at_once_and_tears_down() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = r#"
name = "slow"
meaning = "a slow program"
field = [{ name = "n", kind = "size", min = 1, max = 100, shape = true, meaning = "size" }]
parameter = [{ name = "A", values = [1, 2, 3, 4, 5, 6, 7, 8], default = 1, meaning = "what it does" }]
[run]
command = ["sleep", "0.{A}"]
setup = ["touch", "{kernel}/is-set-up"]
teardown = ["rm", "{kernel}/is-set-up"]
time = "wall"
"#;
    write(folder.path(), "kernel.toml", kernel.as_bytes());
    let (place, journal) = (folder.path().display().to_string(), folder.path().join("a.jsonl"));
    let output = journal.display().to_string();
    let words = ["sweep", &place, "--exhaustive", "-o", &output, "--problems", "n=1", "n=2", "n=3"];
    let mut command = seqtune(&words);
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let set_up = folder.path().join("is-set-up");
    let began = Instant::now();
    while !set_up.exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "no set-up");
        std::thread::sleep(Duration::from_millis(20));
    }
    let asked = Instant::now();
    signal(child.id(), libc::SIGTERM);
    let status = child.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    // the rest of the sweep would take minutes
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
    assert!(status.code() == Some(1) && said.contains("stopped by a signal at ") && said.contains(" of 24"), "{said}");
    assert!(!set_up.exists(), "teardown has run");
    assert!(Dataset::load(&journal).unwrap().records.len() < 24);
}
