//! The problems that are held in memory, found by their values without asking for memory.

use crate::entry::Held;
use seqtune_predict::Problem;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Problems by the hash of their values, and by number.
pub(crate) struct Table {
    by_hash: HashMap<u64, Vec<Arc<Held>>>,
    by_serial: HashMap<u64, Arc<Held>>,
    serial: AtomicU64,
    most: usize,
}

/// Hash of a problem's values (Fowler, Noll and Vo, over words).
fn hash(problem: &Problem) -> u64 {
    let mix = |hash: u64, value: &f64| (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    problem.values.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

impl Table {
    /// Of at most so many problems.
    pub(crate) fn new(most: usize) -> Table {
        Table { by_hash: HashMap::new(), by_serial: HashMap::new(), serial: AtomicU64::new(1), most }
    }

    pub(crate) fn find(&self, problem: &Problem) -> Option<&Arc<Held>> {
        self.by_hash.get(&hash(problem))?.iter().find(|held| held.problem == *problem)
    }

    pub(crate) fn by_serial(&self, serial: u64) -> Option<&Arc<Held>> {
        self.by_serial.get(&serial)
    }

    pub(crate) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.by_serial.values()
    }

    /// Adds a problem, unless another thread was quicker: then that one's is returned. With it come those that had to go, the least called.
    pub(crate) fn insert(&mut self, held: Arc<Held>) -> (Arc<Held>, Vec<Arc<Held>>) {
        if let Some(known) = self.find(&held.problem) {
            return (known.clone(), Vec::new());
        }
        let mut gone = Vec::new();
        if self.by_serial.len() >= self.most {
            let mut all: Vec<(u64, u64)> = self.all().map(|h| (h.picks.swap(0, Ordering::Relaxed), h.serial)).collect();
            all.sort_unstable();
            all.truncate(all.len().div_ceil(4));
            gone.extend(all.into_iter().filter_map(|(_, serial)| self.by_serial.remove(&serial)));
            let stays = |held: &Arc<Held>| self.by_serial.contains_key(&held.serial);
            self.by_hash.values_mut().for_each(|helds| helds.retain(stays));
            self.by_hash.retain(|_, helds| !helds.is_empty());
        }
        self.by_serial.insert(held.serial, held.clone());
        self.by_hash.entry(hash(&held.problem)).or_default().push(held.clone());
        (held, gone)
    }
}
