//! `scripts/integrations/miopen_measure.py`: its plan, and the whole of it on a double of MIOpen's driver.

use crate::common::root;
use std::process::{Command, Output};

const NETWORK: &str = "\
./bin/MIOpenDriver convfp16 -n 64 -c 64 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1
MIOpenDriver convfp16 -n 13 -c 64 -H 56 -W 56 -k 128 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 2
MIOpenDriver convfp16 -n 64 -c what
";

fn measure(folder: &std::path::Path, more: &[&str]) -> Option<Output> {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: python3 is missing; `apt-get install python3` brings it");
        return None;
    }
    std::fs::write(folder.join("network.txt"), NETWORK).unwrap();
    std::fs::create_dir_all(folder.join("system")).unwrap();
    std::fs::write(folder.join("system/gfx942_ConvX_encoder.ktn.model"), "").unwrap();
    let program = ["network.txt", "--solver", "ConvHipImplicitGemmGroupFwdXdlops,ConvHipImplicitGemmGroupBwdXdlops"];
    let script = root().join("scripts/integrations/miopen_measure.py");
    let mut command = Command::new("python3");
    command.arg(script).args(program).args(["--rounds", "2", "--system"]).arg(folder.join("system"));
    command.arg("--seqtune").arg(env!("CARGO_BIN_EXE_seqtune")).arg("--models").arg(root().join("models/miopen"));
    Some(command.args(more).current_dir(folder).output().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_dry_run_writes_the_predicted_database_and_prints_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let Some(done) = measure(folder.path(), &["--dry-run", "--no-search"]) else { return };
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{err}");
    // two convolutions of one solver each, four sources, two rounds
    assert_eq!(out.lines().count(), 2 * 4 * 2, "{out}");
    assert!(out.lines().all(|line| line.contains("MIOPEN_DEBUG_FIND_ONLY_SOLVER=ConvHipImplicitGemmGroup")));
    assert!(err.contains("left out: `MIOpenDriver convfp16 -n 64 -c what`"), "{err}");
    let rows = folder.path().join("miopen-measured/user/seqtune/DEVICE.HIP.VERSION.udb.txt");
    assert_eq!(std::fs::read_to_string(rows).unwrap().lines().count(), 2);
}

#[test]
fn what_is_wrong_is_said_in_a_sentence_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("out")).unwrap();
    std::fs::write(folder.path().join("out/times.jsonl"), "{\"of\": [\"a\"]\n").unwrap();
    for (more, expected) in [
        (&["--rounds", "0"][..], "--rounds 0: at least one round"),
        (&["--out", "network.txt"], "--out network.txt: File exists"),
        (&["--device", "nope", "--dry-run"], "no device `nope`"),
        (&["--out", "out", "--dry-run"], "times.jsonl: line 1 is damaged"),
    ] {
        let Some(done) = measure(folder.path(), more) else { return };
        let said = text(&done.stderr);
        let last = said.lines().last().unwrap_or_default();
        assert!(!done.status.success() && last.contains(expected) && last.starts_with("miopen_measure.py: "), "{said}");
    }
    // a line that a kill cut off is measured again
    std::fs::write(folder.path().join("out/times.jsonl"), "{\"of\": [\"a\"").unwrap();
    let done = measure(folder.path(), &["--out", "out", "--dry-run"]).unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn times_are_kept_resumed_and_judged_against_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let driver = root().join("tests/doubles/miopen_driver.py").display().to_string();
    let wrapper = folder.path().join("driver");
    std::fs::write(&wrapper, format!("#!/bin/sh\nexec python3 {driver} \"$@\"\n")).unwrap();
    let wrapper = wrapper.display().to_string();
    Command::new("chmod").args(["+x", &wrapper]).status().unwrap();
    let Some(done) = measure(folder.path(), &["--driver", &wrapper]) else { return };
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{err}");
    assert!(out.contains("| ConvHipImplicitGemmGroupFwdXdlops | 1 | 80.0 | 50.0 | 50.0 | 25.0 |"), "{out}");
    assert!(err.contains("no such luck") && out.contains("10 runs failed"), "{out} {err}");
    let journal = folder.path().join("miopen-measured/times.jsonl");
    let times = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(times.lines().count(), 10);
    // what is there is not measured again
    let Some(again) = measure(folder.path(), &["--driver", &wrapper]) else { return };
    assert_eq!(text(&again.stdout), out);
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), times);
    let Some(none) = measure(folder.path(), &["--driver", "/nowhere/MIOpenDriver", "--out", "other"]) else { return };
    let err = text(&none.stderr);
    assert!(!none.status.success() && err.contains("no such program") && !err.contains("Traceback"), "{err}");
}
