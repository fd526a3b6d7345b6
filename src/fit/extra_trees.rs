//! Extremely randomised trees (Geurts, Ernst, Wehenkel 2006), fitted: each cut is the best of a few random ones.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_predict::trees::ExtraTrees;
use seqtune_predict::trees::extra_trees::Node;

/// Rows with what trees are to tell of them.
pub struct TreeSamples<'a> {
    /// Row after row.
    pub rows: &'a [f32],
    /// Numbers of a row.
    pub columns: usize,
    /// Of each row.
    pub targets: Targets<'a>,
}

/// What rows are told apart by.
pub enum Targets<'a> {
    /// Class of each row, below a number of classes: leaves are to be of one class, and hold the shares of classes.
    Classes(&'a [u32], usize),
    /// Numbers of each row: leaves are to be of rows whose numbers are alike, and hold shares of the rows.
    Vectors(&'a [Vec<f32>]),
}

impl Targets<'_> {
    fn len(&self) -> usize {
        match self {
            Targets::Classes(labels, _) => labels.len(),
            Targets::Vectors(vectors) => vectors.len(),
        }
    }

    /// Cuts that one is chosen of: what the authors advise for classes and for numbers.
    fn columns_tried(&self, columns: usize) -> usize {
        match self {
            Targets::Classes(..) => (columns as f64).sqrt().ceil() as usize,
            Targets::Vectors(_) => columns,
        }
    }
}

/// Fits `count` trees to all rows, each grown until its leaves cannot be told apart or cut. Each cut is the best of some random ones: by Gini's
/// measure of classes, or by what it takes from the variance of vectors.
///
/// # Errors
/// [`Error::Failed`](seqtune_predict::Error::Failed) where a thread panics.
pub fn fit(samples: &TreeSamples, count: usize, threads: usize, seed: u64) -> Result<ExtraTrees> {
    let seeds: Vec<u64> = (0..count as u64).map(|tree| seed.wrapping_mul(1_000_003) + tree).collect();
    let rows = samples.targets.len();
    let (labels, width) = match samples.targets {
        Targets::Classes(_, classes) => (classes, classes),
        Targets::Vectors(vectors) => (rows, vectors.first().map_or(0, Vec::len)),
    };
    let grow = |seed: &u64| {
        let mut grower = Grower {
            samples,
            rng: ChaCha8Rng::seed_from_u64(*seed),
            columns: (0..samples.columns).collect(),
            sums: [vec![0.0; width], vec![0.0; width]],
            nodes: Vec::new(),
        };
        grower.grow(&mut (0..rows as u32).collect::<Vec<u32>>());
        Ok(grower.nodes)
    };
    Ok(ExtraTrees { trees: on_threads(&seeds, threads, grow)?, labels })
}

