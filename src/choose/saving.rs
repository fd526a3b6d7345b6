//! What a chooser learned goes to its file: now and then, when it is asked for, and at the end.

use crate::book::{Place, Remembered};
use crate::chooser::Chooser;
use crate::entry::Held;
use crate::locks::{lock, reading};
use seqtune_kernel::error::{Result, printable};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Warnings that are kept until somebody asks, at most.
const WARNINGS: usize = 100;
/// How long other processes may hold the file where the caller waits for it, and in the course of a call.
const PATIENCE: Duration = Duration::from_secs(10);
const IMPATIENCE: Duration = Duration::from_millis(20);
/// Time between two times that the file is written by itself.
const WRITE_EVERY: Duration = Duration::from_secs(2);

impl Chooser {
    pub(crate) fn warn(&self, warning: String) {
        // words of a file that is none of ours may stand in it
        let warning = printable(&warning);
        tracing::warn!("{warning}");
        let mut warnings = lock(&self.warnings);
        if warnings.len() < WARNINGS {
            warnings.push(warning);
        }
    }

    /// Puts warnings back that could not be shown.
    pub fn keep_warnings(&self, warnings: Vec<String>) {
        lock(&self.warnings).splice(0..0, warnings);
    }

    /// What went wrong without being in a call's way since this was asked last: a damaged file, a disk that is full.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.warnings))
    }

    /// Writes what was learned to the file of [`Options::memory`](crate::Options::memory). It is done by itself at times, and when the chooser goes.
    ///
    /// # Errors
    /// [`Error::File`](seqtune_predict::Error::File) or [`Error::Failed`](seqtune_predict::Error::Failed) where the file cannot be written; what was learned stays to be written later.
    pub fn save(&self) -> Result<()> {
        self.save_all(PATIENCE)
    }

    fn save_all(&self, patience: Duration) -> Result<()> {
        *lock(&self.written) = Instant::now();
        let all: Vec<Arc<Held>> = reading(&self.table).all().cloned().collect();
        self.write(&all, patience)
    }

    fn write(&self, helds: &[Arc<Held>], patience: Duration) -> Result<()> {
        let Some(path) = &self.options.memory else { return Ok(()) };
        let mut taken: BTreeMap<String, (Remembered, &Arc<Held>)> = BTreeMap::new();
        for held in helds {
            if let Some(news) = held.take_news(&self.kernel) {
                taken.insert(self.kernel.show_problem(&held.problem), (news, held));
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        let news = taken.iter().map(|(problem, (news, _))| (problem.clone(), news.clone())).collect();
        match Place(path.clone()).add(&self.owner, &news, patience) {
            Ok(warning) => {
                warning.into_iter().for_each(|warning| self.warn(warning));
                Ok(())
            }
            Err(e) => {
                taken.values().for_each(|(news, held)| held.put_back(news));
                Err(e)
            }
        }
    }

    pub(crate) fn save_sometimes(&self) {
        let due = self.options.memory.is_some() && lock(&self.written).elapsed() > WRITE_EVERY;
        if due && let Err(e) = self.save_all(IMPATIENCE) {
            self.warn(e.to_string());
        }
    }

    pub(crate) fn save_those(&self, helds: &[Arc<Held>]) {
        if let Err(e) = self.write(helds, IMPATIENCE) {
            self.warn(e.to_string());
        }
    }
}

impl Drop for Chooser {
    fn drop(&mut self) {
        if let Err(e) = self.save() {
            tracing::warn!("{}", printable(&e.to_string()));
        }
    }
}
