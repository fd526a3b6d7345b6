//! A step of a program: a process that is started, watched, and ended with all that it started.

use crate::processes::guard::{confine, end_children, kill_group, kill_tree};
use crate::processes::lines::Tail;
use crate::processes::tree::children;
use seqtune_data::{Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result, input, printable, quote};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Characters of what a program said last, in a failure.
const WORDS: usize = 300;

/// Time between two looks at how long a program has run, and a delay of one by which this process was suspended.
const SLICE: Duration = Duration::from_millis(100);
const SUSPENDED: Duration = Duration::from_secs(1);

/// The next message, waited for as long as is `left`; who asks again waits for the rest of it, whatever came meanwhile. Time in which this
/// process was suspended, as batch systems suspend a job with all of its processes, does not count.
pub(super) fn receive<T>(from: &Receiver<T>, left: &mut Duration) -> std::result::Result<T, RecvTimeoutError> {
    while !left.is_zero() {
        let (slice, began) = (SLICE.min(*left), Instant::now());
        let message = from.recv_timeout(slice);
        if began.elapsed() < slice + SUSPENDED {
            *left = left.saturating_sub(began.elapsed());
        }
        if !matches!(message, Err(RecvTimeoutError::Timeout)) {
            return message;
        }
    }
    Err(RecvTimeoutError::Timeout)
}

/// A process to start.
pub struct ProcessStep {
    /// Program with its words.
    pub words: Vec<String>,
    /// Variables beside those of this process.
    pub environment: Vec<(String, String)>,
    /// Folder in which it runs.
    pub folder: PathBuf,
    /// Processor cores that it may use; all where empty.
    pub cores: Vec<usize>,
    /// Time after which it is killed.
    pub limit: Duration,
}

/// A process that has ended.
pub struct Ended {
    /// How it ended; `None` where it was killed for its time.
    pub status: Option<ExitStatus>,
    /// Standard output, the end of it where it is long.
    pub output: String,
    /// Standard error, the end of it.
    pub errors: String,
    /// Time from start to end.
    pub took: Duration,
    /// Time that it had.
    limit: Duration,
}

impl ProcessStep {
    /// Starts the process, in a group of its own.
    ///
    /// # Errors
    /// [`Error::Input`] where there is no such program.
    pub fn start(&self, stdin: Stdio) -> Result<Child> {
        let Some((program, words)) = self.words.split_first() else {
            return input("[run]: the command has no words");
        };
        let mut command = Command::new(program);
        command.args(words).envs(self.environment.iter().map(|(k, v)| (k, v))).current_dir(&self.folder);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        confine(&mut command, self.cores.clone());
        tracing::trace!("starting {:?}", self.words);
        command.spawn().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::Input(format!(
                "[run]: there is no program `{}`; write {{kernel}}/NAME for a file of the kernel's folder",
                quote(program)
            )),
            std::io::ErrorKind::PermissionDenied => {
                Error::Input(format!("[run]: `{}` may not be executed", quote(program)))
            }
            _ => Error::Failed(format!("[run]: starting `{}`: {e}", quote(program))),
        })
    }

    /// Runs the process to its end, or to its limit; what it has started ends with it.
    ///
    /// # Errors
    /// The error of [`ProcessStep::start`].
    pub fn run(&self) -> Result<Ended> {
        let before = children(std::process::id());
        let began = Instant::now();
        let mut child = self.start(Stdio::null())?;
        let leader = child.id();
        let (output, errors) = (Tail::listen(child.stdout.take()), Tail::listen(child.stderr.take()));
        let (done, ended) = channel::<()>();
        let limit = self.limit;
        // the time is taken by who waits without looking at a clock
        let watch = std::thread::spawn(move || match receive(&ended, &mut limit.clone()) {
            Err(RecvTimeoutError::Timeout) => {
                kill_tree(leader);
                true
            }
            _ => false,
        });
        let status = child.wait().map_err(|e| Error::Failed(format!("[run]: waiting for a program: {e}")))?;
        let took = began.elapsed();
        drop(done);
        let is_late = watch.join().unwrap_or(false);
        kill_group(leader);
        end_children(&before);
        let (output, errors) = (output.text(), errors.text());
        Ok(Ended { status: Some(status).filter(|_| !is_late), output, errors, took, limit })
    }
}

impl Ended {
    /// How the process has failed, from its end alone.
    pub fn failure(&self) -> Option<Invalidity> {
        let Some(status) = self.status else {
            let detail = format!("it ran for {:.1} s and was killed{}", self.limit.as_secs_f64(), self.last_words());
            return Some(Invalidity::new(InvalidityKind::Timeout, detail));
        };
        let how = match (status.code(), status.signal()) {
            (Some(0), _) => return None,
            (Some(code), _) => format!("it ended with exit code {code}"),
            (None, signal) => format!("it was ended by signal {}", signal.unwrap_or(0)),
        };
        Some(Invalidity::new(InvalidityKind::Runtime, how + &self.last_words()))
    }

    /// The last line that it wrote, of its errors before its output.
    pub fn last_words(&self) -> String {
        let last = |text: &str| text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(String::from);
        match last(&self.errors).or_else(|| last(&self.output)) {
            Some(line) => format!("; its last words: {}", printable(&line.chars().take(WORDS).collect::<String>())),
            None => "; it said nothing".into(),
        }
    }
}

/// Processor cores from a list such as `0-3,8`.
///
/// # Errors
/// [`Error::Input`] where the text is no such list.
pub fn cores(text: &str) -> Result<Vec<usize>> {
    let wrong = || Error::Input(format!("[run] cores = `{}`: write numbers and ranges, as 0-3,8", quote(text)));
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<usize>(), last.trim().parse::<usize>());
        match (first, last) {
            (Ok(first), Ok(last)) if first <= last && last < 1_024 => all.extend(first..=last),
            _ => return Err(wrong()),
        }
    }
    Ok(all)
}
