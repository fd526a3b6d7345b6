//! What keeps a program under measurement from taking more with it than its worker: process groups, memory, standard output.

use seqtune_predict::error::{Result, input, quoted};
use std::fs::File;
use std::os::fd::AsFd;

/// Share of the machine's memory that a worker may fill.
const MEMORY_SHARE: f64 = 0.875;

/// Variable that states the most memory of a worker in gigabytes.
const MEMORY: &str = "SEQTUNE_WORKER_MEMORY";

/// Bytes of memory that a worker may fill.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::error::Error::Input) where the variable is no number above 0.
pub fn most_memory() -> Result<f64> {
    let Some(text) = std::env::var_os(MEMORY) else {
        let machine = seqtune_devices::host::memory().unwrap_or(f64::INFINITY);
        return Ok(MEMORY_SHARE * machine.min(seqtune_devices::host::job_memory()));
    };
    let gigabytes =
        text.to_str().and_then(|text| text.trim().parse::<f64>().ok()).filter(|gb| gb.is_finite() && *gb > 0.0);
    match gigabytes {
        Some(gigabytes) => Ok(gigabytes * 1e9),
        None => {
            input(format!("{MEMORY} is `{}`; it is a number of gigabytes above 0", quoted(&text.to_string_lossy())))
        }
    }
}

/// Bytes of their own that a process and all that it started have in memory, where the system tells it.
pub fn memory_of(process: u32) -> Option<f64> {
    Some(memory_of_one(process)? + descendants(process).into_iter().filter_map(memory_of_one).sum::<f64>())
}

fn memory_of_one(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(1024.0 * line.trim().strip_suffix(" kB")?.parse::<f64>().ok()?)
}

/// Kills a process that leads a group, with all that it started in this group.
pub fn kill_group(leader: u32) {
    // SAFETY: sends a signal; where the group is gone nothing happens
    unsafe {
        libc::kill(-(leader as libc::pid_t), libc::SIGKILL);
    }
}

/// Processes that a process has started and that have not ended, and those that these started.
pub fn descendants(process: u32) -> Vec<u32> {
    let (mut open, mut found) = (vec![process], Vec::new());
    while let Some(process) = open.pop() {
        let children = children(process);
        open.extend(&children);
        found.extend(children);
    }
    found
}

/// Processes that a process has started itself, or taken over from one that ended.
pub fn children(process: u32) -> Vec<u32> {
    // each thread has its own; a system that does not tell them is left to the group
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Kills a process with all that it started, also what has left its group.
pub fn kill_tree(process: u32) {
    let below = descendants(process);
    kill_group(process);
    for id in std::iter::once(&process).chain(&below) {
        // SAFETY: sends a signal; where the process is gone nothing happens
        unsafe {
            libc::kill(*id as libc::pid_t, libc::SIGKILL);
        }
    }
}

/// Kills the children of this process that are not among `spared`, with all that they started: what a program has left behind, which would
/// disturb the next config, and hold its pipes.
pub fn end_children(spared: &[u32]) {
    let left: Vec<u32> = children(std::process::id()).into_iter().filter(|child| !spared.contains(child)).collect();
    left.iter().for_each(|child| kill_tree(*child));
    for process in &left {
        // SAFETY: waits for a process by its id; where it is no child nothing happens
        unsafe {
            libc::waitpid(*process as libc::pid_t, std::ptr::null_mut(), 0);
        }
    }
}

/// Makes a process that is to be started end with the thread that starts it, and stay on some processor cores; on all where none is named.
pub fn confine(command: &mut std::process::Command, cores: Vec<usize>) {
    use std::os::unix::process::CommandExt;
    let stay = move || {
        die_with_parent();
        if cores.is_empty() {
            return Ok(());
        }
        // SAFETY: the set is a plain value, and the numbers of cores are below its size
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            cores.iter().for_each(|core| libc::CPU_SET(*core, &mut set));
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
        };
        if set == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec it calls two functions of the system, and allocates nothing
    unsafe {
        command.pre_exec(stay);
    }
}

/// Lets a process that is to be started leave the session of this one, and be nobody's descendant: what is started ends at once, and its child
/// becomes the program.
pub fn detach(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let leave = || {
        // SAFETY: between fork and exec there is one thread; it calls functions of the system alone
        let left = unsafe {
            match libc::fork() {
                0 => libc::setsid(),
                -1 => -1,
                _ => libc::_exit(0),
            }
        };
        if left == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec it calls three functions of the system, and allocates nothing
    unsafe {
        command.pre_exec(leave);
    }
}

/// Makes this process the parent of what its children leave behind.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_CHILD_SUBREAPER takes a number and touches no memory
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
}

/// Whether a signal is one that others send, rather than what a fault of a program brings about.
pub fn is_from_outside(signal: i32) -> bool {
    [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP].contains(&signal)
}

/// Lets a process that somebody has stopped go on; false where it is not stopped.
pub fn wake(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // the name in brackets before the state may hold anything
    let is_stopped = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
    if is_stopped {
        // SAFETY: sends a signal to a child of this process that has not been waited for
        unsafe {
            libc::kill(process as libc::pid_t, libc::SIGCONT);
        }
    }
    is_stopped
}

/// Prepares a worker's process: it dies with its parent, is the first to die where memory is short, and programs that print do so to
/// standard error. Returns the standard output that the parent reads.
///
/// # Errors
/// The error of the system where standard output cannot be kept.
pub fn prepare() -> std::io::Result<File> {
    die_with_parent();
    // a fault on a GPU may leave all of its memory behind in the working folder
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads one structure
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    // not offered everywhere; without it the system chooses itself
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let events = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: both numbers are those of standard streams
    match unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(events),
    }
}

/// Requests a kill by the system when the parent dies, because a hanging kernel never reads the end of its input.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Lets signals do what they do by default again. A driver may have come before who handles a signal: LLVM within PoCL ends the process on
/// each of these, and a handler that calls the one before it would never get to its own work.
pub fn forget_handlers(signals: &[i32]) {
    for signal in signals {
        // SAFETY: changes the disposition of one signal to the default, which calls nothing
        unsafe {
            libc::signal(*signal, libc::SIG_DFL);
        }
    }
}
