//! Programs of the user's own (`[run]`): what they report, how they fail, and that nothing of them stays behind.

use crate::common::{root, run, seqtune, write};
use seqtune_data::{Dataset, InvalidityKind, Outcome, Record};
use seqtune_kernel::Kernel;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const HEAD: &str = r#"
name = "mine"
meaning = "a program for tests"
field = [{ name = "n", kind = "size", min = 1, max = 1000, shape = true, meaning = "size" }]
parameter = [{ name = "A", values = [1, 2, 3, 4, 5, 6, 7, 8], default = 1, meaning = "what it does" }]
"#;

/// A kernel of one parameter with a `[run]`, in a folder of its own with a script.
fn kernel(folder: &Path, run: &str, script: &str) -> String {
    write(folder, "script.sh", script.as_bytes());
    write(folder, "kernel.toml", format!("{HEAD}\n[run]\nfiles = [\"script.sh\"]\n{run}").as_bytes());
    folder.display().to_string()
}

/// Sweeps every config of one problem; the records by their config.
fn sweep(kernel: &str, journal: &Path, more: &[&str]) -> (BTreeMap<String, Record>, String, i32) {
    let journal_text = journal.display().to_string();
    let all = [&["sweep", kernel, "--problems", "n=10", "--exhaustive", "-o", &journal_text], more].concat();
    let (out, err, code) = run(&all);
    let records = Dataset::load(journal).map(|dataset| dataset.records).unwrap_or_default();
    (records.into_iter().map(|r| (r.config.to_string(), r)).collect(), out + &err, code)
}

fn invalid(records: &BTreeMap<String, Record>, config: &str) -> (InvalidityKind, String) {
    match &records[config].outcome {
        Outcome::Invalid(invalid) => (invalid.kind, invalid.detail.clone()),
        other => panic!("{config}: {other:?}"),
    }
}

fn time(records: &BTreeMap<String, Record>, config: &str) -> f64 {
    records[config].outcome.time_us().unwrap_or_else(|| panic!("{config}: {:?}", records[config].outcome))
}

/// Waits for what happens soon on a quiet machine and later on a busy one; fails where it never does.
fn wait_until(what: &str, mut happens: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happens() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_program_that_prints_a_time_is_measured_and_each_way_to_fail_is_booked_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
case $1 in
  1) echo "took 0.0015 s"; echo "joules 0.25"; echo "misses 7"; echo PASSED ;;
  2) echo "took 0.0030 s"; echo PASSED ;;
  3) echo "segment broken" >&2; kill -SEGV $$ ;;
  4) echo "disk is full" >&2; exit 3 ;;
  5) echo "took 0.001 s"; echo FAILED ;;
  6) head -c 9000000 /dev/urandom ;;
  7) sh -c 'echo $$ >> "$0"; exec sleep 600' "$2/left" & setsid sh -c 'echo $$ >> "$0"; exec sleep 600' "$2/left" &
     sh -c 'echo $$ >> "$0"; exec sleep 600' "$2/left" ;;
  8) echo "took -1 s"; echo PASSED ;;
esac
"#;
    let run = r#"
command = ["sh", "{kernel}/script.sh", "{A}", "{kernel}"]
time = { pattern = 'took ([0-9.e+-]+) s' }
joules = { pattern = 'joules ([0-9.]+)' }
counter = { misses = { pattern = 'misses (\d+)' } }
right = "PASSED"
wrong = "FAILED"
timeout = 4
"#;
    let kernel = kernel(folder.path(), run, script);
    let (records, said, code) = sweep(&kernel, &folder.path().join("a.jsonl"), &[]);
    assert_eq!(code, 0, "{said}");
    assert!((time(&records, "A=1") - 1_500.0).abs() < 1.0 && (time(&records, "A=2") - 3_000.0).abs() < 1.0);
    assert_eq!(records["A=1"].outcome.joules(), Some(0.25));
    assert_eq!(records["A=1"].observed.counters, BTreeMap::from([("misses".to_string(), 7.0)]));
    let is = |config: &str, kind: InvalidityKind, words: &str| {
        let (found, detail) = invalid(&records, config);
        assert!(found == kind && detail.contains(words), "{config}: {found:?} {detail}");
    };
    is("A=3", InvalidityKind::Runtime, "signal 11; its last words: segment broken");
    is("A=4", InvalidityKind::Runtime, "exit code 3; its last words: disk is full");
    is("A=5", InvalidityKind::Correctness, "holds `FAILED`");
    is("A=6", InvalidityKind::Correctness, "does not hold `PASSED`");
    is("A=7", InvalidityKind::Timeout, "ran for 4.0 s and was killed");
    is("A=8", InvalidityKind::Runtime, "a time that is not above 0");
    // what the hanging one has started, in its group and out of it
    let left = std::fs::read_to_string(folder.path().join("left")).unwrap();
    let is_left =
        |id: &&str| std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line == b"sleep\x00600\x00");
    wait_until("a process stays behind", || left.lines().filter(is_left).count() == 0);
    assert!(left.lines().count() >= 3, "{left}");
}

