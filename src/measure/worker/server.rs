//! Worker process: opens the device, then serves requests from standard input, one JSON line each.

use crate::batch::{Batch, BatchStep, Contender, VendorLibrary};
use crate::measuring::Bench;
use crate::measuring::on_device::OnDevice;
use crate::measuring::subject::Subject;
use crate::measuring::variant::VariantAsked;
use crate::processes::guard::prepare;
use crate::processes::keeper::keep;
use crate::programs::Program;
use crate::registry::{device_of_programs, open};
use crate::verify::case::Case;
use crate::verify::workload::SEED;
use crate::worker::protocol::{Event, Request};
use crate::worker::watch::Watch;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Kernel, Problem};
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

/// Standard output as the parent reads it, for as long as the kernel is the parent's.
struct Events<'a> {
    output: File,
    watch: RefCell<Watch<'a>>,
}

impl Events<'_> {
    /// Tells an event; exits where it may be a result of files that were edited since.
    fn emit(&self, event: &Event) {
        let is_result = match event {
            Event::Tried(_)
            | Event::Step(BatchStep::Finished(_))
            | Event::Compiled(_)
            | Event::Checked { .. }
            | Event::Error { .. } => true,
            Event::Step(BatchStep::Begin(_)) | Event::Ready | Event::Loading | Event::End => false,
            Event::Peaks(_) | Event::Library(_) | Event::Changed(_) => false,
        };
        if is_result && let Some(found) = self.watch.borrow_mut().change() {
            self.write(&Event::Changed(found));
            std::process::exit(0);
        }
        self.write(event);
    }

    /// Writes a line; exits where the parent no longer reads.
    fn write(&self, event: &Event) {
        let line = serde_json::to_string(event).unwrap_or_default() + "\n";
        if (&self.output).write_all(line.as_bytes()).is_err() {
            std::process::exit(0);
        }
    }

    /// Opens the kernel, which has to be the one that the parent measures.
    fn open_kernel(&self, name: &str) -> Result<Kernel> {
        let opened = self.watch.borrow_mut().open()?;
        opened.map_err(|found| {
            self.emit(&Event::Changed(found));
            Error::Input(format!("the kernel {name} was changed while it was measured"))
        })
    }
}

/// What a worker is started with.
pub struct Start<'a> {
    /// Kernel name or folder.
    pub kernel: &'a str,
    /// Digest that the kernel has to have, source included; any where `None`.
    pub space: Option<&'a str>,
    /// Device id.
    pub device: &'a str,
    /// Folder in which a program works.
    pub scratch: &'a Path,
    /// Seconds that a run of a program may take.
    pub limit: f64,
    /// Process whose end is the worker's.
    pub parent: Option<u32>,
}

/// Serves requests until standard input ends or the parent is gone.
///
/// # Errors
/// The error of [`Kernel::open`], [`open`], [`OnDevice::new`] or [`Program::new`]; `Error::Input` where the kernel was changed.
pub fn serve(start: &Start) -> Result<()> {
    let Start { kernel, space, device, scratch, limit, parent } = *start;
    keep(parent, scratch).map_err(|e| Error::Failed(format!("worker: starting its process: {e}")))?;
    let output = prepare().map_err(|e| Error::Failed(format!("worker: keeping standard output: {e}")))?;
    let events = Events { output, watch: RefCell::new(Watch::new(kernel, space)) };
    let kernel = events.open_kernel(kernel)?;
    if kernel.run.is_none() {
        return answer_all(&kernel, &events, open(device).and_then(|executor| OnDevice::new(&kernel, executor)));
    }
    let limit = Duration::from_secs_f64(limit);
    let program = device_of_programs(device).and_then(|device| Program::new(&kernel, device, scratch, limit));
    answer_all(&kernel, &events, program)
}

fn answer_all<S: Subject>(kernel: &Kernel, events: &Events, subject: Result<S>) -> Result<()> {
    let mut bench = match subject {
        Ok(subject) => Bench::new(subject),
        Err(e) => {
            events.emit(&failure(&e));
            return Err(e);
        }
    };
    events.emit(&Event::Ready);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = serde_json::from_str(&line)
            .map_err(|e| Error::Failed(format!("worker: request not understood: {e}")))
            .and_then(|request| answer(kernel, &mut bench, events, request));
        match answer {
            Ok(()) => events.emit(&Event::End),
            Err(e) => events.emit(&failure(&e)),
        }
    }
    Ok(())
}

