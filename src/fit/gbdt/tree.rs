//! Growing one regression tree over histograms, the leaf that gains most first (Ke et al. 2017).

use crate::gbdt::samples::Samples;
use seqtune_predict::trees::forest::SplitNode;

const RATE: f64 = 0.05;
const LEAVES: usize = 63;
/// Rows of a leaf at least: LightGBM's 20 of a thousand rows and more. Of fewer, 0.7 of their root, or so few that a budget of seconds buys would
/// teach nothing (docs/log).
fn least_rows(rows: usize) -> u32 {
    (0.7 * (rows as f64).sqrt()).round().clamp(2.0, 20.0) as u32
}
const LEAST_CURVATURE: f64 = 1e-3;

/// The rows with each number as the place of the bin that it falls into.
pub(crate) struct BinnedRows {
    columns: usize,
    /// Upper ends of the bins of each column, but for the last.
    ends: Vec<Vec<f32>>,
    bins: Vec<u8>,
}

impl BinnedRows {
    pub fn new(samples: &Samples) -> BinnedRows {
        let columns = samples.columns;
        let ends = |column: usize| {
            let mut values: Vec<f32> = samples.rows.iter().skip(column).step_by(columns).copied().collect();
            values.sort_by(f32::total_cmp);
            let mut distinct = values.clone();
            distinct.dedup();
            let middle = |pair: &[f32]| 0.5 * (pair[0] + pair[1]);
            if distinct.len() <= 255 {
                return distinct.windows(2).map(middle).collect();
            }
            let cut = |i: usize| {
                let at = values.partition_point(|v| *v <= values[i * values.len() / 255]);
                values.get(at).map(|next| 0.5 * (values[at - 1] + next))
            };
            let mut ends: Vec<f32> = (1..255).filter_map(cut).collect();
            ends.dedup();
            ends
        };
        let ends: Vec<Vec<f32>> = (0..columns).map(ends).collect();
        let bin = |(i, x): (usize, &f32)| ends[i % columns].partition_point(|end| end < x) as u8;
        let bins = samples.rows.iter().enumerate().map(bin).collect();
        BinnedRows { columns, ends, bins }
    }
}

/// GradientSums over the rows of a bin: of the first and second derivatives, and their number.
#[derive(Clone, Copy, Default)]
struct GradientSums {
    gradient: f64,
    hessian: f64,
    rows: u32,
}

impl GradientSums {
    fn add(&mut self, [gradient, hessian]: [f32; 2]) {
        self.gradient += gradient as f64;
        self.hessian += hessian as f64;
        self.rows += 1;
    }

    fn less(self, other: GradientSums) -> GradientSums {
        GradientSums {
            gradient: self.gradient - other.gradient,
            hessian: self.hessian - other.hessian,
            rows: self.rows - other.rows,
        }
    }

    fn worth(self) -> f64 {
        self.gradient * self.gradient / self.hessian
    }

    fn may_be(self, least: u32) -> bool {
        self.rows >= least && self.hessian >= LEAST_CURVATURE
    }
}

/// A leaf that may still be split.
struct Leaf {
    node: usize,
    rows: Vec<u32>,
    histogram: Vec<GradientSums>,
    sums: GradientSums,
    /// Gain, place of the column among those seen, and the highest bin that goes left.
    best: Option<(f64, usize, u8)>,
}

/// What grows one tree.
pub(crate) struct TreeBuilder<'a> {
    pub binned: &'a BinnedRows,
    /// First and second derivative of the loss by each row's score.
    pub gradients: &'a [[f32; 2]],
    /// Columns that the tree sees.
    pub columns: &'a [u16],
}

