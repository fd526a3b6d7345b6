//! Files that are not the program's: what is named to be written is looked at before anything is done.

use crate::common::run;
use std::path::Path;
use std::process::Command;

const DATASET: &str = "datasets/gemm/cpu-epyc-2c.sqt";

/// Runs a verb, and says its sentence: one line on standard error, of wrong input.
fn refused(args: &[&str]) -> String {
    let (out, err, code) = run(args);
    assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
    let sentence = err.lines().last().unwrap_or_default();
    assert!(sentence.starts_with("seqtune: ") && sentence.len() < 1_000, "{args:?}: {err}");
    sentence.into()
}

#[test]
fn nothing_takes_the_place_of_what_is_read_or_of_what_seqtune_did_not_make() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (data, note, link) = (path("d.sqt"), path("note.txt"), path("link"));
    std::fs::copy(DATASET, &data).unwrap();
    std::fs::write(&note, "remember the milk").unwrap();
    std::os::unix::fs::symlink(&note, &link).unwrap();
    let before = std::fs::read(&data).unwrap();
    for plot in ["--plot", "--html"] {
        for (file, fault) in
            [(&data, "is what is read"), (&note, "is there and no plot"), (&link, "is there and no plot")]
        {
            let sentence = refused(&["evaluate", "model", "models/gemm-cpu", &data, "--all-problems", plot, file]);
            assert!(sentence.contains(fault), "{sentence}");
        }
    }
    let twice = refused(&["evaluate", "model", "models/gemm-cpu", &data, "--plot", &path("a"), "--html", &path("a")]);
    assert!(twice.contains("is named for two files"), "{twice}");
    for args in [
        &["export", "dataset", &data, "-o", &note][..],
        &["export", "dataset", &data, "-o", &note, "--overwrite"],
        &["export", "csv", &data, "-o", &data, "--overwrite", "--force"],
        &["export", "csv", &data, "-o", &note, "--overwrite"],
        &["export", "t4", &data, "-o", &link, "--overwrite"],
        &["import", "miopen", "tests/goldens/inputs/gfx906_60.db.txt", "-o", &note],
    ] {
        refused(args);
    }
    assert_eq!(std::fs::read(&data).unwrap(), before);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "remember the milk");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing stays beside them");
    assert_eq!(run(&["export", "dataset", &data, "-o", &note, "--force"]).2, 0);
    assert_eq!(run(&["export", "csv", &data, "-o", &path("t.csv")]).2, 0);
    assert_eq!(run(&["export", "csv", &data, "-o", &path("t.csv"), "--overwrite"]).2, 0);
}

#[test]
fn a_model_takes_the_place_of_a_model_of_its_kind_alone_also_through_a_link() {
    use seqtune_console::outputs::{Kind, Replace, claim};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("note"), "remember the milk").unwrap();
    std::fs::copy("models/gemm-cpu/model.safetensors", path("whole")).unwrap();
    std::fs::copy("models/gemm-cpu/distilled.safetensors", path("small")).unwrap();
    for (kind, own, others) in
        [(Kind::SmallModel, "small", ["note", "whole"]), (Kind::Model, "whole", ["note", "small"])]
    {
        claim(&path(own), kind, Replace::OWN, &[]).unwrap();
        for other in others {
            let link = path(&format!("{kind:?} {other}"));
            std::os::unix::fs::symlink(path(other), &link).unwrap();
            for place in [path(other), link] {
                let said = claim(&place, kind, Replace::OWN, &[]).unwrap_err().to_string();
                assert!(said.contains(" is there and no "), "{said}");
            }
        }
    }
    // the library itself, which C and Python build on, replaces no more
    let (whole, small) = (path("m/model.safetensors"), path("m/distilled.safetensors"));
    std::fs::create_dir(path("m")).unwrap();
    let model = seqtune_predict::Model::load(&path("whole")).unwrap();
    for (file, other) in
        [(&whole, path("note")), (&whole, path("small")), (&small, path("note")), (&small, path("whole"))]
    {
        std::os::unix::fs::symlink(&other, file).unwrap();
        let before = std::fs::read(&other).unwrap();
        assert!(model.save(&path("m")).unwrap_err().to_string().contains(" is there and no "));
        assert!(file.is_symlink() && std::fs::read(&other).unwrap() == before);
        std::fs::remove_file(file).unwrap();
    }
    std::fs::copy(path("small"), &small).unwrap();
    model.save(&path("m")).unwrap();
    assert!(whole.is_file() && !small.exists(), "a small decoder of another model goes");
}