fn failure(e: &Error) -> Event {
    Event::Error { sentence: e.to_string(), unavailable: matches!(e, Error::Unavailable(_)) }
}

fn answer<S: Subject>(kernel: &Kernel, bench: &mut Bench<S>, events: &Events, request: Request) -> Result<()> {
    let read = |problem: &str, configs: &[String]| -> Result<(Problem, Vec<_>)> {
        let configs = configs.iter().map(|c| kernel.config(c)).collect::<Result<_>>()?;
        Ok((kernel.problem(problem)?, configs))
    };
    match request {
        Request::Announce { problem, configs } => {
            let (problem, configs) = read(&problem, &configs)?;
            bench.subject.announce(&problem, &configs);
            Ok(())
        }
        Request::Compile { problem, config } => {
            if kernel.run.is_some() {
                // a build has a time limit of its own
                events.emit(&Event::Loading);
            }
            let fault = bench.subject.compile(&kernel.problem(&problem)?, &kernel.config(&config)?)?;
            events.emit(&Event::Compiled(fault));
            if bench.subject.is_poisoned() {
                // by a first launch: what is built after it would fail too
                std::process::exit(0);
            }
            Ok(())
        }
        Request::Peaks => {
            events.emit(&Event::Loading);
            let peaks = bench.subject.peaks()?;
            events.emit(&Event::Peaks(peaks));
            Ok(())
        }
        Request::Library => {
            // the first time a library of hundreds of megabytes is read
            events.emit(&Event::Loading);
            events.emit(&Event::Library(
                bench.subject.library().map_or_else(VendorLibrary::Absent, VendorLibrary::Named),
            ));
            Ok(())
        }
        Request::Check { problem, configs, case } => {
            let (problem, configs) = read(&problem, &configs)?;
            check(bench, events, &problem, &configs, case)
        }
        Request::Program { problem, config, file } => {
            events.emit(&Event::Loading);
            let (problem, config) = (kernel.problem(&problem)?, kernel.config(&config)?);
            events.emit(&Event::Compiled(bench.subject.write_program(&problem, &config, &file)?));
            Ok(())
        }
        Request::Variant(asked) => try_variant(bench, events, &asked),
        Request::Measure { problem, configs, library, policy, best_us } => {
            let (problem, configs) = read(&problem, &configs)?;
            events.emit(&Event::Loading);
            bench.subject.load(&problem, Case::of_seed(SEED))?;
            bench.subject.load_beside(configs.len());
            let batch = Batch { problem: &problem, configs: &configs, library, best_us };
            bench.measure(&batch, &policy, &mut |step| events.emit(&Event::Step(step)))?;
            if bench.subject.is_poisoned() {
                // the parent starts another process for the rest
                std::process::exit(0);
            }
            Ok(())
        }
    }
}

/// Checks configs in a case of a problem.
fn check<S: Subject>(
    bench: &mut Bench<S>,
    events: &Events,
    problem: &Problem,
    configs: &[Config],
    case: Case,
) -> Result<()> {
    events.emit(&Event::Loading);
    bench.subject.load(problem, case)?;
    for (index, config) in configs.iter().enumerate() {
        events.emit(&Event::Step(BatchStep::Begin(Contender::Config(index))));
        let fault = bench.confirm(config)?;
        events.emit(&Event::Checked { index, fault });
        if bench.subject.is_poisoned() {
            std::process::exit(0);
        }
    }
    Ok(())
}

/// Tries a program in the place of that of a config.
fn try_variant<S: Subject>(bench: &mut Bench<S>, events: &Events, asked: &VariantAsked) -> Result<()> {
    events.emit(&Event::Loading);
    bench.subject.load_variants(asked)?;
    events.emit(&Event::Step(BatchStep::Begin(Contender::Config(0))));
    let found = bench.subject.try_variant(asked)?;
    events.emit(&Event::Tried(found));
    if bench.subject.is_poisoned() {
        std::process::exit(0);
    }
    Ok(())
}
