//! Sweeps that are killed, stopped, truncated and left without disk at random moments: nothing that was written is lost, nothing is
//! measured twice, and the same command goes on. `SEQTUNE_KILLS` says how often (25).

use crate::common::{run, seqtune, signal, test_generator, text};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_data::{Dataset, Outcome};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIZES: [&str; 4] = ["M=64,N=64,K=64", "M=100,N=7,K=3", "M=1,N=512,K=256", "M=33,N=33,K=33,transB=T"];

/// Seconds within which workers are gone after their parent.
const ORPHANS: f64 = 120.0;

fn sweep(journal: &Path) -> Command {
    let path = journal.to_str().unwrap();
    let args = ["sweep", "gemm", "--device", "fake", "--sample", "25", "--timeout", "2s", "-o", path, "--problems"];
    let mut command = seqtune(&[&args[..], &SIZES].concat());
    command.env("SEQTUNE_FAKE", "slow=1").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// What two sweeps of the same plan have in common; fails where a config was measured twice.
fn records(journal: &Path) -> BTreeSet<String> {
    let dataset = Dataset::load(journal).unwrap();
    let key = |r: &seqtune_data::Record| match &r.outcome {
        Outcome::Measured(m) => format!("{} {} {:.3}", r.problem, r.config, m.samples_us[0]),
        other => format!("{} {} {other:?}", r.problem, r.config),
    };
    let keys: BTreeSet<String> = dataset.records.iter().map(key).collect();
    let configs: BTreeSet<String> = dataset.records.iter().map(|r| format!("{} {}", r.problem, r.config)).collect();
    assert_eq!(configs.len(), dataset.records.len(), "a config was measured twice");
    keys
}

/// The lines of a journal that are whole.
fn whole_lines(journal: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(journal).unwrap_or_default();
    bytes.truncate(bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1));
    bytes
}

fn workers(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    children.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn pause(rng: &mut ChaCha8Rng, most_ms: u64) {
    std::thread::sleep(Duration::from_millis(rng.random_range(0..most_ms)));
}

/// One disturbance of a running sweep, after which it is gone or goes on; returns its name.
fn disturb(child: &mut Child, journal: &Path, rng: &mut ChaCha8Rng) -> &'static str {
    let parent = child.id();
    let worker = workers(parent).choose(rng).copied();
    match (rng.random_range(0..14), worker) {
        (0 | 1, Some(worker)) => {
            signal(worker, libc::SIGKILL);
            pause(rng, 300);
            "killed worker"
        }
        (2, Some(worker)) => {
            signal(worker, libc::SIGTERM);
            pause(rng, 300);
            "ended worker"
        }
        (3 | 4, Some(worker)) => {
            // as long as a config may be silent, and longer
            signal(worker, libc::SIGSTOP);
            pause(rng, 4_000);
            "stopped worker"
        }
        (5, _) => {
            signal(parent, libc::SIGSTOP);
            pause(rng, 2_000);
            signal(parent, libc::SIGCONT);
            pause(rng, 300);
            "stopped parent"
        }
        (6, _) if !whole_lines(journal).is_empty() => {
            let (_, err, code) = text(sweep(journal).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap());
            let is_refused = code == 2 && err.contains("another sweep is writing it");
            assert!(is_refused || child.try_wait().unwrap().is_some(), "{code} {err}");
            "second writer"
        }
        (7, _) => {
            signal(parent, libc::SIGINT);
            "interrupted"
        }
        (8, _) => {
            signal(parent, libc::SIGTERM);
            "ended"
        }
        _ => "killed",
    }
}