#[test]
fn a_problem_that_no_memory_holds_is_told_and_nothing_aborts() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("j.jsonl").display().to_string();
    // 16 GiB a matrix, where a process may have two
    let program = crate::common::seqtune(&[]);
    let words = ["sweep", "gemm", "--device", "fake", "--problems", "M=65536,N=65536,K=65536", "--sample", "2", "-o"];
    let limited = Command::new("sh")
        .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"])
        .arg(program.get_program())
        .args(words)
        .arg(&output)
        .current_dir(crate::common::root())
        .output()
        .unwrap();
    let (out, err, code) = crate::common::text(limited);
    assert!(err.contains("the buffers of kernel gemm have 51.5 GB together"), "{out}{err}");
    assert!(code == 1 && !err.contains("memory allocation"), "{out}{err}");
}

#[test]
fn pipes_devices_and_endless_files_are_refused_wherever_a_file_is_read_or_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (pipe, endless, large) = (path("pipe.toml"), path("zero.toml"), path("large.toml"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    std::fs::File::create(&large).unwrap().set_len(20 << 30).unwrap();
    let out = path("out");
    for file in [&pipe, &endless, &large] {
        let began = std::time::Instant::now();
        for args in [
            &["predict", "models/gemm-cpu", "gemm", file, "--device", "epyc"][..],
            &["predict", file, "gemm", "M=1,N=1,K=1"],
            &["predict", "models/gemm-cpu", "gemm", "M=1,N=1,K=1", "--device", file],
            &["export", "dataset", file, "-o", &out],
            &["export", "csv", file, "-o", &out],
            &["export", "miopen", "models/miopen", file, "-o", &out],
            &["import", "miopen", file, "--device", "MI50", "-o", &out],
            &["import", "autoheuristic", file, "-o", &out],
            &["import", "t4", file, "--kernel", "gemm", "-o", &out],
            &["evaluate", "model", "models/gemm-cpu", file],
        ] {
            refused(args);
        }
        assert!(began.elapsed().as_secs() < 120, "{file} is opened without waiting");
        assert!(!Path::new(&out).exists());
    }
    for file in [&pipe, &endless] {
        refused(&["export", "dataset", DATASET, "-o", file, "--overwrite"]);
    }
}

#[test]
fn problems_are_read_from_a_pipe_that_somebody_writes() {
    let program = env!("CARGO_BIN_EXE_seqtune");
    for source in
        ["<(printf '\\xef\\xbb\\xbfM=64,N=64,K=64\\r\\n')", "/dev/stdin <<< M=64,N=64,K=64", "- <<< M=64,N=64,K=64"]
    {
        let line = format!("{program} predict models/gemm-cpu gemm --device epyc {source}");
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn full_devices_and_closed_pipes_end_the_program_with_their_status() {
    let program = env!("CARGO_BIN_EXE_seqtune");
    let status =
        |line: &str| Command::new("bash").args(["-c", &line.replace("seqtune", program)]).status().unwrap().code();
    assert_eq!(status("seqtune --help > /dev/full"), Some(1));
    assert_eq!(status("seqtune --version > /dev/full"), Some(1));
    assert_eq!(status("seqtune devices > /dev/full 2> /dev/full"), Some(1));
    assert_eq!(status("seqtune space none M=1 2> /dev/full"), Some(2));
    assert_eq!(status("seqtune space 2> /dev/full"), Some(2));
    assert_eq!(status("seqtune space none M=1 2>&-"), Some(2));
    assert_eq!(
        status("set -o pipefail; seqtune space gemm M=64,N=64,K=64 --device H100 --list | head -1 > /dev/null"),
        Some(0)
    );
}

#[test]
fn predicting_opens_no_network_starts_no_process_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let watched = "trace=network,process,openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat";
    let program = env!("CARGO_BIN_EXE_seqtune");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", watched, "-o"]).arg(&trace).arg(program);
    let Ok(output) = strace.args(["predict", "models/gemm-cpu", "gemm", "M=64,N=64,K=64", "--device", "A100"]).output()
    else {
        println!("skipped: strace is not here; `apt-get install strace` brings it");
        return;
    };
    let Ok(calls) = std::fs::read_to_string(&trace) else {
        println!(
            "skipped: strace may watch no process here; it takes root, or a container with the capability SYS_PTRACE"
        );
        return;
    };
    assert!(output.status.success());
    for call in calls.lines().map(|line| line.split_once(' ').map_or(line, |(_, call)| call.trim_start())) {
        let name = call.split('(').next().unwrap_or_default();
        let reads = name == "openat" && call.contains("O_RDONLY");
        // the program itself, its threads and its end
        let own = ["execve", "clone3", "clone", "exit", "exit_group", "rt_sigreturn"].contains(&name)
            && (!name.starts_with("clone") || call.contains("CLONE_THREAD"));
        // a thread that ends with the process in a call that was not yet known has no name for it
        let rest = name.starts_with(['+', '-', '<']) || name == "???";
        assert!(reads || own || rest, "{call}");
    }
    assert_eq!(calls.matches("execve(").count(), 1, "it starts no program");
}
