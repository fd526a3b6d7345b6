//! Which block precedes which on every path. Edits leave the blocks as they are, so that this is computed once.

use crate::llvm::library::{Block, Llvm};
use std::collections::HashMap;

/// Dominators of a function's blocks.
pub(crate) struct Dominators {
    numbers: HashMap<Block, usize>,
    /// For each block a bit for each block that dominates it.
    sets: Vec<Vec<u64>>,
    /// Whether a block is reached at all, and how many loops it stands in.
    reached: Vec<bool>,
    depths: Vec<u32>,
}

impl Dominators {
    /// By iteration over sets of bits (Allen and Cocke's equations).
    pub(crate) fn new(llvm: &Llvm, blocks: &[Block]) -> Dominators {
        let numbers: HashMap<Block, usize> = blocks.iter().enumerate().map(|(at, block)| (*block, at)).collect();
        let count = blocks.len();
        let mut before = vec![Vec::new(); count];
        for (at, block) in blocks.iter().enumerate() {
            for next in llvm.successors(*block) {
                before[numbers[&next]].push(at);
            }
        }
        let words = count.div_ceil(64);
        let mut sets = vec![vec![u64::MAX; words]; count];
        if count > 0 {
            sets[0] = vec![0; words];
            sets[0][0] = 1;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..count {
                let mut meet = vec![u64::MAX; words];
                for from in &before[at] {
                    meet.iter_mut().zip(&sets[*from]).for_each(|(all, one)| *all &= one);
                }
                meet[at / 64] |= 1 << (at % 64);
                if meet != sets[at] {
                    sets[at] = meet;
                    changed = true;
                }
            }
        }
        let mut reached = vec![false; count];
        let mut open = if count > 0 { vec![0] } else { Vec::new() };
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(llvm.successors(blocks[at]).iter().map(|next| numbers[next]));
            }
        }
        let mut found = Dominators { numbers, sets, reached, depths: vec![0; count] };
        found.count_loops(&before);
        found
    }

    /// A block stands in the loop of each edge back to a block that dominates its source, from whose source it is reached backwards.
    fn count_loops(&mut self, before: &[Vec<usize>]) {
        for head in 0..before.len() {
            let mut members = vec![false; before.len()];
            let mut open: Vec<usize> =
                before[head].iter().copied().filter(|from| self.reached[*from] && self.precedes(head, *from)).collect();
            if open.is_empty() {
                continue;
            }
            members[head] = true;
            while let Some(at) = open.pop() {
                if !std::mem::replace(&mut members[at], true) {
                    open.extend(&before[at]);
                }
            }
            members.iter().zip(&mut self.depths).for_each(|(is_in, depth)| *depth += u32::from(*is_in));
        }
    }

    fn precedes(&self, first: usize, second: usize) -> bool {
        self.sets[second][first / 64] >> (first % 64) & 1 == 1
    }

    /// Whether every path to `second` passes `first`; a block dominates itself.
    pub(crate) fn dominates(&self, first: Block, second: Block) -> bool {
        match (self.numbers.get(&first), self.numbers.get(&second)) {
            (Some(first), Some(second)) => self.precedes(*first, *second),
            _ => false,
        }
    }

    pub(crate) fn is_reached(&self, block: Block) -> bool {
        self.numbers.get(&block).is_some_and(|at| self.reached[*at])
    }

    /// Number of loops that a block stands in.
    pub(crate) fn depth(&self, block: Block) -> u32 {
        self.numbers.get(&block).map_or(0, |at| self.depths[*at])
    }
}
