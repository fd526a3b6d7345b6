//! The parent's side of a worker process: requests, events, time limits, restarts.

use crate::measuring::roofline::Peaks;
use crate::worker::protocol::{Event, Request};
use seqtune_data::recipe::Policy;
use seqtune_data::{Invalidity, InvalidityKind, Observed, Outcome};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::{Config, Kernel, Problem};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How to start workers.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The seqtune program.
    pub program: PathBuf,
    /// Kernel name or folder, as [`Kernel::open`] takes it.
    pub kernel: String,
    /// Device id, as [`crate::registry::open`] takes it.
    pub device: String,
    /// A config that tells nothing for this long is booked as [`InvalidityKind::Timeout`].
    pub limit: Duration,
}

impl Setup {
    /// Workers of the running program.
    pub fn new(kernel: &str, device: &str, limit: Duration) -> Result<Setup> {
        let program =
            std::env::current_exe().map_err(|e| Error::Failed(format!("finding the running program: {e}")))?;
        Ok(Setup { program, kernel: kernel.into(), device: device.into(), limit })
    }
}

/// Longest wait for a device to open, and for data and reference results.
const OPEN_LIMIT: Duration = Duration::from_secs(120);
const LOAD_LIMIT: Duration = Duration::from_secs(1_800);

/// A worker that is started when first needed and restarted after a death.
pub struct Client {
    setup: Setup,
    running: Option<Running>,
    /// Config that the running request is at.
    at: Option<usize>,
    heard: Instant,
    loading: bool,
}

struct Running {
    process: Process,
    stdin: ChildStdin,
    events: Receiver<Event>,
    /// Whether it said that the device is open.
    ready: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What came of waiting for a worker.
enum Reply {
    Event(Event),
    /// Nothing yet.
    Nothing,
    /// The worker died or was killed; the fault of the config it was at.
    Lost(Invalidity),
}

impl Client {
    pub fn new(setup: Setup) -> Client {
        Client { setup, running: None, at: None, heard: Instant::now(), loading: false }
    }

