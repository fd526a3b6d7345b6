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
        return Ok(MEMORY_SHARE * machine_memory().unwrap_or(f64::INFINITY));
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

/// Memory of the machine in bytes, where the system tells it.
fn machine_memory() -> Option<f64> {
    // SAFETY: asks for two numbers
    let [pages, size] = unsafe { [libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)] };
    (pages > 0 && size > 0).then_some(pages as f64 * size as f64)
}

/// Bytes of its own that a process has in memory, where the system tells it.
pub fn memory_of(process: u32) -> Option<f64> {
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
