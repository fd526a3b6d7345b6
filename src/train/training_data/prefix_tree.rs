//! What the sequences of one problem begin with in common.

use seqtune_kernel::Choice;
use seqtune_predict::features::Sequence;
use std::collections::HashMap;

/// A step that rows of one problem share.
pub struct Node {
    /// A row that takes it, and which of its steps it is.
    pub row: usize,
    /// Step of that row.
    pub at: usize,
}

/// The tree of the steps of one problem's sequences: each prefix once.
pub struct PrefixTree {
    /// A node stands before those that follow it.
    pub nodes: Vec<Node>,
    /// By row, the node of each step.
    pub paths: Vec<Vec<usize>>,
}

impl PrefixTree {
    /// The tree that the first `steps` of each sequence make.
    pub fn new(sequences: &[&Sequence], steps: impl Fn(&Sequence) -> usize) -> PrefixTree {
        let mut known: HashMap<&[Choice], usize> = HashMap::new();
        let (mut nodes, mut paths) = (Vec::new(), Vec::new());
        for (row, sequence) in sequences.iter().enumerate() {
            let mut path: Vec<usize> = Vec::new();
            for (at, position) in sequence.asked.iter().enumerate().take(steps(sequence)) {
                let node = *known.entry(&sequence.config.0[..*position as usize]).or_insert_with(|| {
                    nodes.push(Node { row, at });
                    nodes.len() - 1
                });
                path.push(node);
            }
            paths.push(path);
        }
        PrefixTree { nodes, paths }
    }
}