#[test]
fn a_program_that_answers_in_json_is_started_once_and_again_after_its_death() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
import json, os, sys, time
print("warming up")
for line in sys.stdin:
    asked = json.loads(line)
    a = asked["config"]["A"]
    answer = {"id": asked["id"]}
    if a == 3: os.abort()
    elif a == 4: print("not json", flush=True); answer["time_ms"] = "soon"
    elif a == 5: answer.update(invalid="compile", why="no such tile")
    elif a == 6: time.sleep(600)
    elif a == 7: answer = {"id": 999, "time_ms": 1}
    elif a == 8: answer.update(right=False, why="off by 2")
    else: answer.update(times_us=[100.0 * a] * asked["samples"], counters={"pid": os.getpid(), "n": asked["problem"]["n"]})
    print(json.dumps(answer), flush=True)
"#;
    let run = "command = [\"python3\", \"{kernel}/script.sh\"]\nserve = true\ntimeout = 5\n";
    let kernel = kernel(folder.path(), run, script);
    let (records, said, code) = sweep(&kernel, &folder.path().join("a.jsonl"), &[]);
    assert_eq!(code, 0, "{said}");
    assert!((time(&records, "A=1") - 100.0).abs() < 0.1 && (time(&records, "A=2") - 200.0).abs() < 0.1, "{records:?}");
    assert_eq!(records["A=1"].observed.counters["n"], 10.0);
    let is = |config: &str, kind: InvalidityKind, words: &str| {
        let (found, detail) = invalid(&records, config);
        assert!(found == kind && detail.contains(words), "{config}: {found:?} {detail}");
    };
    is("A=3", InvalidityKind::Runtime, "signal: 6");
    is("A=4", InvalidityKind::Runtime, "a time that is no number");
    is("A=5", InvalidityKind::Compile, "no such tile");
    is("A=6", InvalidityKind::Timeout, "no answer to the request within 5.0 s");
    is("A=7", InvalidityKind::Runtime, "not the id of the request");
    is("A=8", InvalidityKind::Correctness, "off by 2");
}

#[test]
fn what_a_config_needs_is_built_once_and_a_failing_build_is_a_failure_to_compile() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
if [ "$1" = build ]; then
  echo built >> "$3/../../count"
  [ "$2" != 3 ] || { echo "no such flag" >&2; exit 1; }
  echo "echo took 0.00$2 s" > program
else
  . "$2/program"
fi
"#;
    // four configs share a program
    let run = r#"
build = ["sh", "{kernel}/script.sh", "build", "{A % 4}", "{build}"]
command = ["sh", "{kernel}/script.sh", "run", "{build}"]
time = { pattern = 'took ([0-9.]+) s' }
"#;
    let kernel = kernel(folder.path(), run, script);
    let cache = folder.path().join("cache");
    let sweep = |journal: &str| {
        let path = folder.path().join(journal);
        let all = ["sweep", &kernel, "--problems", "n=10", "--exhaustive", "-o", &path.display().to_string()];
        let output = seqtune(&all).env("SEQTUNE_CACHE", &cache).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let records = Dataset::load(&path).unwrap().records.into_iter();
        records.map(|r| (r.config.to_string(), r)).collect::<BTreeMap<String, Record>>()
    };
    let builds = || std::fs::read_to_string(cache.join("count")).unwrap().lines().count();
    let records = sweep("a.jsonl");
    assert_eq!(builds(), 4, "a build for each remainder");
    assert!((time(&records, "A=1") - 1_000.0).abs() < 1.0 && (time(&records, "A=6") - 2_000.0).abs() < 1.0);
    let (kind, detail) = invalid(&records, "A=7");
    assert!(kind == InvalidityKind::Compile && detail.contains("no such flag"), "{kind:?} {detail}");
    sweep("b.jsonl");
    assert_eq!(builds(), 5, "only what failed is tried again");
}

