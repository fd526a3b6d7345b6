//! Client of a worker process: requests, events, time limits and restarts.

use crate::batch::{Batch, Contender, Ending, Measured, Step, VendorLibrary};
use crate::measuring::roofline::Peaks;
use crate::worker::guard::{kill_group, memory_of, most_memory};
use crate::worker::last_words::LastWords;
use crate::worker::lines::for_each_line;
use crate::worker::protocol::{Event, Request};
use seqtune_data::recipe::Policy;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::Kernel;
use std::io::{BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Parameters for starting workers.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Path of the seqtune program.
    pub program: PathBuf,
    /// Kernel name or folder, as [`Kernel::open`] takes it.
    pub kernel: String,
    /// Device id, as [`crate::registry::open`] takes it.
    pub device: String,
    /// Longest silence of a config before it fails with [`InvalidityKind::Timeout`].
    pub limit: Duration,
}

impl Setup {
    /// Creates parameters for workers of the running program.
    ///
    /// # Errors
    /// [`Error::Failed`] where the path of the running program is unknown.
    pub fn new(kernel: &str, device: &str, limit: Duration) -> Result<Setup> {
        let program =
            std::env::current_exe().map_err(|e| Error::Failed(format!("finding the running program: {e}")))?;
        Ok(Setup { program, kernel: kernel.into(), device: device.into(), limit })
    }
}

/// Longest wait for a device to open, and for data and reference results.
const OPEN_LIMIT: Duration = Duration::from_secs(120);
const LOAD_LIMIT: Duration = Duration::from_secs(1_800);

/// Pause between two looks at a worker that says nothing.
const WATCH: Duration = Duration::from_millis(100);

/// Bytes of an event at most.
const EVENT: usize = 1 << 20;

/// Worker process that starts on demand and restarts after its death.
pub struct Client {
    setup: Setup,
    running: Option<Running>,
    /// Contender at which the running request is.
    pub(super) at: Option<Contender>,
    last_event: Instant,
    loading: bool,
}

struct Running {
    process: Process,
    stdin: ChildStdin,
    events: Receiver<Event>,
    words: LastWords,
    /// Whether the device is open.
    ready: bool,
    /// When its memory and life were looked at last.
    watched: Instant,
}