    /// Begins to start the worker, without waiting for it.
    fn spawn(&mut self) -> Result<()> {
        if self.running.is_none() {
            let Setup { program, kernel, device, .. } = &self.setup;
            let mut process = Command::new(program)
                .args(["worker", kernel, "--device", device])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|e| Error::Failed(format!("starting {}: {e}", program.display())))?;
            let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
                return Err(Error::Failed("a worker has no pipes".into()));
            };
            let (sender, events) = channel();
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(|l| l.ok()) {
                    // a driver may print too: what is not an event is not for us
                    if let Ok(event) = serde_json::from_str(&line)
                        && sender.send(event).is_err()
                    {
                        break;
                    }
                }
            });
            self.running = Some(Running { process, stdin, events, ready: false });
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
                _ => return Err(Error::Unavailable(format!("device {device}: a worker could not open it"))),
            }
        }
        Ok(running)
    }

    fn send(&mut self, request: &Request) -> Result<()> {
        let line = serde_json::to_string(request).map_err(|e| Error::Failed(format!("worker: {e}")))? + "\n";
        for _ in 0..2 {
            let running = self.start()?;
            if running.stdin.write_all(line.as_bytes()).and_then(|()| running.stdin.flush()).is_ok() {
                self.heard = Instant::now();
                self.at = None;
                self.loading = false;
                return Ok(());
            }
            self.running = None; // it died while idle
        }
        Err(Error::Failed("workers die before they take a request".into()))
    }

    /// Waits up to `wait` for the next event; kills a worker that has been silent beyond its limit.
    fn receive(&mut self, wait: Duration) -> Reply {
        let Some(running) = &mut self.running else {
            return Reply::Lost(Invalidity::new(InvalidityKind::Runtime, "the worker is gone"));
        };
        let limit = if self.loading { LOAD_LIMIT } else { self.setup.limit };
        match running.events.recv_timeout(wait) {
            Ok(event) => {
                self.heard = Instant::now();
                match event {
                    Event::Begin(i) => {
                        self.at = Some(i);
                        self.loading = false;
                    }
                    Event::Loading => self.loading = true,
                    _ => {}
                }
                Reply::Event(event)
            }
            Err(RecvTimeoutError::Timeout) if self.heard.elapsed() > limit => {
                self.running = None;
                Reply::Lost(Invalidity::new(
                    InvalidityKind::Timeout,
                    format!("silent for {:.1} s", limit.as_secs_f64()),
                ))
            }
            Err(RecvTimeoutError::Timeout) => Reply::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                let how = running.process.wait().map_or("lost".into(), |status| status.to_string());
                self.running = None;
                Reply::Lost(Invalidity::new(InvalidityKind::Runtime, format!("its process ended: {how}")))
            }
        }
    }

    /// Asks what takes one event to answer.
    fn question<T>(
        &mut self,
        request: &Request,
        pick: impl Fn(Event) -> Option<T>,
    ) -> Result<std::result::Result<T, Invalidity>> {
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

    /// What the device reaches at best.
    pub fn peaks(&mut self) -> Result<Peaks> {
        let found = self.question(&Request::Peaks, |event| match event {
            Event::Peaks(peaks) => Some(peaks),
            _ => None,
        })?;
        found.map_err(|fault| Error::Failed(format!("measuring the device's peaks: {}", fault.detail)))
    }

    /// Name and version of the vendor's library that does what the kernel does, or why there is none.
    pub fn library(&mut self) -> Result<std::result::Result<String, String>> {
        let found = self.question(&Request::Library, |event| match event {
            Event::Library(library) => Some(library),
            _ => None,
        })?;
        // a library that kills the process that opens it is none
        Ok(found.unwrap_or_else(|fault| Err(fault.detail)))
    }

    /// Measures `configs` for `problem` and, if asked for, the vendor's library as one more, telling `finish` each outcome once, also through
    /// crashes and hangs. The inner error is of this problem alone, whose data or reference cannot be made: another may do.
    pub fn measure(
        &mut self,
        kernel: &Kernel,
        problem: &Problem,
        (configs, library): (&[Config], bool),
        policy: &Policy,
        best_us: f64,
        finish: &mut dyn FnMut(usize, Outcome, Observed) -> Result<()>,
    ) -> Result<std::result::Result<(), String>> {
        let mut left: Vec<usize> = (0..configs.len() + library as usize).collect();
        while !left.is_empty() {
            let request = Request::Measure {
                problem: kernel.show_problem(problem),
                configs: left.iter().filter_map(|i| configs.get(*i)).map(|c| kernel.show_config(c)).collect(),
                library: left.contains(&configs.len()),
                policy: *policy,
                // JSON has no infinity
                best_us: best_us.min(1e300),
            };
            self.send(&request)?;
            let mut done = vec![false; left.len()];
            loop {
                match self.receive(Duration::from_millis(200)) {
                    Reply::Event(Event::Finished { index, outcome, observed }) => {
                        done[index] = true;
                        finish(left[index], outcome, observed)?;
                    }
                    Reply::Event(Event::End) => break,
                    Reply::Event(Event::Error { sentence }) => {
                        // what failed may have taken the device with it
                        self.running = None;
                        return Ok(Err(sentence));
                    }
                    Reply::Event(_) | Reply::Nothing => {}
                    Reply::Lost(fault) => match self.at.take() {
                        Some(at) if !done[at] => {
                            done[at] = true;
                            finish(left[at], Outcome::Invalid(fault), Observed::default())?;
                            break;
                        }
                        Some(_) => break,
                        None => {
                            return Ok(Err(format!(
                                "the worker was lost before any config ran, making data and reference: {}",
                                fault.detail
                            )));
                        }
                    },
                }
            }
            left = std::iter::zip(left, done).filter(|(_, done)| !done).map(|(i, _)| i).collect();
        }
        Ok(Ok(()))
    }
}

/// Compiles every job on all children at once; `done` is told each result, in the order they come. No job is begun once `go_on` says no.
pub fn compile_all(
    children: &mut [Client],
    kernel: &Kernel,
    jobs: &[(&Problem, &Config)],
    go_on: &dyn Fn() -> bool,
    done: &mut dyn FnMut(usize, Option<Invalidity>),
) -> Result<()> {
    // devices are opened side by side
    children.iter_mut().take(jobs.len()).try_for_each(Client::spawn)?;
    let mut next = 0;
    let mut busy: Vec<Option<usize>> = vec![None; children.len()];
    while next < jobs.len() || busy.iter().any(Option::is_some) {
        if !go_on() {
            next = jobs.len();
        }
        for (child, job) in children.iter_mut().zip(&mut busy) {
            let Some(at) = *job else {
                if next < jobs.len() {
                    let (problem, config) = jobs[next];
                    let configs = vec![kernel.show_config(config)];
                    child.send(&Request::Compile { problem: kernel.show_problem(problem), configs })?;
                    *job = Some(next);
                    next += 1;
                }
                continue;
            };
            match child.receive(Duration::from_millis(1)) {
                Reply::Event(Event::Compiled { fault, .. }) => done(at, fault),
                Reply::Event(Event::End) => *job = None,
                Reply::Event(Event::Error { sentence }) => return Err(Error::Failed(sentence)),
                Reply::Event(_) | Reply::Nothing => {}
                Reply::Lost(fault) => {
                    done(at, Some(fault));
                    *job = None;
                }
            }
        }
    }
    Ok(())
}