#[test]
fn set_up_runs_once_for_each_problem_and_teardown_also_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
case $1 in
  setup) echo "setup $2" >> "$3/log"; echo data > data ;;
  teardown) echo "teardown $2" >> "$3/log" ;;
  run) [ -e data ] || exit 9; [ "$2" != 5 ] || kill -KILL $PPID; cat input; echo "took 0.00$2 s" ;;
esac
"#;
    let run = r#"
setup = ["sh", "{kernel}/script.sh", "setup", "{n}", "{kernel}"]
teardown = ["sh", "{kernel}/script.sh", "teardown", "{n}", "{kernel}"]
command = ["sh", "{kernel}/script.sh", "run", "{A}"]
input = [{ file = "input", template = "template.txt" }]
environment = { SIZE = "{n}" }
time = { pattern = 'took ([0-9.]+) s' }
right = '^size 10, half 5, braces \{\}, choice [1-8]$'
"#;
    write(folder.path(), "template.txt", b"size {n}, half {n / 2}, braces {{}}, choice {A}\n");
    let kernel = kernel(folder.path(), run, script);
    let (records, said, code) = sweep(&kernel, &folder.path().join("a.jsonl"), &[]);
    assert_eq!(code, 0, "{said}");
    assert!((time(&records, "A=8") - 8_000.0).abs() < 1.0);
    // whose worker is killed from outside is tried once more
    assert_eq!(invalid(&records, "A=5").0, InvalidityKind::Runtime);
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.chunks(2).all(|pair| pair == ["setup 10", "teardown 10"]), "{lines:?}");
    assert_eq!(lines.len(), 6, "once, and after each of two kills: {lines:?}");
}

#[test]
fn a_program_that_fills_the_memory_is_ended_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "[ \"$1\" != 2 ] || python3 -c 'x = bytearray(400 << 20); import time; time.sleep(600)'\necho took 0.001 s\n";
    let run = "command = [\"sh\", \"{kernel}/script.sh\", \"{A}\"]\ntime = { pattern = 'took ([0-9.]+) s' }\n";
    let kernel = kernel(folder.path(), run, script);
    let path = folder.path().join("a.jsonl").display().to_string();
    let all = ["sweep", &kernel, "--problems", "n=10", "--exhaustive", "-o", &path];
    let output = seqtune(&all).env("SEQTUNE_WORKER_MEMORY", "0.2").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let records = Dataset::load(Path::new(&path)).unwrap().records;
    let failed: Vec<&Record> = records.iter().filter(|r| r.outcome.time_us().is_none()).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(format!("{:?}", failed[0].outcome).contains("GB of memory"), "{failed:?}");
}

#[test]
fn an_interrupted_sweep_of_a_program_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo run >> \"$2/count\"\necho took 0.00$1 s\n";
    let run =
        "command = [\"sh\", \"{kernel}/script.sh\", \"{A}\", \"{kernel}\"]\ntime = { pattern = 'took ([0-9.]+) s' }\n";
    let kernel = kernel(folder.path(), run, script);
    let journal = folder.path().join("a.jsonl");
    let (records, _, _) = sweep(&kernel, &journal, &[]);
    let text = std::fs::read_to_string(&journal).unwrap();
    let cut: Vec<&str> = text.lines().take(4).collect();
    std::fs::write(&journal, cut.join("\n") + "\n").unwrap();
    std::fs::remove_file(folder.path().join("count")).unwrap();
    let (again, said, code) = sweep(&kernel, &journal, &[]);
    assert!(code == 0 && said.contains("5 measured now") && said.contains("3 found"), "{said}");
    assert_eq!(records.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
    // what was found is not run again: 5 configs, some 30 times each at most
    let runs = std::fs::read_to_string(folder.path().join("count")).unwrap().lines().count();
    assert!((20..=5 * 40).contains(&runs), "{runs}");
}