impl Running {
    /// How the process ended or what it takes too much of, from time to time; `None` where all is well.
    fn trouble(&mut self) -> Option<String> {
        if self.watched.elapsed() < WATCH {
            return None;
        }
        self.watched = Instant::now();
        // a process that it started may hold its pipes open
        if let Ok(Some(status)) = self.process.try_wait() {
            return Some(format!("its process ended: {status}{}", self.words.text()));
        }
        let (taken, most) = (memory_of(self.process.id())?, most_memory());
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
        // with what a program under measurement has started
        kill_group(self.process.id());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Result of waiting for a worker.
pub(super) enum Reply {
    /// Message of the worker.
    Event(Event),
    /// No event within the wait.
    Nothing,
    /// Death of the worker, as a failure of its contender.
    Lost(Invalidity),
}

impl Client {
    /// Creates a client whose worker starts with the first request.
    pub fn new(setup: Setup) -> Client {
        Client { setup, running: None, at: None, last_event: Instant::now(), loading: false }
    }

    /// Starts the worker without waiting for its device.
    pub(super) fn spawn(&mut self) -> Result<()> {
        if self.running.is_none() {
            let Setup { program, kernel, device, .. } = &self.setup;
            let mut process = Command::new(program)
                .args(["worker", kernel, "--device", device])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0)
                .spawn()
                .map_err(|e| Error::Failed(format!("starting {}: {e}", program.display())))?;
            let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
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
            self.running = Some(Running { process, stdin, events, words, ready: false, watched: Instant::now() });
        }
        Ok(())
    }

    fn start(&mut self) -> Result<&mut Running> {
        self.spawn()?;
        let device = &self.setup.device;
        let Some(running) = &mut self.running else { return Err(Error::Failed("a worker vanished".into())) };
        if !running.ready {
            match running.events.recv_timeout(OPEN_LIMIT) {
                Ok(Event::Ready) => running.ready = true,
                Ok(Event::Error { sentence }) => return Err(Error::Unavailable(sentence)),
                _ => {
                    let words = running.words.text();
                    return Err(Error::Unavailable(format!("device {device}: a worker could not open it{words}")));
                }
            }
        }
        Ok(running)
    }

    pub(super) fn send(&mut self, request: &Request) -> Result<()> {
        let line = serde_json::to_string(request).map_err(|e| Error::Failed(format!("worker: {e}")))? + "\n";
        for _ in 0..2 {
            let running = self.start()?;
            if running.stdin.write_all(line.as_bytes()).and_then(|()| running.stdin.flush()).is_ok() {
                self.last_event = Instant::now();
                self.at = None;
                self.loading = false;
                return Ok(());
            }
            self.running = None; // it died while idle
        }
        Err(Error::Failed("workers die before they take a request".into()))
    }

    /// Waits up to `wait` for the next event; kills a worker that is silent beyond its limit.
    pub(super) fn receive(&mut self, wait: Duration) -> Reply {
        let Some(running) = &mut self.running else {
            return Reply::Lost(Invalidity::new(InvalidityKind::Runtime, "the worker is gone"));
        };
        let limit = if self.loading { LOAD_LIMIT } else { self.setup.limit };
        let asked = Instant::now();
        match running.events.recv_timeout(wait) {
            Ok(event) => self.heard(event),
            // this process was stopped for a while, in which the worker could not be heard
            Err(RecvTimeoutError::Timeout) if asked.elapsed() > wait + WATCH * 10 => {
                self.last_event = Instant::now();
                Reply::Nothing
            }
            Err(RecvTimeoutError::Timeout) if self.last_event.elapsed() > limit => {
                self.running = None;
                Reply::Lost(Invalidity::new(
                    InvalidityKind::Timeout,
                    format!("silent for {:.1} s", limit.as_secs_f64()),
                ))
            }
            Err(RecvTimeoutError::Timeout) => match (running.trouble(), running.events.try_recv()) {
                // what it said before its end comes first
                (_, Ok(event)) => self.heard(event),
                (Some(trouble), Err(_)) => {
                    self.running = None;
                    Reply::Lost(Invalidity::new(InvalidityKind::Runtime, trouble))
                }
                (None, Err(_)) => Reply::Nothing,
            },
            Err(RecvTimeoutError::Disconnected) => {
                let how = running.process.wait().map_or("lost".into(), |status| status.to_string());
                let how = how + &running.words.text();
                tracing::debug!("worker {}: ended, {how}", running.process.id());
                self.running = None;
                Reply::Lost(Invalidity::new(InvalidityKind::Runtime, format!("its process ended: {how}")))
            }
        }
    }

    /// Ends the worker; the next request starts another one.
    pub(super) fn stop(&mut self) {
        self.running = None;
    }

    /// Notes how far the worker is.
    fn heard(&mut self, event: Event) -> Reply {
        self.last_event = Instant::now();
        match event {
            Event::Step(Step::Begin(contender)) => {
                self.at = Some(contender);
                self.loading = false;
            }
            Event::Loading => self.loading = true,
            _ => {}
        }
        Reply::Event(event)
    }

    /// Sends a request with a single answer, and waits for it.
    fn question<T>(&mut self, request: &Request, pick: impl Fn(Event) -> Option<T>) -> Result<Attempt<T>> {
        self.send(request)?;
        let mut answer = None;
        loop {
            match self.receive(Duration::from_millis(200)) {
                Reply::Event(Event::End) => {
                    return answer.map(Ok).ok_or_else(|| Error::Failed("a worker does not answer".into()));
                }
                Reply::Event(Event::Error { sentence }) => return Err(Error::Failed(sentence)),
                Reply::Event(event) => answer = pick(event).or(answer),
                Reply::Nothing => {}
                Reply::Lost(fault) => return Ok(Err(fault)),
            }
        }
    }

    /// Measures the peaks of the device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the device does not open, [`Error::Failed`] where the measurement or the worker fails.
    pub fn peaks(&mut self) -> Result<Peaks> {
        let found = self.question(&Request::Peaks, |event| match event {
            Event::Peaks(peaks) => Some(peaks),
            _ => None,
        })?;
        found.map_err(|fault| Error::Failed(format!("measuring the device's peaks: {}", fault.detail)))
    }

    /// Name and version of the vendor's library for the kernel's routine, or the reason for its absence.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the device does not open, [`Error::Failed`] where no worker starts or answers.
    pub fn library(&mut self) -> Result<VendorLibrary> {
        let found = self.question(&Request::Library, |event| match event {
            Event::Library(library) => Some(library),
            _ => None,
        })?;
        // a library that kills the process that opens it is none
        Ok(found.unwrap_or_else(|fault| VendorLibrary::Absent(fault.detail)))
    }

    /// Measures a batch and passes each result to `finish` once, also after crashes and hangs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Failed`] where no worker can be started, else the error of `finish`.
    pub fn measure(
        &mut self,
        kernel: &Kernel,
        batch: &Batch,
        policy: &Policy,
        finish: &mut dyn FnMut(Measured) -> Result<()>,
    ) -> Result<Ending> {
        let mut left = batch.contenders();
        while !left.is_empty() {
            self.send(&request(kernel, batch, &left, policy))?;
            let mut done = vec![false; left.len()];
            loop {
                match self.receive(Duration::from_millis(200)) {
                    Reply::Event(Event::Step(Step::Finished(measured))) => {
                        let at = place(&left, measured.contender);
                        done[at] = true;
                        finish(Measured { contender: left[at], ..measured })?;
                    }
                    Reply::Event(Event::End) => break,
                    Reply::Event(Event::Error { sentence }) => {
                        // what failed may have taken the device with it
                        self.running = None;
                        return Ok(Ending::Unmeasurable(sentence));
                    }
                    Reply::Event(_) | Reply::Nothing => {}
                    Reply::Lost(invalidity) => match self.at.take().map(|contender| place(&left, contender)) {
                        Some(at) if !done[at] => {
                            done[at] = true;
                            finish(Measured::invalid(left[at], invalidity))?;
                            break;
                        }
                        Some(_) => break,
                        None => {
                            return Ok(Ending::Unmeasurable(format!(
                                "the worker was lost before any config ran, making data and reference: {}; if the reference accesses \
                                 memory outside its buffers, compare `length`, `global` and the order of [[argument]] with its source",
                                invalidity.detail
                            )));
                        }
                    },
                }
            }
            left = std::iter::zip(left, done).filter(|(_, done)| !done).map(|(contender, _)| contender).collect();
        }
        Ok(Ending::Complete)
    }
}

/// Request for the contenders `left` of a batch.
fn request(kernel: &Kernel, batch: &Batch, left: &[Contender], policy: &Policy) -> Request {
    let config = |contender: &Contender| match contender {
        Contender::Config(at) => Some(kernel.show_config(&batch.configs[*at])),
        Contender::Library => None,
    };
    Request::Measure {
        problem: kernel.show_problem(batch.problem),
        configs: left.iter().filter_map(config).collect(),
        library: left.contains(&Contender::Library),
        policy: *policy,
        // JSON has no infinity
        best_us: batch.best_us.min(1e300),
    }
}

/// Index among those `left` of a contender that a worker names, which counts the configs of its request.
fn place(left: &[Contender], named: Contender) -> usize {
    match named {
        Contender::Config(at) => at,
        Contender::Library => left.len() - 1,
    }
}
