//! Worker process: opens the device, then serves requests from standard input, one JSON line each.

use crate::batch::{Batch, VendorLibrary};
use crate::measuring::Bench;
use crate::registry::open;
use crate::worker::protocol::{Event, Request};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::{Kernel, Problem};
use std::io::{BufRead, Write};

/// Serves requests until standard input ends.
///
/// # Errors
/// The error of [`Kernel::open`], [`open`] or [`Bench::new`].
pub fn serve(kernel: &str, device: &str) -> Result<()> {
    die_with_parent();
    let kernel = Kernel::open(kernel)?;
    let mut bench = match open(device).and_then(|executor| Bench::new(&kernel, executor)) {
        Ok(bench) => bench,
        Err(e) => {
            emit(&Event::Error { sentence: e.to_string() });
            return Err(e);
        }
    };
    emit(&Event::Ready);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = serde_json::from_str(&line)
            .map_err(|e| Error::Failed(format!("worker: request not understood: {e}")))
            .and_then(|request| answer(&kernel, &mut bench, request));
        match answer {
            Ok(()) => emit(&Event::End),
            Err(e) => emit(&Event::Error { sentence: e.to_string() }),
        }
    }
    Ok(())
}

fn answer(kernel: &Kernel, bench: &mut Bench, request: Request) -> Result<()> {
    let read = |problem: &str, configs: &[String]| -> Result<(Problem, Vec<_>)> {
        let configs = configs.iter().map(|c| kernel.config(c)).collect::<Result<_>>()?;
        Ok((kernel.problem(problem)?, configs))
    };
    match request {
        Request::Compile { problem, configs } => {
            let (problem, configs) = read(&problem, &configs)?;
            for (index, config) in configs.iter().enumerate() {
                emit(&Event::Compiling(index));
                let fault = bench.compile(&problem, config)?;
                emit(&Event::Compiled { index, fault });
            }
            Ok(())
        }
        Request::Peaks => {
            emit(&Event::Loading);
            let peaks = bench.peaks()?;
            emit(&Event::Peaks(peaks));
            Ok(())
        }
        Request::Library => {
            // the first time a library of hundreds of megabytes is read
            emit(&Event::Loading);
            emit(&Event::Library(bench.library().map_or_else(VendorLibrary::Absent, VendorLibrary::Named)));
            Ok(())
        }
        Request::Measure { problem, configs, library, policy, best_us } => {
            let (problem, configs) = read(&problem, &configs)?;
            emit(&Event::Loading);
            bench.load(&problem)?;
            let batch = Batch { problem: &problem, configs: &configs, library, best_us };
            bench.measure(&batch, &policy, &mut |step| emit(&Event::Step(step)))?;
            if bench.is_poisoned() {
                // the parent starts another process for the rest
                std::process::exit(0);
            }
            Ok(())
        }
    }
}

/// Writes a line to standard output and flushes it; exits where the parent no longer reads.
fn emit(event: &Event) {
    let mut out = std::io::stdout().lock();
    let line = serde_json::to_string(event).unwrap_or_default();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
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
