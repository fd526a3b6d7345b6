//! Boosted regression trees (Friedman 2001), applied: each of them was fitted to what the ones before left.

use bincode::{Decode, Encode};

/// A split of a column, or, without one, a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct Node {
    /// Column that is compared; `None` for a leaf.
    pub column: Option<u16>,
    /// The highest number that goes left, or what the leaf adds.
    pub number: f32,
    /// The first of its two children, which stand side by side; counted from the root.
    pub children: u16,
}

/// Trees whose answers are added.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Forest {
    /// Prediction before there is a tree.
    pub base: f32,
    /// Each tree with its root first.
    pub trees: Vec<Vec<Node>>,
}

impl Forest {
    /// Whether it can be asked about rows of so many columns: what was read may be damaged. Children come after their parents, so every walk ends.
    pub fn is_sound(&self, columns: usize) -> bool {
        let sound = |tree: &Vec<Node>| {
            let node = |(at, node): (usize, &Node)| {
                let children = node.children as usize;
                node.column.is_none_or(|c| (c as usize) < columns && children > at && children + 1 < tree.len())
            };
            !tree.is_empty() && tree.iter().enumerate().all(node)
        };
        let finite = self.trees.iter().flatten().all(|node| node.number.is_finite());
        self.base.is_finite() && finite && self.trees.iter().all(sound)
    }

    /// What the trees say of each of `rows` of numbers: tree after tree, so that each is fetched once.
    pub fn predict(&self, rows: &[Vec<f32>]) -> Vec<f32> {
        let mut sums = vec![0.0; rows.len()];
        for tree in &self.trees {
            sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum += walk(tree, row));
        }
        sums.iter_mut().for_each(|sum| *sum += self.base);
        sums
    }
}

/// What one tree adds for a row of numbers.
pub fn walk(tree: &[Node], row: &[f32]) -> f32 {
    let mut node = tree[0];
    while let Some(column) = node.column {
        let right = row[column as usize] > node.number;
        node = tree[node.children as usize + right as usize];
    }
    node.number
}