/// One tree while it grows.
struct Grower<'a> {
    samples: &'a TreeSamples<'a>,
    rng: ChaCha8Rng,
    /// In random order.
    columns: Vec<usize>,
    /// Rows by class, or sums of vectors, on both sides of a cut; 0 between uses.
    sums: [Vec<f64>; 2],
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

    /// The best of some random cuts; `None` where all rows are to be told the same, or are alike.
    fn cut(&mut self, rows: &[u32]) -> Option<(usize, f32)> {
        let same = match self.samples.targets {
            Targets::Classes(labels, _) => rows.iter().all(|r| labels[*r as usize] == labels[rows[0] as usize]),
            Targets::Vectors(_) => rows.len() == 1,
        };
        if same {
            return None;
        }
        let wanted = self.samples.targets.columns_tried(self.samples.columns);
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

    /// Sum over both sides of the squares of the classes' counts, or of the vectors' sums, by the side's rows: Gini's measure, or the variance that
    /// is taken away, but for what all cuts share.
    fn purity(&mut self, rows: &[u32], column: usize, cut: f32) -> f64 {
        let mut sizes = [0u32; 2];
        for row in rows {
            let side = usize::from(self.number(*row, column) >= cut);
            sizes[side] += 1;
            match self.samples.targets {
                Targets::Classes(labels, _) => self.sums[side][labels[*row as usize] as usize] += 1.0,
                Targets::Vectors(vectors) => {
                    let numbers = self.sums[side].iter_mut().zip(&vectors[*row as usize]);
                    numbers.for_each(|(sum, number)| *sum += f64::from(*number));
                }
            }
        }
        let mut squares = [0f64; 2];
        let mut settle = |class: usize| {
            for (square, sums) in squares.iter_mut().zip(&mut self.sums) {
                *square += sums[class].powi(2);
                sums[class] = 0.0;
            }
        };
        match self.samples.targets {
            // of many classes a node has few
            Targets::Classes(labels, _) => rows.iter().for_each(|row| settle(labels[*row as usize] as usize)),
            Targets::Vectors(vectors) => (0..vectors[0].len()).for_each(settle),
        }
        squares.iter().zip(sizes).map(|(square, size)| square / f64::from(size.max(1))).sum()
    }

    fn leaf(&self, rows: &[u32]) -> Node {
        let mut classes: Vec<u32> = match self.samples.targets {
            Targets::Classes(labels, _) => rows.iter().map(|row| labels[*row as usize]).collect(),
            Targets::Vectors(_) => rows.to_vec(),
        };
        classes.sort_unstable();
        let share = |same: &[u32]| (same[0], same.len() as f32 / rows.len() as f32);
        Node::Leaf(classes.chunk_by(|a, b| a == b).map(share).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;

    /// Points of a chessboard of 4 x 4 fields with three classes, a column of noise beside.
    fn board(count: usize, seed: u64) -> (Vec<f32>, Vec<u32>) {
        let mut rng = test_generator(seed);
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let [x, y, noise]: [f32; 3] = rng.random();
            rows.extend([x, y, noise]);
            labels.push(((x * 4.0) as u32 + 2 * (y * 4.0) as u32) % 3);
        }
        (rows, labels)
    }

    #[test]
    fn fields_of_a_board_are_told_apart_where_one_cut_tells_nothing() {
        let (train, test) = (board(3_000, 1), board(500, 2));
        let samples = TreeSamples { rows: &train.0, columns: 3, targets: Targets::Classes(&train.1, 3) };
        let trees = fit(&samples, 40, 2, 7).unwrap();
        assert!(trees.is_sound(3) && !trees.is_sound(2));
        let (mut right, mut sure) = (0, 0.0);
        for (row, label) in test.0.chunks(3).zip(&test.1) {
            let said = trees.predict(row);
            assert!((said.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            let best = (0..3).max_by(|a, b| said[*a].total_cmp(&said[*b])).unwrap();
            right += usize::from(best as u32 == *label);
            sure += said[*label as usize];
        }
        assert!(right > 455, "{right} of 500");
        assert!(sure > 400.0, "{sure}");
        let again = fit(&samples, 40, 1, 7).unwrap();
        assert_eq!(again.predict(&[0.3, 0.6, 0.5]), trees.predict(&[0.3, 0.6, 0.5]), "whatever the threads");
    }

    #[test]
    fn rows_that_are_alike_make_one_leaf_with_the_shares_of_their_classes() {
        let samples = TreeSamples { rows: &[1.0; 8], columns: 2, targets: Targets::Classes(&[0, 2, 2, 2], 3) };
        let trees = fit(&samples, 3, 1, 1).unwrap();
        assert_eq!(trees.predict(&[1.0, 1.0]), [0.25, 0.0, 0.75]);
    }

    #[test]
    fn rows_whose_numbers_change_with_a_column_are_weighed_by_it_and_not_by_noise() {
        let mut rng = test_generator(3);
        let rows: Vec<f32> = (0..200).map(|_| rng.random()).collect();
        // two numbers that the first of two columns tells
        let vectors: Vec<Vec<f32>> =
            rows.chunks(2).map(|row| vec![row[0], if row[0] < 0.3 { 2.0 } else { 0.0 }]).collect();
        let samples = TreeSamples { rows: &rows, columns: 2, targets: Targets::Vectors(&vectors) };
        let trees = fit(&samples, 100, 2, 1).unwrap();
        let shares = trees.predict(&[0.2, 0.9]);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-3);
        let mean = |at: usize| shares.iter().zip(&vectors).map(|(share, v)| share * v[at]).sum::<f32>();
        assert!((mean(0) - 0.2).abs() < 0.03 && mean(1) > 1.95, "{} {}", mean(0), mean(1));
        let own = trees.predict(&rows[..2]);
        assert!((own[0] - 1.0).abs() < 1e-3, "a row that was learned is known by heart");
    }
}
