//! What was counted of a space: kept with the space, so that it is counted once.

use std::collections::HashMap;
use std::sync::Arc;

/// Settings that counting one space looks at, at most.
const SETTINGS: usize = 10_000_000;

/// Bytes that counting remembers, at most.
const MEMORY: usize = 200 << 20;

/// Parts of expressions that counting evaluates, at most: about a second.
const WORK: u64 = 300_000_000;

/// A position, and what constraints from it on make of the parameters before it.
pub(crate) type Key = Box<[u64]>;

/// What was counted of a space so far, with what it cost.
#[derive(Default)]
pub(crate) struct Counts {
    /// Counts per value of the parameter at a position, and their sum.
    pub(crate) memo: HashMap<Key, (Arc<[f64]>, f64)>,
    settings: usize,
    bytes: usize,
    work: u64,
    /// Whether a budget was spent: nothing is counted any more.
    pub(crate) over: bool,
}

impl Counts {
    /// Whether so much more may be counted.
    pub(crate) fn spend(&mut self, settings: usize, bytes: usize, work: u64) -> bool {
        self.settings += settings;
        self.bytes += bytes;
        self.work += work;
        self.over |= self.settings > SETTINGS || self.bytes > MEMORY || self.work > WORK;
        !self.over
    }
}
