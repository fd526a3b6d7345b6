//! What a sweep starts ends with it, however it ends: children, their children, daemons, and those that take no signal.

use crate::common::{seqtune, write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for what takes milliseconds on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts five processes, each of which writes its number into `pids`: a child, a daemon that takes no signal and its child, a daemon without an
/// environment, and itself.
const SCRIPT: &str = r#"
cd "$1"
sleep 600 & echo $! >> pids
(setsid sh -c 'trap "" HUP INT QUIT TERM USR1 USR2 ALRM; echo $$ >> pids; sleep 600 & echo $! >> pids; wait; sleep 600' > /dev/null 2>&1 &)
(env -i "$(command -v setsid)" sh -c 'echo $$ >> pids; exec sleep 600' > /dev/null 2>&1 &)
echo $$ >> pids
sleep 600
"#;

const STARTED: usize = 5;

/// A folder with a kernel whose `[run]` is `run`, `{script}` in which stands for the words that start [`SCRIPT`].
fn kernel(run: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "script.sh", SCRIPT.as_bytes());
    let head = "name = 'mine'\nmeaning = 'mine'\nfield = [{ name = 'n', kind = 'size', min = 1, max = 9, shape = true, meaning = 'size' }]\n\
                parameter = [{ name = 'A', values = [1, 2], default = 1, meaning = 'one' }]\n";
    let run = run.replace("{script}", "['sh', '{kernel}/script.sh', '{kernel}']");
    write(folder.path(), "kernel.toml", format!("{head}[run]\nfiles = ['script.sh']\n{run}\n").as_bytes());
    std::fs::create_dir(folder.path().join("tmp")).unwrap();
    folder
}

/// A sweep that takes each signal as the system does, whatever this test ignores.
fn sweep(folder: &Path) -> Child {
    let path = folder.display().to_string();
    let journal = folder.join("a.jsonl").display().to_string();
    let mut command = seqtune(&["sweep", &path, "--problems", "n=4", "--exhaustive", "-o", &journal]);
    command.env("TMPDIR", folder.join("tmp")).env("SEQTUNE_CACHE", folder.join("cache"));
    // SAFETY: between fork and exec it calls one function of the system
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            (1..32).for_each(|signal| _ = libc::signal(signal, libc::SIG_DFL));
            Ok(())
        });
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the processes of a sweep have all been started, and gives their numbers.
fn started(folder: &Path) -> Vec<u32> {
    let read = || std::fs::read_to_string(folder.join("pids")).unwrap_or_default();
    wait_until("the program is not started", || read().lines().count() >= STARTED);
    read().lines().map(|id| id.parse().unwrap()).collect()
}

fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn expect_gone(what: &str, processes: &[u32]) {
    wait_until(&format!("{what}: processes outlive the sweep"), || !processes.iter().any(|id| is_running(*id)));
}

fn send(process: u32, signal: i32) {
    // SAFETY: sends a signal to a process that this test has started
    unsafe { libc::kill(process as libc::pid_t, signal) };
}

fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>()).collect()
}

/// Working folders that a sweep has left behind.
fn folders(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder.join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn whatever_ends_a_sweep_ends_all_that_it_has_started() {
    let signals = [
        ("hang-up", libc::SIGHUP),
        ("interrupt", libc::SIGINT),
        ("quit", libc::SIGQUIT),
        ("kill", libc::SIGKILL),
        ("a user's first signal", libc::SIGUSR1),
        ("a user's second signal", libc::SIGUSR2),
        ("alarm", libc::SIGALRM),
        ("termination", libc::SIGTERM),
        ("too much time", libc::SIGXCPU),
        ("an abort", libc::SIGABRT),
    ];
    for (what, signal) in signals {
        let folder = kernel("command = {script}\ntime = 'wall'\ntimeout = 500");
        let mut sweep = sweep(folder.path());
        let processes = started(folder.path());
        let below = children(sweep.id());
        assert!(!below.is_empty(), "{what}");
        send(sweep.id(), signal);
        assert!(!sweep.wait().unwrap().success(), "{what}");
        expect_gone(what, &[&processes[..], &below].concat());
        wait_until(&format!("{what}: {:?} stays behind", folders(folder.path())), || folders(folder.path()).is_empty());
    }
}

#[test]
fn a_set_up_a_build_and_a_served_program_end_with_a_sweep_that_is_killed() {
    for run in [
        "command = ['true']\ntime = 'wall'\nsetup = {script}",
        "command = ['true']\ntime = 'wall'\nbuild = {script}",
        "command = {script}\nserve = true\ntimeout = 500",
    ] {
        let folder = kernel(run);
        let mut sweep = sweep(folder.path());
        let processes = started(folder.path());
        send(sweep.id(), libc::SIGKILL);
        sweep.wait().unwrap();
        expect_gone(run, &processes);
    }
}

#[test]
fn what_a_worker_has_started_ends_with_it_whichever_of_its_processes_is_killed() {
    // the keeper, and the worker itself
    for which in [0, 1] {
        let folder = kernel("command = {script}\ntime = 'wall'\ntimeout = 500");
        let mut sweep = sweep(folder.path());
        let processes = started(folder.path());
        let keepers = children(sweep.id());
        let workers: Vec<u32> = keepers.iter().flat_map(|id| children(*id)).collect();
        assert!(!workers.is_empty());
        let killed = if which == 0 { &keepers } else { &workers };
        killed.iter().for_each(|id| send(*id, libc::SIGKILL));
        expect_gone("a worker was killed", &[&processes[..], &keepers, &workers].concat());
        send(sweep.id(), libc::SIGKILL);
        sweep.wait().unwrap();
    }
}

#[test]
fn the_keeper_alone_ends_what_is_left_where_all_others_are_killed_at_once_or_it_is_suspended() {
    let folder = kernel("command = {script}\ntime = 'wall'\ntimeout = 500");
    let mut sweep = sweep(folder.path());
    let processes = started(folder.path());
    let keepers = children(sweep.id());
    let workers: Vec<u32> = keepers.iter().flat_map(|id| children(*id)).collect();
    // none has the name of the program, by which a user may kill them all
    let name = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap();
    assert!(
        keepers.iter().all(|id| !name(id).contains("seqtune")),
        "{:?}",
        keepers.iter().map(name).collect::<Vec<_>>()
    );
    keepers.iter().for_each(|id| send(*id, libc::SIGSTOP));
    workers.iter().for_each(|id| send(*id, libc::SIGKILL));
    send(sweep.id(), libc::SIGKILL);
    sweep.wait().unwrap();
    // as the system itself wakes a group of suspended processes that nobody is left to wake
    keepers.iter().for_each(|id| send(*id, libc::SIGCONT));
    expect_gone("all but the keeper were killed", &[processes, keepers].concat());
}
