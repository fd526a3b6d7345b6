//! A worker's process: how it is started, watched and ended.

use crate::processes::guard::{ask_to_end, has_group, kill_group, kill_tree, memory_of};
use crate::processes::lines::for_each_line;
use crate::worker::last_words::LastWords;
use crate::worker::protocol::Event;
use crate::worker::setup::Setup;
use seqtune_kernel::error::{Error, Result};
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Pause between two looks at a worker that says nothing.
pub(super) const WATCH: Duration = Duration::from_millis(100);

/// Longest wait for the end of a process that was killed, and of the worker of a keeper that was killed itself.
const KILL_LIMIT: Duration = Duration::from_secs(20);
const ORPHAN_LIMIT: Duration = Duration::from_secs(2);

/// Bytes of an event at most.
const EVENT: usize = 1 << 20;

/// Process of a worker and its [keeper](crate::processes::keeper) with its pipes; it is killed when dropped, with all that it started.
pub(super) struct Running {
    /// The keeper's process, which ends as the worker does.
    pub(super) process: Process,
    /// Where it takes requests, until they are finished.
    pub(super) stdin: Option<ChildStdin>,
    /// What it answers.
    pub(super) events: Receiver<Event>,
    /// What it said on standard error.
    pub(super) words: LastWords,
    /// Whether the device is open.
    pub(super) ready: bool,
    /// When its memory and life were looked at last.
    watched: Instant,
}

impl Running {
    /// Starts a worker without waiting for its device; `more` are further words for it.
    ///
    /// # Errors
    /// [`Error::Failed`] where the program does not start.
    pub(super) fn start(setup: &Setup, more: &[String]) -> Result<Running> {
        let Setup { seqtune: program, kernel, opened, device, .. } = setup;
        let space = opened.identity(true).digest();
        let mut process = Command::new(program)
            .args([
                "worker",
                kernel,
                "--space",
                &space,
                "--device",
                device,
                "--parent",
                &std::process::id().to_string(),
            ])
            .args(more)
            .envs(setup.environment.iter().map(|variable| (variable.name, &variable.value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|e| Error::Failed(format!("starting {}: {e}", program.display())))?;
        let (stdin @ Some(_), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::Failed("a worker has no pipes".into()));
        };
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for_each_line(BufReader::new(stdout), EVENT, |line| match serde_json::from_slice(line) {
                Ok(event) => sender.send(event).is_ok(),
                Err(_) => true,
            });
        });
        tracing::debug!("worker {}: started for {kernel} on {device}", process.id());
        let words = LastWords::listen(&mut process);
        Ok(Running { process, stdin, events, words, ready: false, watched: Instant::now() })
    }

    /// Closes the input of the process, and waits for its end for as long as `limit`.
    pub(super) fn finish(mut self, limit: Duration) {
        drop(self.stdin.take());
        self.wait(limit);
    }

    fn wait(&mut self, limit: Duration) {
        let began = Instant::now();
        while self.is_running() && began.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// What the process takes too much of, looked at from time to time; `None` where all is well.
    pub(super) fn trouble(&mut self, most: f64) -> Option<String> {
        if self.watched.elapsed() < WATCH {
            return None;
        }
        self.watched = Instant::now();
        let taken = memory_of(self.process.id())?;
        (taken > most).then(|| {
            format!(
                "it took {:.1} GB of memory; {:.1} GB are the most (SEQTUNE_WORKER_MEMORY)",
                taken / 1e9,
                most / 1e9
            )
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let leader = self.process.id();
        if self.is_running() {
            // with what a program under measurement has started; one that a driver holds back ends when the driver lets it
            ask_to_end(leader);
            self.wait(KILL_LIMIT);
        }
        if self.is_running() {
            kill_tree(leader);
            let _ = self.process.kill();
        }
        let began = Instant::now();
        while has_group(leader) && began.elapsed() < ORPHAN_LIMIT {
            std::thread::sleep(Duration::from_millis(2));
        }
        kill_group(leader);
    }
}
