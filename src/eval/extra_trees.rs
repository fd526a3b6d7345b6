//! Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): each cut is the best of a few random ones.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::error::Result;
use seqtune_predict::threads::on_threads;

/// Rows with a class each.
pub struct Classified {
    /// Row after row.
    pub rows: Vec<f32>,
    /// Numbers of a row.
    pub columns: usize,
    /// Class of each row, below `classes`.
    pub labels: Vec<u32>,
    /// Number of classes.
    pub classes: usize,
}

/// Fitted trees.
pub struct ExtraTrees {
    trees: Vec<Vec<Node>>,
    classes: usize,
}

enum Node {
    /// Rows with a number below the cut go to the first node, others to the second.
    Cut(u32, f32, [u32; 2]),
    /// Shares of the classes that occur.
    Leaf(Vec<(u32, f32)>),
}

impl ExtraTrees {
    /// Fits `count` trees to all rows, each grown until its leaves are of one class or cannot be cut. Each cut is the purest by Gini's
    /// measure of as many random ones as the square root of the columns.
    ///
    /// # Errors
    /// [`Error::Failed`](seqtune_predict::Error::Failed) where a thread panics.
    pub fn fit(samples: &Classified, count: usize, threads: usize, seed: u64) -> Result<ExtraTrees> {
        let seeds: Vec<u64> = (0..count as u64).map(|tree| seed.wrapping_mul(1_000_003) + tree).collect();
        let grow = |seed: &u64| {
            let mut grower = Grower {
                samples,
                rng: ChaCha8Rng::seed_from_u64(*seed),
                columns: (0..samples.columns).collect(),
                counts: [vec![0; samples.classes], vec![0; samples.classes]],
                nodes: Vec::new(),
            };
            let mut rows: Vec<u32> = (0..samples.labels.len() as u32).collect();
            grower.grow(&mut rows);
            Ok(grower.nodes)
        };
        Ok(ExtraTrees { trees: on_threads(&seeds, threads, grow)?, classes: samples.classes })
    }

    /// Probabilities of the classes for a row.
    pub fn predict(&self, row: &[f32]) -> Vec<f32> {
        let mut probabilities = vec![0.0; self.classes];
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
            leaf.iter().for_each(|(class, share)| probabilities[*class as usize] += share / self.trees.len() as f32);
        }
        probabilities
    }
}

/// One tree while it grows.
struct Grower<'a> {
    samples: &'a Classified,
    rng: ChaCha8Rng,
    /// In random order.
    columns: Vec<usize>,
    /// Rows by class on both sides of a cut; 0 between uses.
    counts: [Vec<u32>; 2],
    nodes: Vec<Node>,
}