/// Cuts a journal behind its header, or leaves half a line at its end; returns its name.
fn damage(journal: &Path, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let bytes = std::fs::read(journal).ok()?;
    let header = bytes.iter().position(|b| *b == b'\n')? + 1;
    match rng.random_range(0..8) {
        0 => {
            std::fs::write(journal, &bytes[..rng.random_range(header..=bytes.len())]).unwrap();
            Some("truncated")
        }
        1 => {
            std::fs::write(journal, [&whole_lines(journal)[..], br#"{"problem":"M=64,N"#].concat()).unwrap();
            Some("half a line")
        }
        _ => None,
    }
}

/// Waits until these processes are gone.
fn expect_gone(processes: &[u32]) {
    let began = Instant::now();
    while processes.iter().any(|process| is_running(*process)) {
        assert!(began.elapsed().as_secs_f64() < ORPHANS, "workers outlive their parent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Disturbs a sweep until it ends by itself or was killed often enough; returns the number of kills.
fn torment(
    journal: &Path,
    most: usize,
    rng: &mut ChaCha8Rng,
    told: &mut std::collections::BTreeMap<&str, usize>,
) -> usize {
    let mut kills = 0;
    while kills < most {
        let before = whole_lines(journal);
        let mut child = sweep(journal).spawn().unwrap();
        pause(rng, 700);
        *told.entry(disturb(&mut child, journal, rng)).or_default() += 1;
        let (seen, left) = (whole_lines(journal), workers(child.id()));
        let is_over = child.try_wait().unwrap().is_some_and(|status| status.success());
        signal(child.id(), libc::SIGKILL);
        child.wait().unwrap();
        expect_gone(&left);
        let after = std::fs::read(journal).unwrap_or_default();
        assert!(seen.starts_with(&before) && after.starts_with(&seen), "a record was lost after {kills} kills");
        if is_over {
            break;
        }
        kills += 1;
        if let Some(name) = damage(journal, rng) {
            *told.entry(name).or_default() += 1;
        }
    }
    kills
}

#[test]
fn a_tormented_sweep_loses_nothing_repeats_nothing_and_ends_as_a_calm_one() {
    let wanted: usize = std::env::var("SEQTUNE_KILLS").ok().map_or(25, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let calm = folder.path().join("calm.jsonl");
    assert!(sweep(&calm).status().unwrap().success());
    let calm = records(&calm);
    let (began, mut kills, mut rounds) = (Instant::now(), 0, 0);
    let mut told = std::collections::BTreeMap::new();
    let mut rng = test_generator(24);
    while kills < wanted {
        let journal = folder.path().join(format!("{rounds}.jsonl"));
        kills += torment(&journal, wanted - kills, &mut rng, &mut told);
        rounds += 1;
        assert!(sweep(&journal).status().unwrap().success());
        assert_eq!(records(&journal), calm, "round {rounds}");
    }
    println!(
        "{kills} kills in {rounds} sweeps of {} configs, {:.0} s: {told:?}; no record lost, none twice",
        calm.len(),
        began.elapsed().as_secs_f64()
    );
}

#[test]
fn a_file_that_may_not_grow_ends_a_sweep_with_a_sentence_and_the_same_command_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (calm, journal) = (folder.path().join("calm.jsonl"), folder.path().join("full.jsonl"));
    assert!(sweep(&calm).status().unwrap().success());
    let command = sweep(&journal);
    let mut limited = Command::new("sh");
    // a limit of 8 or 16 kB, by what the shell counts in
    limited.args(["-c", "ulimit -f 16; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    limited.env("SEQTUNE_FAKE", "slow=1").current_dir(crate::common::root());
    let (_, err, code) = text(limited.output().unwrap());
    assert!(code == 1 && err.contains("full.jsonl") && err.contains("File too large"), "{code} {err}");
    let kept = records(&journal);
    assert!(!kept.is_empty() && std::fs::read(&journal).unwrap() == whole_lines(&journal));
    // neither does an output that is written whole leave a part
    let packed = folder.path().join("packed.sqt");
    let convert = ["-c", "ulimit -f 1; exec \"$0\" export dataset \"$1\" -o \"$2\""];
    let mut limited = Command::new("sh");
    limited.args(convert).arg(command.get_program()).args([&calm, &packed]).current_dir(crate::common::root());
    let (_, err, code) = text(limited.output().unwrap());
    assert!(code == 1 && err.contains("packed.sqt"), "{code} {err}");
    let names = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.collect::<BTreeSet<_>>(), BTreeSet::from(["calm.jsonl".to_string(), "full.jsonl".into()]));
    assert!(sweep(&journal).status().unwrap().success());
    let ended = records(&journal);
    assert!(ended == records(&calm) && ended.is_superset(&kept));
}

#[test]
fn a_full_disk_ends_a_sweep_with_a_sentence_and_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, kept) = (folder.path().join("disk"), folder.path().join("kept.jsonl"));
    std::fs::create_dir(&disk).unwrap();
    let command = sweep(&disk.join("full.jsonl"));
    let mut full = Command::new("unshare");
    // the file system is gone with its name space
    let script = "mount -t tmpfs -o size=16k none \"$0\" || exit 77; out=$1; shift; \"$@\"; code=$?; cp \"$0/full.jsonl\" \"$out\"; exit $code";
    full.args(["-rm", "sh", "-c", script]).args([&disk, &kept]).arg(command.get_program()).args(command.get_args());
    let Ok(output) = full.env("SEQTUNE_FAKE", "slow=1").current_dir(crate::common::root()).output() else {
        return println!("skipped: there is no unshare; `apt-get install util-linux` brings it");
    };
    let (out, err, code) = text(output);
    if code == 77 || err.contains("unshare") {
        return println!(
            "skipped: this machine lets nobody mount a file system ({}); it takes root, or name spaces of users",
            err.trim()
        );
    }
    assert!(code == 1 && err.contains("full.jsonl") && err.contains("No space left"), "{code} {out}{err}");
    assert!(!records(&kept).is_empty() && std::fs::read(&kept).unwrap() == whole_lines(&kept));
}

#[test]
fn a_folder_that_vanished_or_is_read_only_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sealed = folder.path().join("sealed");
    std::fs::create_dir(&sealed).unwrap();
    std::fs::set_permissions(&sealed, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    let calm = folder.path().join("calm.jsonl");
    assert!(sweep(&calm).status().unwrap().success());
    let target = sealed.join("x.sqt").display().to_string();
    let (_, err, code) = run(&["export", "dataset", calm.to_str().unwrap(), "-o", &target]);
    // root writes everywhere
    assert!(code == 1 && err.contains("sealed") || code == 0 && Path::new(&target).is_file(), "{code} {err}");
    // a sweep keeps writing to the file that it has open; what has no name any more is its user's wish
    let (gone, inner) = (folder.path().join("gone"), folder.path().join("gone/j.jsonl"));
    std::fs::create_dir(&gone).unwrap();
    let mut child = sweep(&inner).spawn().unwrap();
    let began = Instant::now();
    while whole_lines(&inner).is_empty() && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed().as_secs_f64() < ORPHANS, "nothing is measured");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_dir_all(&gone).unwrap();
    assert!(child.wait().unwrap().code().is_some_and(|code| code <= 1));
}
