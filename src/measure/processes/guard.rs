//! What keeps a program under measurement from taking more with it than its worker: process groups, memory, standard output.

use crate::processes::tree::{children, descendants, is_spared};
use seqtune_kernel::error::{Result, input, quote};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Share of the machine's memory that a worker may fill.
const MEMORY_SHARE: f64 = 0.875;

/// Variable that states the most memory of a worker in gigabytes.
const MEMORY: &str = "SEQTUNE_WORKER_MEMORY";

/// Bytes of memory that a worker may fill.
///
/// # Errors
/// [`Error::Input`](seqtune_kernel::error::Error::Input) where the variable is no number above 0.
pub fn most_memory() -> Result<f64> {
    let Some(text) = std::env::var_os(MEMORY) else {
        let machine = seqtune_devices::host::memory().unwrap_or(f64::INFINITY);
        return Ok(MEMORY_SHARE * machine.min(seqtune_devices::host::job_memory()));
    };
    let gigabytes =
        text.to_str().and_then(|text| text.trim().parse::<f64>().ok()).filter(|gb| gb.is_finite() && *gb > 0.0);
    match gigabytes {
        Some(gigabytes) => Ok(gigabytes * 1e9),
        None => input(format!("{MEMORY} is `{}`; it is a number of gigabytes above 0", quote(&text.to_string_lossy()))),
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

/// Whether a group of processes has a member.
pub fn has_group(leader: u32) -> bool {
    // SAFETY: sends no signal, and tells whether one could be sent
    unsafe { libc::kill(-(leader as libc::pid_t), 0) == 0 }
}

/// Kills a process with all that it started, also what has left its group; false where the process may not be killed.
pub fn kill_tree(process: u32) -> bool {
    let below = descendants(process);
    kill_group(process);
    for id in below.iter().filter(|id| !is_spared(**id)) {
        send(*id, libc::SIGKILL);
    }
    send(process, libc::SIGKILL)
}

/// Sends a signal to a process; false where this process may not.
fn send(process: u32, signal: i32) -> bool {
    // SAFETY: sends a signal; where the process is gone nothing happens
    let sent = unsafe { libc::kill(process as libc::pid_t, signal) };
    sent == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EPERM)
}

/// Asks a keeper to end with all that is below it, also one that somebody has stopped.
pub fn ask_to_end(keeper: u32) {
    send(keeper, libc::SIGTERM);
    send(keeper, libc::SIGCONT);
}

/// Kills the children of this process that are not among `spared`, with all that they started, until none is left: what a program has left
/// behind, which would disturb the next config, hold its pipes, and go on after the sweep. Who started a process that is killed may have
/// started another one meanwhile, which this process then adopts, so that it looks again.
pub fn end_children(spared: &[u32]) {
    loop {
        let open = children(std::process::id()).into_iter();
        let left: Vec<u32> = open.filter(|child| !spared.contains(child) && !is_spared(*child)).collect();
        let killed: Vec<u32> = left.into_iter().filter(|child| kill_tree(*child)).collect();
        if killed.is_empty() {
            return;
        }
        for process in killed {
            // SAFETY: waits for a process by its id; where it is no child nothing happens
            unsafe {
                libc::waitpid(process as libc::pid_t, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// Makes a process that is to be started end with the thread that starts it.
pub fn end_with_parent(command: &mut Command) {
    let end = || {
        die_with_parent();
        Ok(())
    };
    // SAFETY: between fork and exec it calls one function of the system, and allocates nothing
    unsafe {
        command.pre_exec(end);
    }
}

/// Makes a process that is to be started end with the thread that starts it, and stay on some processor cores; on all where none is named.
pub fn confine(command: &mut Command, cores: Vec<usize>) {
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
pub fn detach(command: &mut Command) {
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

/// Lets a process, or one that it has started, go on where somebody has stopped it; false where none is stopped.
pub fn wake(process: u32) -> bool {
    let is_stopped = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // the name in brackets before the state may hold anything
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    let stopped: Vec<u32> = std::iter::once(process).chain(children(process)).filter(is_stopped).collect();
    stopped.iter().for_each(|id| _ = send(*id, libc::SIGCONT));
    !stopped.is_empty()
}

/// Prepares a worker's process: it is the first to die where memory is short, and programs that print do so to standard error. Returns the
/// standard output that the parent reads.
///
/// # Errors
/// The error of the system where standard output cannot be kept.
pub fn prepare() -> std::io::Result<File> {
    // not offered everywhere; without it the system chooses itself
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let events = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: both numbers are those of standard streams
    match unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(events),
    }
}

/// Lets no process below this one write a core: a fault on a GPU may leave all of its memory behind in the working folder.
pub fn forbid_cores() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads one structure
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
}

/// What [`fork`] returns in the child.
pub const NO_CHILD: u32 = 0;

/// Splits this process; the number of the child in the parent, [`NO_CHILD`] in the child.
///
/// # Errors
/// The error of the system where there is no process left, or this one has several threads, of which a child would have one.
pub fn fork() -> std::io::Result<u32> {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return Err(std::io::Error::other("a process of several threads is not split"));
    }
    // SAFETY: this process has one thread, so that the child finds no lock held
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        child => Ok(child as u32),
    }
}

/// The number of this process's parent, which changes with the parent's death.
pub fn parent_of_this() -> u32 {
    std::os::unix::process::parent_id()
}

/// How a child has ended, as the system tells it; `None` while it goes on.
pub fn reap(child: u32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: writes one number
    let ended = unsafe { libc::waitpid(child as libc::pid_t, &mut status, libc::WNOHANG) };
    (ended != 0).then_some(status)
}

/// Ends this process as `status` says that another one has ended.
pub fn end_like(status: i32) -> ! {
    // SAFETY: there is one thread; a signal is taken as the system does, and sent to this process itself
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_UNBLOCK, &all, std::ptr::null_mut());
            libc::raise(signal);
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

/// Ends this process at once, as SIGKILL does.
pub fn vanish() {
    send(std::process::id(), libc::SIGKILL);
}

/// Makes this process hold no output open, and gives it a name of its own, so that who kills all processes of the program by its name leaves
/// it to do its work.
pub fn become_unseen() {
    let nowhere = File::options().write(true).open("/dev/null");
    for stream in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: numbers of standard streams and of a file that is open; a name that ends with 0
        unsafe {
            match &nowhere {
                Ok(file) => libc::dup2(std::os::fd::AsRawFd::as_raw_fd(file), stream),
                Err(_) => libc::close(stream),
            };
        }
    }
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_NAME reads a text that ends with 0
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"sweep-keeper".as_ptr());
    }
}

/// Signals of a process of one thread, of which it takes SIGCHLD and SIGTERM alone, and only when it asks for them.
pub struct Signals(libc::c_int);

/// What came while a process waited.
pub struct Seen {
    /// SIGTERM.
    pub is_asked_to_end: bool,
    /// Standard input is a pipe that nobody writes any more.
    pub is_closed: bool,
}

impl Signals {
    /// Blocks all signals.
    pub fn block() -> Signals {
        // SAFETY: sets of signals are plain values
        unsafe {
            let (mut all, mut taken): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
            // ignored by who started the program, it would take the status of children away
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::sigemptyset(&mut taken);
            libc::sigaddset(&mut taken, libc::SIGCHLD);
            libc::sigaddset(&mut taken, libc::SIGTERM);
            Signals(libc::signalfd(-1, &taken, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
        }
    }

    /// Waits for a signal, or for the end of standard input where it is still open, `most` at most.
    pub fn wait(&self, is_open: bool, most: Duration) -> Seen {
        let input = if is_open { libc::STDIN_FILENO } else { -1 };
        let of = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut watched = [of(input, 0), of(self.0, libc::POLLIN)];
        let (mut info, mut is_asked_to_end) = ([0u8; size_of::<libc::signalfd_siginfo>()], false);
        // SAFETY: two structures are read and written; of signals as many bytes as there is room for
        unsafe {
            libc::poll(watched.as_mut_ptr(), 2, most.as_millis() as libc::c_int);
            while libc::read(self.0, info.as_mut_ptr().cast(), info.len()) == info.len() as isize {
                let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
                is_asked_to_end |= number == libc::SIGTERM as u32;
            }
        }
        Seen { is_asked_to_end, is_closed: watched[0].revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 }
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