#[test]
fn the_energy_of_a_processor_is_metered_where_linux_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let domain = folder.path().join("power/intel-rapl:0");
    std::fs::create_dir_all(&domain).unwrap();
    write(&domain, "max_energy_range_uj", b"4000000\n");
    write(&domain, "energy_uj", b"3000000\n");
    // 10 W: a double of the counter that is updated every 10 ms, and begins anew at 4 J
    let counter = format!(
        "import os, time\nbegan, parent = time.time(), os.getppid()\nwhile os.getppid() == parent:\n    open('{0}/new', 'w').write(str(int(3e6 + 1e7 * (time.time() - began)) % 4000000))\n    os.rename('{0}/new', '{0}/energy_uj')\n    time.sleep(0.01)\n",
        domain.display()
    );
    let mut double = std::process::Command::new("python3").args(["-c", &counter]).spawn().unwrap();
    let script = "sleep 0.05\necho took 0.05 s\n";
    let run = "command = [\"sh\", \"{kernel}/script.sh\"]\ntime = { pattern = 'took ([0-9.]+) s' }\n";
    let kernel = kernel(folder.path(), run, script);
    let journal = folder.path().join("a.jsonl");
    let path = journal.display().to_string();
    let all = ["sweep", &kernel, "--problems", "n=10", "--sample", "1", "--energy", "-o", &path];
    let output = seqtune(&all).env("SEQTUNE_POWERCAP", folder.path().join("power")).output().unwrap();
    double.kill().unwrap();
    double.wait().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let joules = Dataset::load(&journal).unwrap().records[0].outcome.joules().expect("energy");
    // at 10 W a run of 50 ms and its start take half a joule; more, by how busy the machine is
    assert!((0.3..30.0).contains(&joules), "{joules}");
    let none = ["sweep", &kernel, "--problems", "n=11", "--sample", "1", "--energy", "-o", &path];
    let output = seqtune(&none).env("SEQTUNE_POWERCAP", "/nowhere").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no energy was metered: /nowhere has no counter"), "{said}");
}

#[test]
fn a_wrong_run_table_is_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for (table, words) in [
        ("command = []", "[run] has no command"),
        ("command = [\"x\", \"{B}\"]", "[run] command: `{B}`"),
        ("command = [\"x\", \"{A\"]", "a brace stands alone"),
        ("command = [\"x\"]\ntime = \"clock\"", "write \"wall\""),
        ("command = [\"x\"]\ntimeout = 0", "timeout is not a number of seconds above 0"),
        ("command = [\"x\", \"{build}\"]", "there is no `build` command"),
        ("command = [\"x\"]\nsetup = [\"y\", \"{A}\"]", "names a parameter, which has no value there"),
        ("command = [\"x\", \"{A}\"]\nserve = true", "names a parameter, which has no value there"),
        ("command = [\"x\"]\ninput = [{ file = \"../y\", template = \"script.sh\" }]", "is no name of a file"),
        ("command = [\"x\"]\nfiles = [\"gone.c\"]", "`gone.c`, which is not in the kernel's folder"),
        ("command = [\"x\"]\nbuild = [\"make\"]", "list in `files` what it is built from"),
        ("command = [\"x\"]\nbuilt = [\"make\"]", "unknown field `built`"),
    ] {
        let text = match table.contains("files") {
            true => format!("{HEAD}\n[run]\n{table}\n"),
            false if table.contains("build = ") => format!("{HEAD}\n[run]\n{table}\n"),
            false => format!("{HEAD}\n[run]\nfiles = [\"script.sh\"]\n{table}\n"),
        };
        write(folder.path(), "script.sh", b"");
        let path = write(folder.path(), "kernel.toml", text.as_bytes());
        let (_, err, code) = run(&["check", &path]);
        assert!(code == 2 && err.contains(words), "{table}: {code} {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    // what is only known when it runs
    for (table, code, words) in [
        ("command = [\"no-such-program\"]\ntime = \"wall\"", 2, "there is no program `no-such-program`"),
        ("command = [\"{kernel}/no-such-program\"]\ntime = \"wall\"", 1, "there is no program"),
        ("command = [\"{env.SEQTUNE_NO_SUCH}\"]\ntime = \"wall\"", 2, "the variable SEQTUNE_NO_SUCH is not set"),
        ("command = [\"true\"]\ntime = \"wall\"\nsetup = [\"false\"]", 1, "setup: it ended with exit code 1"),
    ] {
        let kernel = kernel(folder.path(), table, "");
        let journal = folder.path().join("never.jsonl");
        let _ = std::fs::remove_file(&journal);
        let (_, said, found) = sweep(&kernel, &journal, &[]);
        assert!(found == code && said.contains(words), "{table}: {found} {said}");
    }
}

#[test]
fn what_the_machine_lacks_is_booked_of_no_config() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("machine.jsonl");
    // a core that this machine has not
    let kernel = kernel(folder.path(), "command = [\"true\"]\ntime = \"wall\"\ncores = \"1000\"", "");
    let (_, said, code) = sweep(&kernel, &journal, &[]);
    assert!(code == 1 && said.contains("[run]: starting `true`"), "{code} {said}");
    let booked = Dataset::load(&journal).map_or(0, |dataset| dataset.records.len());
    assert_eq!(booked, 0, "the same command goes on elsewhere");
}

