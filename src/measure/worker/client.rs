//! Client of a worker process: requests, events, time limits and restarts.

use crate::batch::{Batch, BatchStep, Contender, Ending, Measured, VendorLibrary};
use crate::measuring::roofline::Peaks;
use crate::processes::guard::{is_from_outside, wake};
use crate::processes::keeper::SCRATCH;
use crate::worker::last_words::no_room;
use crate::worker::protocol::{Event, Request};
use crate::worker::running::{Running, WATCH};
use crate::worker::setup::{MARGIN, Setup};
use seqtune_data::recipe::Policy;
use seqtune_data::{Attempt, Invalidity, InvalidityKind};
use seqtune_kernel::Kernel;
use seqtune_kernel::error::{Error, Result};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest wait for a device to open, and for data and reference results.
const OPEN_LIMIT: Duration = Duration::from_secs(120);
const LOAD_LIMIT: Duration = Duration::from_secs(1_800);
/// Longest wait for a device that opened before, as a GPU that is reset after a hang does not for seconds, and the pauses between two attempts.
const RETURN_LIMIT: Duration = Duration::from_secs(60);
const RETURN_PAUSE: Duration = Duration::from_millis(500);
/// Workers that are killed by somebody else while they open the device.
const KILLED: usize = 3;

/// Worker process that starts on demand and restarts after its death.
pub struct Client {
    setup: Setup,
    /// Folder of a program, which outlives the workers that are killed.
    scratch: Option<TempDir>,
    running: Option<Running>,
    /// Contender at which the running request is.
    pub(super) at: Option<Contender>,
    last_event: Instant,
    loading: bool,
    /// Whether a request was sent that is not answered whole.
    busy: bool,
    /// What ends a measurement early.
    pub stop: Arc<AtomicBool>,
    /// Whether the worker that was lost last was killed by somebody else, who says nothing of its config.
    pub(super) was_killed: bool,
    /// Whether a worker has opened the device.
    has_opened: bool,
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
        Client {
            setup,
            scratch: None,
            running: None,
            at: None,
            last_event: Instant::now(),
            loading: false,
            busy: false,
            stop: Arc::default(),
            was_killed: false,
            has_opened: false,
        }
    }

    /// Starts the worker without waiting for its device.
    ///
    /// # Errors
    /// `Error::Failed` where its process does not start.
    pub fn spawn(&mut self) -> Result<()> {
        if self.running.is_none() {
            let more = self.program()?;
            self.running = Some(Running::start(&self.setup, &more)?);
        }
        Ok(())
    }

    /// Words for the worker of a program: its folder, and the longest run.
    fn program(&mut self) -> Result<Vec<String>> {
        let Some(times) = self.setup.program else { return Ok(Vec::new()) };
        if self.scratch.is_none() {
            let made = tempfile::Builder::new().prefix(SCRATCH).tempdir();
            self.scratch = Some(made.map_err(|e| Error::Failed(format!("making a working folder: {e}")))?);
        }
        let folder = self.scratch.as_ref().map_or(String::new(), |scratch| scratch.path().display().to_string());
        Ok(vec!["--scratch".into(), folder, "--limit".into(), times.run.as_secs_f64().to_string()])
    }

    /// Waits for the device of the worker.
    fn open(&mut self) -> Result<()> {
        self.spawn()?;
        let device = &self.setup.device;
        let Some(running) = &mut self.running else { return Err(Error::Failed("a worker vanished".into())) };
        if running.ready {
            return Ok(());
        }
        match running.events.recv_timeout(OPEN_LIMIT) {
            Ok(Event::Ready) => {
                (running.ready, self.has_opened) = (true, true);
                Ok(())
            }
            Ok(Event::Error { sentence, .. }) => Err(Error::Unavailable(sentence)),
            Ok(Event::Changed(found)) => Err(self.setup.changed_error(&found)),
            other => {
                let is_gone = matches!(other, Err(RecvTimeoutError::Disconnected));
                let status = is_gone.then(|| running.process.wait().ok()).flatten();
                self.was_killed = status.and_then(|status| status.signal()).is_some_and(is_from_outside);
                let words = running.words.text();
                Err(Error::Unavailable(format!("device {device}: a worker could not open it{words}")))
            }
        }
    }

    /// Waits for the device of the worker, or of another one where it was killed or the device is away for a while.
    fn open_again(&mut self) -> Result<()> {
        let (began, mut killed) = (Instant::now(), 0);
        loop {
            self.was_killed = false;
            let Err(e) = self.open() else { return Ok(()) };
            self.running = None;
            killed += usize::from(self.was_killed);
            let is_awaited = self.has_opened
                && !matches!(e, Error::Input(_))
                && began.elapsed() < RETURN_LIMIT
                && !self.stop.load(Ordering::Relaxed);
            if !(self.was_killed && killed < KILLED || is_awaited) {
                return Err(e);
            }
            tracing::debug!("{e}; tried again");
            if !self.was_killed {
                std::thread::sleep(RETURN_PAUSE);
            }
        }
    }

    pub(super) fn send(&mut self, request: &Request) -> Result<()> {
        let line = serde_json::to_string(request).map_err(|e| Error::Failed(format!("worker: {e}")))? + "\n";
        for _ in 0..KILLED {
            self.open_again()?;
            let Some(stdin) = self.running.as_mut().and_then(|running| running.stdin.as_mut()) else { continue };
            if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_ok() {
                self.last_event = Instant::now();
                self.at = None;
                (self.loading, self.busy) = (false, true);
                return Ok(());
            }
            self.running = None; // it died while idle
        }
        Err(Error::Failed("workers die before they take a request".into()))
    }

    /// Waits up to `wait` for the next event; kills a worker that is silent beyond its limit.
    ///
    /// # Errors
    /// [`Error::Input`] where the kernel was changed.
    pub(super) fn receive(&mut self, wait: Duration) -> Result<Reply> {
        let Some(running) = &mut self.running else {
            return Ok(Reply::Lost(Invalidity::new(InvalidityKind::Runtime, "the worker is gone")));
        };
        let limit = if self.loading { LOAD_LIMIT } else { self.setup.limit };
        let asked = Instant::now();
        match running.events.recv_timeout(wait) {
            Ok(event) => self.heard(event),
            // this process was stopped for a while, in which the worker could not be heard
            Err(RecvTimeoutError::Timeout) if asked.elapsed() > wait + WATCH * 10 => {
                self.last_event = Instant::now();
                Ok(Reply::Nothing)
            }
            Err(RecvTimeoutError::Timeout) => self.silent(limit),
            Err(RecvTimeoutError::Disconnected) => {
                let ended = running.process.wait();
                self.lost(ended.ok())
            }
        }
    }

    /// What is to be thought of a worker that said nothing.
    fn silent(&mut self, limit: Duration) -> Result<Reply> {
        let Some(running) = &mut self.running else { return Ok(Reply::Nothing) };
        let (trouble, ended) = (running.trouble(self.setup.memory), running.process.try_wait().ok().flatten());
        // what it said before its end comes first
        if let Ok(event) = running.events.try_recv() {
            return self.heard(event);
        }
        // a process that it started may hold its pipes open
        if ended.is_some() {
            return self.lost(ended);
        }
        let (kind, detail) = match trouble {
            Some(trouble) => (InvalidityKind::Runtime, trouble),
            None if self.last_event.elapsed() <= limit => return Ok(Reply::Nothing),
            None if wake(running.process.id()) => {
                self.last_event = Instant::now();
                return Ok(Reply::Nothing);
            }
            None => (InvalidityKind::Timeout, format!("silent for {:.1} s", limit.as_secs_f64())),
        };
        (self.running, self.was_killed) = (None, false);
        Ok(Reply::Lost(Invalidity::new(kind, detail)))
    }

    /// Books the end of the worker.
    fn lost(&mut self, status: Option<ExitStatus>) -> Result<Reply> {
        let Some(running) = self.running.take() else { return Ok(Reply::Nothing) };
        let how = status.map_or("lost".into(), |status| status.to_string()) + &running.words.text();
        tracing::debug!("worker {}: ended, {how}", running.process.id());
        self.was_killed = status.and_then(|status| status.signal()).is_some_and(is_from_outside);
        if let Some(sentence) = no_room(&how) {
            return self.heard(Event::Error { sentence, unavailable: true });
        }
        Ok(Reply::Lost(Invalidity::new(InvalidityKind::Runtime, format!("its process ended: {how}"))))
    }

    /// Ends the worker; the next request starts another one.
    pub(super) fn stop(&mut self) {
        self.running = None;
    }

    /// Notes how far the worker is.
    fn heard(&mut self, event: Event) -> Result<Reply> {
        self.last_event = Instant::now();
        match event {
            Event::Step(BatchStep::Begin(contender)) => {
                self.at = Some(contender);
                self.loading = false;
            }
            Event::Loading => self.loading = true,
            Event::Changed(found) => {
                self.running = None;
                return Err(self.setup.changed_error(&found));
            }
            Event::End | Event::Error { .. } => self.busy = false,
            _ => {}
        }
        Ok(Reply::Event(event))
    }

    /// Whether what was running is to be tried again, because its worker was killed by somebody else for the first time; `known` gives
    /// the contender of the batch.
    pub(super) fn is_spared(
        &self,
        spared: &mut Vec<Option<Contender>>,
        known: impl Fn(Contender) -> Contender,
    ) -> bool {
        let at = self.at.map(known);
        let again = self.was_killed && !spared.contains(&at);
        if again {
            spared.push(at);
        }
        again
    }

    /// Sends a request with a single answer, and waits for it.
    pub(super) fn question<T>(&mut self, request: &Request, pick: impl Fn(Event) -> Option<T>) -> Result<Attempt<T>> {
        self.send(request)?;
        let mut answer = None;
        loop {
            match self.receive(Duration::from_millis(200))? {
                Reply::Event(Event::End) => {
                    return answer.map(Ok).ok_or_else(|| Error::Failed("a worker does not answer".into()));
                }
                Reply::Event(Event::Error { sentence, .. }) => return Err(Error::Failed(sentence)),
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
        // at what a worker was killed by somebody else
        let mut spared: Vec<Option<Contender>> = Vec::new();
        while !left.is_empty() {
            self.send(&Request::measure(kernel, batch, &left, policy))?;
            let mut done = vec![false; left.len()];
            loop {
                if self.stop.load(Ordering::Relaxed) {
                    self.running = None;
                    return Ok(Ending::Stopped);
                }
                match self.receive(Duration::from_millis(200))? {
                    Reply::Event(Event::Step(BatchStep::Finished(measured))) => {
                        let at = place(&left, measured.contender);
                        done[at] = true;
                        finish(Measured { contender: left[at], ..measured })?;
                    }
                    Reply::Event(Event::End) => break,
                    Reply::Event(Event::Error { sentence, unavailable: true }) => {
                        return Err(Error::Unavailable(sentence));
                    }
                    Reply::Event(Event::Error { sentence, .. }) => {
                        // what failed may have taken the device with it
                        self.running = None;
                        return Ok(Ending::Unmeasurable(sentence));
                    }
                    Reply::Event(_) | Reply::Nothing => {}
                    Reply::Lost(_) if self.is_spared(&mut spared, |at| left[place(&left, at)]) => break,
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

impl Drop for Client {
    /// Lets the worker of a program tear down what it has set up; of one that was killed, another worker does so.
    fn drop(&mut self) {
        let Some(limit) = self.setup.program.and_then(|times| times.teardown) else { return };
        if self.busy {
            self.running = None;
        }
        if self.scratch.is_some()
            && self.spawn().is_ok()
            && let Some(running) = self.running.take()
        {
            running.finish(limit + MARGIN);
        }
    }
}

/// Index among those `left` of a contender that a worker names, which counts the configs of its request.
fn place(left: &[Contender], named: Contender) -> usize {
    match named {
        Contender::Config(at) => at,
        Contender::Library => left.len() - 1,
    }
}
