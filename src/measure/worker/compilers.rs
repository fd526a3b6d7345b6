//! Compilation on several workers at once.

use crate::worker::client::{Client, Reply};
use crate::worker::protocol::{Event, Request};
use seqtune_data::{Invalidity, InvalidityKind};
use seqtune_predict::error::{Error, Result};
use seqtune_predict::kernel::{Config, Kernel, Problem};
use std::collections::VecDeque;
use std::time::Duration;

/// Compiles jobs on all children in parallel and passes each result to `done`; no job starts once `go_on` returns false.
///
/// # Errors
/// [`Error::Unavailable`] where the device does not open, [`Error::Failed`] where no worker starts or a worker rejects a job.
pub fn compile_all(
    children: &mut [Client],
    kernel: &Kernel,
    jobs: &[(&Problem, &Config)],
    go_on: &dyn Fn() -> bool,
    done: &mut dyn FnMut(usize, Option<Invalidity>),
) -> Result<()> {
    // devices are opened side by side
    children.iter_mut().take(jobs.len()).try_for_each(Client::spawn)?;
    let mut waiting: VecDeque<usize> = (0..jobs.len()).collect();
    // whose worker was killed by somebody else
    let mut spared: Vec<usize> = Vec::new();
    let mut busy: Vec<Option<usize>> = vec![None; children.len()];
    while !waiting.is_empty() || busy.iter().any(Option::is_some) {
        if !go_on() {
            waiting.clear();
        }
        for (child, job) in children.iter_mut().zip(&mut busy) {
            let Some(at) = *job else {
                if let Some(next) = waiting.pop_front() {
                    let (problem, config) = jobs[next];
                    let configs = vec![kernel.show_config(config)];
                    child.send(&Request::Compile { problem: kernel.show_problem(problem), configs })?;
                    *job = Some(next);
                }
                continue;
            };
            match child.receive(Duration::from_millis(1)) {
                Reply::Event(Event::Compiled { fault, .. }) => {
                    // what is told is of the program; a crash or a hang may be of the compiler or of the first launch
                    done(at, fault.map(|f| Invalidity { kind: InvalidityKind::Compile, detail: f.detail }));
                }
                Reply::Event(Event::End) => *job = None,
                Reply::Event(Event::Error { sentence, .. }) => return Err(Error::Failed(sentence)),
                Reply::Event(_) | Reply::Nothing => {}
                Reply::Lost(fault) => {
                    *job = None;
                    match child.was_killed && !spared.contains(&at) {
                        true => {
                            spared.push(at);
                            waiting.push_front(at);
                        }
                        false => done(at, Some(fault)),
                    }
                }
            }
        }
    }
    Ok(())
}