impl Grower<'_> {
    fn number(&self, row: u32, column: usize) -> f32 {
        self.samples.rows[row as usize * self.samples.columns + column]
    }

    /// Grows the node of these rows, and gives its index. Its depth is that of the tree, about twice the logarithm of the rows.
    fn grow(&mut self, rows: &mut [u32]) -> u32 {
        let at = self.nodes.len();
        let Some((column, cut)) = self.cut(rows) else {
            let leaf = self.leaf(rows);
            self.nodes.push(leaf);
            return at as u32;
        };
        self.nodes.push(Node::Cut(column as u32, cut, [0, 0]));
        let mut below = 0;
        for i in 0..rows.len() {
            if self.number(rows[i], column) < cut {
                rows.swap(i, below);
                below += 1;
            }
        }
        let (first, second) = rows.split_at_mut(below);
        let sides = [self.grow(first), self.grow(second)];
        self.nodes[at] = Node::Cut(column as u32, cut, sides);
        at as u32
    }

    /// The purest of some random cuts; `None` where all rows are of one class, or alike.
    fn cut(&mut self, rows: &[u32]) -> Option<(usize, f32)> {
        let labels = &self.samples.labels;
        if rows.iter().all(|row| labels[*row as usize] == labels[rows[0] as usize]) {
            return None;
        }
        let wanted = (self.samples.columns as f64).sqrt().ceil() as usize;
        let mut columns = std::mem::take(&mut self.columns);
        columns.shuffle(&mut self.rng);
        let (mut best, mut tried) = (None, 0);
        for column in &columns {
            let numbers = || rows.iter().map(|row| self.number(*row, *column));
            let (least, most) = (numbers().fold(f32::MAX, f32::min), numbers().fold(f32::MIN, f32::max));
            if least >= most {
                continue;
            }
            // above the least, so that both sides have rows
            let cut = most - self.rng.random::<f32>() * (most - least);
            let cut = if cut > least { cut } else { most };
            let purity = self.purity(rows, *column, cut);
            if best.is_none_or(|(highest, _, _)| purity > highest) {
                best = Some((purity, *column, cut));
            }
            tried += 1;
            if tried == wanted {
                break;
            }
        }
        self.columns = columns;
        best.map(|(_, column, cut)| (column, cut))
    }

    /// Sum over both sides of the squares of the classes' counts by the side's rows: Gini's measure but for what all cuts share.
    fn purity(&mut self, rows: &[u32], column: usize, cut: f32) -> f64 {
        let mut sizes = [0u32; 2];
        for row in rows {
            let side = usize::from(self.number(*row, column) >= cut);
            sizes[side] += 1;
            self.counts[side][self.samples.labels[*row as usize] as usize] += 1;
        }
        let mut squares = [0f64; 2];
        for row in rows {
            let class = self.samples.labels[*row as usize] as usize;
            for (square, counts) in squares.iter_mut().zip(&mut self.counts) {
                *square += f64::from(counts[class]).powi(2);
                counts[class] = 0;
            }
        }
        squares.iter().zip(sizes).map(|(square, size)| square / f64::from(size.max(1))).sum()
    }

    fn leaf(&self, rows: &[u32]) -> Node {
        let mut classes: Vec<u32> = rows.iter().map(|row| self.samples.labels[*row as usize]).collect();
        classes.sort_unstable();
        let share = |same: &[u32]| (same[0], same.len() as f32 / rows.len() as f32);
        Node::Leaf(classes.chunk_by(|a, b| a == b).map(share).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a chessboard of 4 x 4 fields with three classes, a column of noise beside.
    fn board(count: usize, seed: u64) -> Classified {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let [x, y, noise]: [f32; 3] = rng.random();
            rows.extend([x, y, noise]);
            labels.push(((x * 4.0) as u32 + 2 * (y * 4.0) as u32) % 3);
        }
        Classified { rows, columns: 3, labels, classes: 3 }
    }

    #[test]
    fn fields_of_a_board_are_told_apart_where_one_cut_tells_nothing() {
        let (train, test) = (board(3_000, 1), board(500, 2));
        let trees = ExtraTrees::fit(&train, 40, 2, 7).unwrap();
        let (mut right, mut sure) = (0, 0.0);
        for (row, label) in test.rows.chunks(3).zip(&test.labels) {
            let said = trees.predict(row);
            assert!((said.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            let best = (0..3).max_by(|a, b| said[*a].total_cmp(&said[*b])).unwrap();
            right += usize::from(best as u32 == *label);
            sure += said[*label as usize];
        }
        assert!(right > 455, "{right} of 500");
        assert!(sure > 400.0, "{sure}");
        let again = ExtraTrees::fit(&train, 40, 1, 7).unwrap();
        assert_eq!(again.predict(&[0.3, 0.6, 0.5]), trees.predict(&[0.3, 0.6, 0.5]), "whatever the threads");
    }

    #[test]
    fn rows_that_are_alike_make_one_leaf_with_the_shares_of_their_classes() {
        let samples = Classified { rows: vec![1.0; 8], columns: 2, labels: vec![0, 2, 2, 2], classes: 3 };
        let trees = ExtraTrees::fit(&samples, 3, 1, 1).unwrap();
        assert_eq!(trees.predict(&[1.0, 1.0]), [0.25, 0.0, 0.75]);
    }
}
