//! Compilation on several workers at once.

use crate::worker::client::{Client, Reply};
use crate::worker::protocol::{Event, Request};
use seqtune_data::{Invalidity, InvalidityKind};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Kernel, Problem};
use std::collections::VecDeque;
use std::time::Duration;

/// What AMD's runtime says as it ends all processes of a GPU that is reset.
const RESET: &str = "HW Exception by GPU";

/// Most configs of one announcement.
const TOGETHER: usize = 16;

/// Compiles configs for the data type and layout of `problem` on all children in parallel and passes each result to `done` with the config's index; none
/// starts once `go_on` returns false.
///
/// # Errors
/// [`Error::Unavailable`] where the device does not open, [`Error::Failed`] where no worker starts or a worker rejects a job.
pub fn compile_all(
    children: &mut [Client],
    kernel: &Kernel,
    problem: &Problem,
    configs: &[&Config],
    go_on: &dyn Fn() -> bool,
    done: &mut dyn FnMut(usize, Option<Invalidity>),
) -> Result<()> {
    // devices are opened side by side
    children.iter_mut().take(configs.len()).try_for_each(Client::spawn)?;
    let (problem, waiting) = (kernel.show_problem(problem), (0..configs.len()).collect());
    let mut queue = Queue { kernel, problem, configs, waiting, spared: Vec::new(), is_announcing: true };
    let mut shares: Vec<Share> = children.iter().map(|_| Share::default()).collect();
    let workers = children.len();
    while !queue.waiting.is_empty() || shares.iter().any(Share::is_busy) {
        if !go_on() {
            queue.waiting.clear();
            shares.iter_mut().for_each(|share| share.next.clear());
        }
        for (child, share) in children.iter_mut().zip(&mut shares) {
            match share.now {
                Now::Idle => queue.send_next(child, share, workers)?,
                _ => queue.receive(child, share, done)?,
            }
        }
    }
    Ok(())
}

/// What a child is doing.
#[derive(Clone, Copy, Default)]
enum Now {
    #[default]
    Idle,
    /// It has told of its config, and ends the request.
    Ending,
    /// It prepares what its share has in common.
    Announcing,
    /// It compiles a config.
    Compiling(usize),
}

/// Configs of one child.
#[derive(Default)]
struct Share {
    now: Now,
    next: VecDeque<usize>,
}

impl Share {
    fn is_busy(&self) -> bool {
        !self.next.is_empty() || !matches!(self.now, Now::Idle)
    }
}

/// Configs that no child has yet.
struct Queue<'a> {
    kernel: &'a Kernel,
    problem: String,
    configs: &'a [&'a Config],
    /// Indices of configs.
    waiting: VecDeque<usize>,
    /// Configs whose worker was killed by somebody else.
    spared: Vec<usize>,
    /// Whether several configs are announced together: until a worker is lost by it.
    is_announcing: bool,
}

impl Queue<'_> {
    /// Sends a child its next config, or announces its next share of them.
    fn send_next(&mut self, child: &mut Client, share: &mut Share, workers: usize) -> Result<()> {
        if share.next.is_empty() {
            // shares become smaller towards the end, so that all children end together
            let most = if self.is_announcing { self.waiting.len().div_ceil(2 * workers).min(TOGETHER) } else { 1 };
            share.next = self.waiting.drain(..most.min(self.waiting.len())).collect();
            if share.next.len() > 1 {
                let configs = share.next.iter().map(|at| self.kernel.show_config(self.configs[*at])).collect();
                child.send(&Request::Announce { problem: self.problem.clone(), configs })?;
                share.now = Now::Announcing;
                return Ok(());
            }
        }
        if let Some(at) = share.next.pop_front() {
            let config = self.kernel.show_config(self.configs[at]);
            child.send(&Request::Compile { problem: self.problem.clone(), config })?;
            share.now = Now::Compiling(at);
        }
        Ok(())
    }

    /// Takes the next message of a busy child.
    fn receive(
        &mut self,
        child: &mut Client,
        share: &mut Share,
        done: &mut dyn FnMut(usize, Option<Invalidity>),
    ) -> Result<()> {
        match (child.receive(Duration::from_millis(1))?, share.now) {
            (Reply::Event(Event::Compiled(fault)), Now::Compiling(at)) => {
                // what is told is of the program; a crash or a hang may be of the compiler or of the first launch
                done(at, fault.map(|f| Invalidity { kind: InvalidityKind::Compile, detail: f.detail }));
                share.now = Now::Ending;
            }
            (Reply::Event(Event::End), _) => share.now = Now::Idle,
            (Reply::Event(Event::Error { sentence, .. }), _) => return Err(Error::Failed(sentence)),
            (Reply::Event(_) | Reply::Nothing, _) => {}
            (Reply::Lost(fault), now) => {
                share.now = Now::Idle;
                // its announcement is lost with it
                share.next.drain(..).rev().for_each(|at| self.waiting.push_front(at));
                match now {
                    // who waits for a GPU of AMD's dies with it when another process hangs it
                    Now::Compiling(at)
                        if (child.was_killed || fault.detail.contains(RESET)) && !self.spared.contains(&at) =>
                    {
                        self.spared.push(at);
                        self.waiting.push_front(at);
                    }
                    Now::Compiling(at) => done(at, Some(fault)),
                    // what is lost with the device concerns no config
                    Now::Ending => {}
                    // whichever config it was, it is found alone
                    Now::Announcing | Now::Idle => self.is_announcing = false,
                }
            }
        }
        Ok(())
    }
}
