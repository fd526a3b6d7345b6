//! The parts of data: what is learned from, and what chooses among weights.

use seqtune_data::{KernelTable, Table};
use seqtune_kernel::{Kernel, Objective};
use seqtune_predict::model::{Part, Split};

/// Swept problems that choose weights, at least: to learn from fewer serves the model better (docs/log).
pub const FEWEST: usize = 5;

/// Training and validation problems of one kernel, as indices into its table.
pub struct Problems {
    /// Problems to learn from.
    pub train: Vec<usize>,
    /// Problems that choose the weights to keep.
    pub validation: Vec<usize>,
}

/// By kernel, the problems to learn from, and those that choose weights: none, where they would be fewer than [`FEWEST`] of sweeps.
pub fn divide(corpus: &[KernelTable], split: &Split, tuned: bool) -> Vec<Problems> {
    let of = |KernelTable { kernel, table }: &KernelTable| {
        let [train, validation] =
            [Part::Train, Part::Validation].map(|part| part_of(kernel, table, split, part, tuned));
        Problems { train, validation }
    };
    let mut problems: Vec<Problems> = corpus.iter().map(of).collect();
    let held_out: usize = problems.iter().map(|p| p.validation.len()).sum();
    if !tuned && held_out < FEWEST {
        for p in &mut problems {
            p.train.append(&mut p.validation);
            p.train.sort_unstable();
        }
    }
    problems
}

/// The problems of a part, of a table of what tuners chose or of a sweep.
pub fn part_of(kernel: &Kernel, table: &Table, split: &Split, part: Part, tuned: bool) -> Vec<usize> {
    match tuned {
        true => table.tuned_part(kernel, split, part),
        false => table.part(kernel, split, part, Objective::Time),
    }
}