/// Sends a signal to all processes of a session.
fn signal(session: u32, signal: i32) {
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // behind the name in brackets: state, parent, group, session
        let of = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(3)?.parse::<u32>().ok());
        if of == Some(session) {
            // SAFETY: sends a signal to a process that this test has started
            unsafe { libc::kill(id, signal) };
        }
    }
}

#[test]
fn a_job_that_is_suspended_takes_no_time_of_its_programs() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("suspended.jsonl");
    // its first run goes on until it is let go, which it is once all of its time has passed while it was suspended
    let script = "[ -e $0.runs ] || { touch $0.runs; until [ -e $0.go ]; do sleep 0.05; done; }; echo took 0.001 s";
    let run = "command = [\"sh\", \"{kernel}/script.sh\"]\ntime = { pattern = 'took ([0-9.]+) s' }\ntimeout = 3";
    let kernel = kernel(folder.path(), run, script);
    let mut sweep = seqtune(&["sweep", &kernel, "--problems", "n=10", "--exhaustive", "-o", journal.to_str().unwrap()]);
    // SAFETY: between fork and exec it calls one function of the system
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut sweep, || {
            libc::setsid();
            Ok(())
        });
    }
    let mut sweep = sweep.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_until("no program was started", || folder.path().join("script.sh.runs").exists());
    signal(sweep.id(), libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(5));
    write(folder.path(), "script.sh.go", b"");
    signal(sweep.id(), libc::SIGCONT);
    assert!(sweep.wait().unwrap().success());
    let records = Dataset::load(&journal).unwrap().records;
    let is_measured = |record: &Record| matches!(record.outcome, Outcome::Measured(_));
    assert!(records.len() == 8 && records.iter().all(is_measured), "{records:?}");
}

#[test]
fn the_examples_of_the_document_are_sound_and_the_small_one_runs() {
    for name in ["openmp", "python", "sqlite"] {
        let kernel = Kernel::open(&root().join("examples/programs").join(name).display().to_string()).unwrap();
        assert!(kernel.run.is_some() && kernel.source().is_err(), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = root().join("examples/programs/python").display().to_string();
    let path = folder.path().join("a.jsonl").display().to_string();
    let (out, err, code) = run(&["sweep", &kernel, "--problems", "rows=50,columns=5", "--exhaustive", "-o", &path]);
    assert!(code == 0 && out.contains("16 records: 16 measured now") && out.contains(" 0 failed"), "{out}{err}");
    let (out, err, code) = run(&["space", &kernel, "rows=50,columns=5", "--device", "host"]);
    assert!(code == 0 && out.contains("[rows] columns"), "{out}{err}");
}
