//! Parallel compilation of the next batch of a sweep and, where it does not disturb the measurement, of batches ahead.

use crate::batch::{ProgramKey, is_wide};
use crate::worker::client::Client;
use crate::worker::compilers::compile_all;
use seqtune_data::Invalidity;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Kernel, Problem};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// Configs of one problem to compile.
pub struct CompileBatch<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// The configs.
    pub configs: Vec<&'p Config>,
}

/// A program, and which of the two codes that PoCL makes of it.
type CodeKey = (ProgramKey, bool);

fn code_key(kernel: &Kernel, problem: &Problem, config: &Config) -> CodeKey {
    (ProgramKey::new(kernel, problem, config), is_wide(kernel, problem, config))
}

/// Message of the compiling thread.
enum CompileEvent {
    Compiled(CodeKey, Option<Invalidity>),
    /// A batch is finished, or the time is over.
    Done,
    Failed(Error),
}

/// Queue of batches that are compiled in the background.
pub struct CompileQueue<'p> {
    kernel: &'p Kernel,
    /// In the order of measurement.
    todo: &'p [CompileBatch<'p>],
    /// Number of batches compiled ahead.
    ahead: usize,
    /// Number of batches requested, and number finished.
    asked: usize,
    done: usize,
    requests: Sender<usize>,
    events: Receiver<CompileEvent>,
    compiled: HashMap<CodeKey, Option<Invalidity>>,
}

/// How far compiling goes ahead of measuring.
#[derive(Clone, Debug)]
pub struct Precompile {
    /// Batches compiled while one is measured.
    pub ahead: usize,
    /// Time after which no program is begun.
    pub until: Option<Instant>,
    /// Set where no program is to be begun any more.
    pub stop: Arc<AtomicBool>,
}

/// Compiles on `children` while `measure` runs, which waits for each batch in turn.
///
/// # Errors
/// The error of `measure`.
pub fn compiling<T>(
    kernel: &Kernel,
    mut children: Vec<Client>,
    todo: &[CompileBatch],
    Precompile { ahead, until, stop }: Precompile,
    measure: impl FnOnce(&mut CompileQueue) -> Result<T>,
) -> Result<T> {
    let (requests, asked) = channel::<usize>();
    let (sender, events) = channel();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // owned here, so that a waiting receiver fails where this thread ends
            let sender = sender;
            let mut begun = HashSet::new();
            let go_on = || {
                let is_stopped = is_over.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
                !is_stopped && until.is_none_or(|until| Instant::now() < until)
            };
            for at in asked {
                let CompileBatch { problem, configs } = &todo[at];
                let is_new = |c: &&&Config| begun.insert(code_key(kernel, problem, c));
                let new: Vec<&Config> = configs.iter().filter(is_new).copied().collect();
                let done = compile_all(&mut children, kernel, problem, &new, &go_on, &mut |i, fault| {
                    let _ = sender.send(CompileEvent::Compiled(code_key(kernel, problem, new[i]), fault));
                });
                // nobody listens where measuring has ended
                let _ = sender.send(done.map_or_else(CompileEvent::Failed, |()| CompileEvent::Done));
            }
        });
        let compiled = HashMap::new();
        let mut programs = CompileQueue { kernel, todo, ahead, asked: 0, done: 0, requests, events, compiled };
        let measured = measure(&mut programs);
        // dropping the sender of requests ends the thread
        is_over.store(true, Ordering::Relaxed);
        drop(programs);
        measured
    })
}

impl CompileQueue<'_> {
    /// Waits until a batch is compiled; `progress` receives the number of programs left.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the device does not open, [`Error::Failed`] where a worker or the compiling thread fails.
    pub fn wait(&mut self, at: usize, progress: &mut dyn FnMut(usize)) -> Result<()> {
        let gone = || Error::Failed("the compiling thread ended".into());
        while self.asked < self.todo.len().min(at + 1 + self.ahead) {
            self.requests.send(self.asked).map_err(|_| gone())?;
            self.asked += 1;
        }
        let CompileBatch { problem, configs } = &self.todo[at];
        let keys = configs.iter().map(|c| code_key(self.kernel, problem, c));
        let mut left: HashSet<CodeKey> = keys.filter(|k| !self.compiled.contains_key(k)).collect();
        while self.done <= at {
            match self.events.recv().map_err(|_| gone())? {
                CompileEvent::Compiled(program, fault) => {
                    if left.remove(&program) {
                        progress(left.len());
                    }
                    self.compiled.insert(program, fault);
                }
                CompileEvent::Done => self.done += 1,
                CompileEvent::Failed(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Compile failure of a config; `None` where it compiles or was not compiled.
    pub fn invalidity(&self, problem: &Problem, config: &Config) -> Option<&Invalidity> {
        self.compiled.get(&code_key(self.kernel, problem, config))?.as_ref()
    }
}
