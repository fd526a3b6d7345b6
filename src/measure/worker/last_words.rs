//! What a worker says on standard error, of which the last line explains its death.

use crate::processes::lines::for_each_line;
use seqtune_kernel::error::printable;
use std::io::BufReader;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a line that are kept, and lines of a worker that `--verbose` shows: programs under measurement may print without end.
const LINE: usize = 2_000;
const SHOWN: usize = 1_000;

/// Last line of a worker's standard error, all of which `--verbose` shows.
#[derive(Clone, Default)]
pub struct LastWords(Arc<Mutex<String>>);

/// What is to be done where a worker ended, in this way, because the disk is full. A compiler that finds it so ends its process: no config is to
/// blame, and none will fare better.
pub fn no_room(how: &str) -> Option<String> {
    how.contains("No space left on device").then(|| {
        format!("a worker's process ended: {how}; make room, or name another folder in SEQTUNE_CACHE, and go on by the same command")
    })
}

impl LastWords {
    /// Listens to a child until its standard error ends.
    pub fn listen(process: &mut Child) -> LastWords {
        let (words, worker) = (LastWords::default(), process.id());
        if let Some(stderr) = process.stderr.take() {
            let kept = words.clone();
            std::thread::spawn(move || {
                let mut lines = 0;
                for_each_line(BufReader::new(stderr), LINE, |line| {
                    let line = String::from_utf8_lossy(line);
                    lines += 1;
                    match lines {
                        ..SHOWN => tracing::debug!("worker {worker}: {}", printable(&line)),
                        SHOWN => tracing::debug!("worker {worker} prints on, which is not shown"),
                        _ => {}
                    }
                    kept.keep(line.trim());
                    true
                });
            });
        }
        words
    }

    fn keep(&self, text: &str) {
        // behind the reason of a panic there are frames and hints, behind a fault on a GPU of AMD's the fate of its core dump
        let is_trace = text.starts_with("note: ")
            || text.contains("core dump")
            || text.starts_with("Core limit file")
            || text.starts_with("at ")
            || text == "stack backtrace:"
            || text.split(':').next().is_some_and(|frame| frame.parse::<u32>().is_ok());
        if !text.is_empty() && !is_trace {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text.chars().take(200).collect();
        }
    }

    /// Last line as the end of a message.
    pub fn text(&self) -> String {
        // what it wrote as it died may still be on its way
        std::thread::sleep(std::time::Duration::from_millis(20));
        let line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_empty() { String::new() } else { format!("; its last words: {}", printable(&line)) }
    }
}
