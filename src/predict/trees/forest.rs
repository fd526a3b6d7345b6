//! Boosted regression trees (Friedman 2001), applied: each of them was fitted to what the ones before left.

use bincode::{Decode, Encode};

/// A split of a column, or, without one, a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct SplitNode {
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
    pub trees: Vec<Vec<SplitNode>>,
}

impl Forest {
    /// Whether it can be asked about rows of so many columns: what was read may be damaged. Children come after their parents, so every walk ends.
    pub fn is_sound(&self, columns: usize) -> bool {
        let sound = |tree: &Vec<SplitNode>| {
            let node = |(at, node): (usize, &SplitNode)| {
                let children = node.children as usize;
                node.column.is_none_or(|c| (c as usize) < columns && children > at && children + 1 < tree.len())
            };
            !tree.is_empty() && tree.iter().enumerate().all(node)
        };
        let finite = self.trees.iter().flatten().all(|node| node.number.is_finite());
        self.base.is_finite() && finite && self.trees.iter().all(sound)
    }

    /// What the trees say of a row of numbers.
    pub fn predict(&self, row: &[f32]) -> f32 {
        self.base + self.trees.iter().map(|tree| walk(tree, row)).sum::<f32>()
    }

    /// The same forest for many rows at once.
    pub fn in_step(&self) -> InStep {
        let mut flat = InStep { base: self.base, steps: Vec::new(), leaves: Vec::new(), trees: Vec::new() };
        for tree in &self.trees {
            let first = flat.steps.len() as u32;
            let mut depths = vec![0; tree.len()];
            for (at, node) in tree.iter().enumerate() {
                let children = first + node.children as u32;
                let (step, leaf) = match node.column {
                    // children come after their parents
                    Some(column) => {
                        let depth = depths[at] + 1;
                        depths[node.children as usize..][..2].fill(depth);
                        (Step { column: column as u32, number: node.number, children }, 0.0)
                    }
                    None => (Step { column: 0, number: f32::INFINITY, children: first + at as u32 }, node.number),
                };
                flat.steps.push(step);
                flat.leaves.push(leaf);
            }
            flat.trees.push((first, depths.into_iter().max().unwrap_or(0)));
        }
        flat
    }
}

/// A node of [`InStep`]: a leaf leads to itself, as no number is above its own.
#[derive(Clone, Copy)]
struct Step {
    column: u32,
    number: f32,
    children: u32,
}

/// Rows that stay in the cache while every tree is walked.
const BLOCK: usize = 256;

/// A forest in which all rows take the same number of steps through a tree: without branches, and without waiting for one row to end
/// before the next begins.
pub struct InStep {
    base: f32,
    steps: Vec<Step>,
    leaves: Vec<f32>,
    /// Root and depth of each tree.
    trees: Vec<(u32, u32)>,
}

impl InStep {
    /// What the trees say of each of `rows`, of so many columns each: the same as [`Forest::predict`].
    pub fn predict(&self, rows: &[f32], columns: usize) -> Vec<f32> {
        rows.chunks(BLOCK * columns).flat_map(|block| self.predict_block(block, columns)).collect()
    }

    fn predict_block(&self, rows: &[f32], columns: usize) -> Vec<f32> {
        let count = rows.len() / columns;
        let (mut at, mut sums) = (vec![0u32; count], vec![0.0; count]);
        for (root, depth) in &self.trees {
            at.fill(*root);
            for _ in 0..*depth {
                for (at, row) in at.iter_mut().zip(rows.chunks_exact(columns)) {
                    let step = self.steps[*at as usize];
                    *at = step.children + (row[step.column as usize] > step.number) as u32;
                }
            }
            sums.iter_mut().zip(&at).for_each(|(sum, at)| *sum += self.leaves[*at as usize]);
        }
        sums.iter_mut().for_each(|sum| *sum += self.base);
        sums
    }
}

/// What one tree adds for a row of numbers.
pub fn walk(tree: &[SplitNode], row: &[f32]) -> f32 {
    let mut node = tree[0];
    while let Some(column) = node.column {
        let right = row[column as usize] > node.number;
        node = tree[node.children as usize + right as usize];
    }
    node.number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;

    /// A tree whose nodes have children, or are leaves, at random.
    fn tree(rng: &mut ChaCha8Rng) -> Vec<SplitNode> {
        let leaf = |number| SplitNode { column: None, number, children: 0 };
        let mut nodes = vec![leaf(rng.random())];
        for at in 0..20 {
            if at < nodes.len() && (at == 0 || rng.random_bool(0.6)) {
                let children = nodes.len() as u16;
                nodes[at] = SplitNode { column: Some(rng.random_range(0..3)), number: rng.random(), children };
                nodes.extend([leaf(rng.random()), leaf(rng.random())]);
            }
        }
        nodes
    }

    #[test]
    fn rows_in_step_end_in_the_leaves_that_they_end_in_alone() {
        let mut rng = test_generator(6);
        let single = vec![SplitNode { column: None, number: 0.25, children: 0 }];
        let trees = std::iter::once(single).chain((0..50).map(|_| tree(&mut rng))).collect();
        let forest = Forest { base: 0.5, trees };
        assert!(forest.is_sound(3));
        let mut rows: Vec<f32> = (0..300).map(|_| rng.random()).collect();
        rows[..6].copy_from_slice(&[f32::MIN, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0]);
        let alone: Vec<f32> = rows.chunks(3).map(|row| forest.predict(row)).collect();
        assert_eq!(forest.in_step().predict(&rows, 3), alone);
    }
}
