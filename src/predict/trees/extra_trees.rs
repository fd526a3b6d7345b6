//! Extremely randomised trees (Geurts, Ernst, Wehenkel 2006), applied.

use bincode::{Decode, Encode};

/// Fitted trees, of which each leaf holds shares of what its rows were labelled with.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExtraTrees {
    /// Each tree with its root first.
    pub trees: Vec<Vec<Node>>,
    /// Number of labels.
    pub labels: usize,
}

/// A cut or a leaf.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Node {
    /// Rows with a number below the cut go to the first node, others to the second; both come after this one.
    Cut(u32, f32, [u32; 2]),
    /// Shares of the labels that occur.
    Leaf(Vec<(u32, f32)>),
}

impl ExtraTrees {
    /// Whether it can be asked about rows of so many columns: what was read may be damaged. Children come after their parents, so every walk ends.
    pub fn is_sound(&self, columns: usize) -> bool {
        let node = |(at, node, count): (usize, &Node, usize)| match node {
            Node::Cut(column, cut, children) => {
                let follows = |child: &u32| (at + 1..count).contains(&(*child as usize));
                (*column as usize) < columns && cut.is_finite() && children.iter().all(follows)
            }
            Node::Leaf(shares) => {
                shares.iter().all(|(label, share)| (*label as usize) < self.labels && share.is_finite())
            }
        };
        let tree = |tree: &Vec<Node>| tree.iter().enumerate().all(|(at, n)| node((at, n, tree.len())));
        !self.trees.is_empty() && self.trees.iter().all(|t| !t.is_empty() && tree(t))
    }

    /// Shares of the labels for a row, by all trees alike.
    pub fn predict(&self, row: &[f32]) -> Vec<f32> {
        let mut shares = vec![0.0; self.labels];
        for nodes in &self.trees {
            let mut at = 0;
            let leaf = loop {
                match &nodes[at] {
                    Node::Cut(column, cut, [below, above]) => {
                        at = if row[*column as usize] < *cut { *below } else { *above } as usize;
                    }
                    Node::Leaf(shares) => break shares,
                }
            };
            leaf.iter().for_each(|(label, share)| shares[*label as usize] += share / self.trees.len() as f32);
        }
        shares
    }
}