impl TreeBuilder<'_> {
    /// The tree that lowers the loss of these rows most, greedily; it is a step of [`RATE`].
    pub fn grow(&self, rows: Vec<u32>) -> Vec<SplitNode> {
        let mut tree = vec![SplitNode { column: None, number: 0.0, children: 0 }];
        let least = least_rows(rows.len());
        let histogram = self.histogram(&rows);
        let mut leaves = vec![self.leaf(0, rows, histogram, least)];
        while leaves.len() < LEAVES {
            let gains = leaves.iter().enumerate().filter_map(|(i, leaf)| Some((i, leaf.best?)));
            let Some((i, (_, seen, bin))) = gains.max_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { break };
            let Leaf { node, rows, histogram, .. } = leaves.swap_remove(i);
            let column = self.columns[seen] as usize;
            let goes_left = |row: &u32| self.binned.bins[*row as usize * self.binned.columns + column] <= bin;
            let (left, right): (Vec<u32>, Vec<u32>) = rows.into_iter().partition(goes_left);
            // only the smaller child is counted: the larger is what that leaves of both
            let (small, is_left) = if left.len() <= right.len() { (&left, true) } else { (&right, false) };
            let small = self.histogram(small);
            let large = histogram.iter().zip(&small).map(|(all, part)| all.less(*part)).collect();
            let (of_left, of_right) = if is_left { (small, large) } else { (large, small) };
            let children = tree.len();
            tree[node] = SplitNode {
                column: Some(column as u16),
                number: self.binned.ends[column][bin as usize],
                children: children as u16,
            };
            tree.extend([SplitNode { column: None, number: 0.0, children: 0 }; 2]);
            leaves.push(self.leaf(children, left, of_left, least));
            leaves.push(self.leaf(children + 1, right, of_right, least));
        }
        for leaf in leaves {
            let value = -leaf.sums.gradient / leaf.sums.hessian.max(f64::MIN_POSITIVE) * RATE;
            tree[leaf.node].number = if value.is_finite() { value as f32 } else { 0.0 };
        }
        tree
    }

    fn bins_of(&self, column: u16) -> usize {
        self.binned.ends[column as usize].len() + 1
    }

    fn histogram(&self, rows: &[u32]) -> Vec<GradientSums> {
        let starts: Vec<usize> = self
            .columns
            .iter()
            .scan(0, |at, column| {
                *at += self.bins_of(*column);
                Some(*at - self.bins_of(*column))
            })
            .collect();
        let size: usize = self.columns.iter().map(|c| self.bins_of(*c)).sum();
        let mut histogram = vec![GradientSums::default(); size];
        for row in rows {
            let gradients = self.gradients[*row as usize];
            let bins = &self.binned.bins[*row as usize * self.binned.columns..][..self.binned.columns];
            for (start, column) in starts.iter().zip(self.columns) {
                histogram[start + bins[*column as usize] as usize].add(gradients);
            }
        }
        histogram
    }

    fn leaf(&self, node: usize, rows: Vec<u32>, histogram: Vec<GradientSums>, least: u32) -> Leaf {
        let mut sums = GradientSums::default();
        rows.iter().for_each(|row| sums.add(self.gradients[*row as usize]));
        let mut best: Option<(f64, usize, u8)> = None;
        let mut at = 0;
        for (seen, column) in self.columns.iter().enumerate() {
            let bins = &histogram[at..at + self.bins_of(*column)];
            at += bins.len();
            let mut left = GradientSums::default();
            for (bin, part) in bins.iter().enumerate().take(bins.len() - 1) {
                left = GradientSums {
                    gradient: left.gradient + part.gradient,
                    hessian: left.hessian + part.hessian,
                    rows: left.rows + part.rows,
                };
                let right = sums.less(left);
                if part.rows == 0 || !left.may_be(least) || !right.may_be(least) {
                    continue;
                }
                let gain = left.worth() + right.worth() - sums.worth();
                if gain > 1e-12 && best.is_none_or(|(most, ..)| gain > most) {
                    best = Some((gain, seen, bin as u8));
                }
            }
        }
        Leaf { node, rows, histogram, sums, best }
    }
}
