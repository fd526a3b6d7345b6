//! Constraints compiled for a problem and a device, with what they allow: evaluated once for the values that they read, then looked up.
//!
//! A search asks the same constraint about the same few values again and again, in another order of the parameters that it does not read.
//! Most constraints read no size of the problem, so a kernel keeps them: the next problem on the device finds them evaluated.

use crate::expressions::Expr;
use crate::expressions::machine::Machine;
use crate::kernel_toml::names::decided_after;
use crate::kernel_toml::spec::{Field, FieldKind};
use crate::parameter::Parameter;
use crate::space::choices::{Choice, Choices};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Words of the rows of one constraint that is kept, at most: 128 KiB. With more combinations it is evaluated each time.
const MOST_WORDS_KEPT: usize = 16_384;

/// The same of one that only a problem has: few of its rows are asked for.
const MOST_WORDS: usize = 512;

/// Compiled constraints that a kernel keeps, at most: of some fifty devices.
const MOST_KEPT: usize = 1_024;

/// A part of a constraint, specialised for a problem and a device.
pub(crate) struct Check {
    /// Index of the constraint in the kernel.
    pub(crate) constraint: usize,
    pub(crate) code: Expr,
    /// Number of parameters that are set when it is decided, the last that it reads being one of them.
    pub(crate) decided_after: usize,
    /// Parameters that it reads, each once, in order.
    pub(crate) reads: Vec<usize>,
    /// Whether it reads them in their order, so that it can be evaluated in portions.
    pub(crate) in_order: bool,
    rows: Rows,
}

impl Check {
    /// With room for so many words of rows.
    fn new(constraint: usize, code: Expr, parameters: &[Parameter], most: usize) -> Check {
        let mut reads = Vec::new();
        code.slots(&mut |s| reads.push(s));
        let in_order = reads.is_sorted() && Machine::serves(&code);
        reads.sort_unstable();
        reads.dedup();
        let decided_after = decided_after(&code, parameters.len());
        let rows = Rows::new(parameters, &reads, decided_after, most);
        Check { constraint, rows, decided_after, code, reads, in_order }
    }

    /// Takes out of `open`, values of the parameter that decides it, what it does not allow behind the choices of `path`. `slots` is room
    /// for what it reads.
    pub(crate) fn narrow(&self, parameters: &[Parameter], path: &[Choice], slots: &mut [f64], open: &mut Choices) {
        match self.rows.count {
            0 => *open = self.allowed(parameters, path, slots, *open),
            _ => {
                let values = parameters[path.len()].values.len();
                self.rows.narrow(path, open, || self.allowed(parameters, path, slots, Choices::up_to(values)));
            }
        }
    }

    /// Which of the `open` values of the parameter after `path` it allows.
    fn allowed(&self, parameters: &[Parameter], path: &[Choice], slots: &mut [f64], open: Choices) -> Choices {
        let at = path.len();
        for read in self.reads.iter().filter(|read| **read < at) {
            slots[*read] = parameters[*read].values[path[*read] as usize] as f64;
        }
        let mut holds = |choice: &Choice| {
            slots[at] = parameters[at].values[*choice as usize] as f64;
            self.code.eval(slots) == 1.0
        };
        open.iter().filter(|choice| holds(choice)).collect()
    }
}

/// A bit for each value of the parameter that decides a constraint, by the combination of those that it reads before.
struct Rows {
    /// Parameters before, with how far apart the rows of neighbouring choices lie.
    strides: Vec<(usize, usize)>,
    /// Rows in all; 0 where they are too many.
    count: usize,
    /// Words of a row.
    words: usize,
    /// A bit for each row that was evaluated, then the rows. Who evaluates a row writes it before its bit, and all write the same.
    bits: OnceLock<Box<[AtomicU64]>>,
}

impl Rows {
    fn new(parameters: &[Parameter], reads: &[usize], decided_after: usize, most: usize) -> Rows {
        let at = decided_after.saturating_sub(1);
        let (mut strides, mut count) = (Vec::with_capacity(reads.len()), 1usize);
        for read in reads.iter().filter(|read| **read < at) {
            strides.push((*read, count));
            count = count.saturating_mul(parameters[*read].values.len());
        }
        let words = parameters.get(at).map_or(1, |p| p.values.len().div_ceil(64));
        let count = if count.saturating_mul(words) <= most { count } else { 0 };
        Rows { strides, count, words, bits: OnceLock::new() }
    }

    fn narrow(&self, path: &[Choice], open: &mut Choices, evaluate: impl FnOnce() -> Choices) {
        let row: usize = self.strides.iter().map(|(read, stride)| path[*read] as usize * stride).sum();
        let flags = self.count.div_ceil(64);
        let bits = self.bits.get_or_init(|| (0..flags + self.count * self.words).map(|_| AtomicU64::new(0)).collect());
        let words = &bits[flags + row * self.words..][..self.words];
        let (flag, bit) = (&bits[row / 64], 1 << (row % 64));
        if flag.load(Ordering::Acquire) & bit == 0 {
            let allowed = evaluate();
            words.iter().zip(allowed.words()).for_each(|(word, allowed)| word.store(*allowed, Ordering::Relaxed));
            flag.fetch_or(bit, Ordering::Release);
        }
        open.narrow(words.iter().map(|word| word.load(Ordering::Relaxed)));
    }
}

/// A constraint's parts by the values of the fields and limits that it reads.
type Kept = HashMap<Vec<u64>, Arc<[Arc<Check>]>>;

/// What a kernel keeps of its compiled constraints.
#[derive(Default)]
pub(crate) struct Compiled(Mutex<Kept>);

impl Compiled {
    /// The parts of a constraint, by its index and expression, with the fields and limits of `env`: each is decided as soon as its own
    /// parameters are set. None where the constraint needs a limit that the device does not state: it is dropped.
    pub(crate) fn checks(
        &self,
        (constraint, expr): (usize, &Expr),
        (parameters, fields): (&[Parameter], &[Field]),
        env: &[f64],
    ) -> Arc<[Arc<Check>]> {
        let count = parameters.len();
        let (mut key, mut known, mut kept) = (vec![constraint as u64], true, true);
        expr.slots(&mut |slot| {
            if slot >= count {
                key.push(env[slot].to_bits());
                known &= !env[slot].is_nan();
                kept &= fields.get(slot - count).is_none_or(|field| field.kind == FieldKind::Choice);
            }
        });
        if !known {
            return Arc::new([]);
        }
        let most = if kept { MOST_WORDS_KEPT } else { MOST_WORDS };
        let compile = || {
            let parts = expr.specialise(env, count).conjuncts().into_iter();
            parts.map(|part| Arc::new(Check::new(constraint, part, parameters, most))).collect()
        };
        if !kept {
            return compile();
        }
        // a thread that panicked with it has left it whole
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_KEPT && !all.contains_key(&key) {
            all.clear();
        }
        all.entry(key).or_insert_with(compile).clone()
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Compiled")
    }
}
