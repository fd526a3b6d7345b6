//! The fewest rows of a table whose reader takes the nearest row.

use crate::losses::LossTable;

/// Which row a reader takes for a size: the nearest one, of two as near the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// By the difference, as vLLM (`fused_moe.py`, `try_get_optimal_moe_config`) and SGLang do.
    Difference,
    /// By the ratio.
    Ratio,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Size that it stands at.
    pub size: u64,
    /// Place of the config among the table's columns.
    pub config: usize,
    /// The largest loss at any size that it serves, as a logarithm.
    pub worst: f64,
}

impl Nearness {
    /// Whether `size`, which lies between two rows, is served by the smaller one.
    fn takes_smaller(self, size: u64, smaller: u64, greater: u64) -> bool {
        match self {
            Nearness::Difference => size - smaller <= greater - size,
            Nearness::Ratio => u128::from(size) * u128::from(size) <= u128::from(smaller) * u128::from(greater),
        }
    }
}

/// The place of the row that serves a size; rows are in rising order.
pub fn nearest(rows: &[u64], size: u64, nearness: Nearness) -> Option<usize> {
    let behind = rows.partition_point(|row| *row < size);
    match (behind.checked_sub(1), rows.get(behind)) {
        (Some(before), Some(next)) => {
            let smaller = nearness.takes_smaller(size, rows[before], *next);
            Some(if smaller { before } else { behind })
        }
        (before, None) => before,
        (None, Some(_)) => Some(behind),
    }
}

/// A row at a size with a config, and the best way to get there.
#[derive(Clone, Copy)]
struct State {
    rows: usize,
    /// Sum of the losses up to the row's own size.
    loss: f64,
    /// Size and config of the row before.
    before: Option<(usize, usize)>,
}

impl State {
    fn is_better(&self, other: Option<State>) -> bool {
        other.is_none_or(|other| (self.rows, self.loss) < (other.rows, other.loss))
    }
}

/// What configs lose, with what is asked of it often.
struct RowSearch<'t> {
    table: &'t LossTable,
    sizes: &'t [u64],
    /// By config and size: sum of the losses of all sizes before it.
    sums: Vec<Vec<f64>>,
    /// By config and size: the last size up to which it keeps the bound from there on, and the first.
    reach: Vec<Vec<[usize; 2]>>,
}

impl<'t> RowSearch<'t> {
    fn new(sizes: &'t [u64], table: &'t LossTable, bound: f64) -> RowSearch<'t> {
        let keeps = |at: usize, config: usize| table.losses[at][config] <= bound;
        let (mut sums, mut reach) = (Vec::new(), Vec::new());
        for config in 0..table.configs.len() {
            let mut sum = vec![0.0];
            for row in &table.losses {
                // beyond the bound nothing is served, and infinity would be lost in a difference
                let loss = if row[config] <= bound { row[config] } else { 0.0 };
                sum.push(sum[sum.len() - 1] + loss);
            }
            let mut ends: Vec<[usize; 2]> = (0..sizes.len()).map(|at| [at, at]).collect();
            for at in 1..sizes.len() {
                if keeps(at, config) && keeps(at - 1, config) {
                    ends[at][1] = ends[at - 1][1];
                }
            }
            for at in (1..sizes.len()).rev() {
                if keeps(at, config) && keeps(at - 1, config) {
                    ends[at - 1][0] = ends[at][0];
                }
            }
            sums.push(sum);
            reach.push(ends);
        }
        RowSearch { table, sizes, sums, reach }
    }

    /// Sum of the losses of the sizes from one to another, both counted.
    fn sum(&self, config: usize, from: usize, to: usize) -> f64 {
        self.sums[config][to + 1] - self.sums[config][from]
    }

    /// The last size that the smaller of two rows serves.
    fn border(&self, smaller: usize, greater: usize, nearness: Nearness) -> usize {
        let own = |at: &usize| nearness.takes_smaller(self.sizes[*at], self.sizes[smaller], self.sizes[greater]);
        smaller + (smaller..greater).take_while(own).count().max(1) - 1
    }

    /// The best row at each size and config that serves all sizes up to it.
    fn states(&self, bound: f64, nearness: Nearness) -> Vec<Vec<Option<State>>> {
        let configs = self.table.configs.len();
        let mut states: Vec<Vec<Option<State>>> = vec![vec![None; configs]; self.sizes.len()];
        for at in 0..self.sizes.len() {
            let stands: Vec<usize> = (0..configs).filter(|c| self.table.losses[at][*c] <= bound).collect();
            for config in stands.iter().copied().filter(|c| self.reach[*c][at][1] == 0) {
                states[at][config] = Some(State { rows: 1, loss: self.sum(config, 0, at), before: None });
            }
            for before in 0..at {
                let border = self.border(before, at, nearness);
                let reaches = |config: &usize| self.reach[*config][before][0] >= border;
                let left = (0..configs).filter(reaches).filter_map(|config| {
                    let state = states[before][config]?;
                    let loss = state.loss + if border > before { self.sum(config, before + 1, border) } else { 0.0 };
                    Some((config, State { loss, ..state }))
                });
                let best = left.min_by(|(_, a), (_, b)| a.rows.cmp(&b.rows).then(a.loss.total_cmp(&b.loss)));
                let Some((from, state)) = best else { continue };
                for config in stands.iter().copied().filter(|c| self.reach[*c][at][1] <= border + 1) {
                    let loss = state.loss + self.sum(config, border + 1, at);
                    let next = State { rows: state.rows + 1, loss, before: Some((before, from)) };
                    if next.is_better(states[at][config]) {
                        states[at][config] = Some(next);
                    }
                }
            }
        }
        states
    }
}

/// The fewest rows, each at one of `sizes`, by which a reader that takes the nearest row loses at most `bound` (a logarithm) at every one of
/// `sizes`; among as few rows, those that lose least in sum. The table's rows are the problems of `sizes`.
///
/// `None` where at some size no config of the table keeps the bound.
pub fn fewest_rows(sizes: &[u64], table: &LossTable, bound: f64, nearness: Nearness) -> Option<Vec<Row>> {
    let last = sizes.len().checked_sub(1)?;
    let search = RowSearch::new(sizes, table, bound);
    let states = search.states(bound, nearness);
    let mut best: Option<((usize, usize), State)> = None;
    let all = states
        .iter()
        .enumerate()
        .flat_map(|(at, row)| row.iter().enumerate().map(move |(config, own)| (at, config, own)));
    for (at, config, state) in all {
        let Some(state) = state.filter(|_| search.reach[config][at][0] == last) else { continue };
        let loss = state.loss + if last > at { search.sum(config, at + 1, last) } else { 0.0 };
        let whole = State { loss, ..state };
        if whole.is_better(best.map(|(_, state)| state)) {
            best = Some(((at, config), whole));
        }
    }
    let (mut at, _) = best?;
    let mut chosen = vec![at];
    while let Some(before) = states[at.0][at.1].and_then(|state| state.before) {
        at = before;
        chosen.push(at);
    }
    chosen.reverse();
    let mut rows: Vec<Row> =
        chosen.iter().map(|(at, config)| Row { size: sizes[*at], config: *config, worst: 0.0 }).collect();
    let own: Vec<u64> = rows.iter().map(|row| row.size).collect();
    for (size, losses) in sizes.iter().zip(&table.losses) {
        let row = &mut rows[nearest(&own, *size, nearness)?];
        row.worst = row.worst.max(losses[row.config]);
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use seqtune_predict::Config;

    fn table(losses: Vec<Vec<f64>>) -> LossTable {
        let configs = (0..losses[0].len()).map(|at| Config(vec![at as u16])).collect();
        LossTable { configs, losses }
    }

    /// Whether rows keep the bound, read as an engine reads them.
    fn keeps(rows: &[(usize, usize)], sizes: &[u64], losses: &[Vec<f64>], nearness: Nearness) -> bool {
        let own: Vec<u64> = rows.iter().map(|(at, _)| sizes[*at]).collect();
        let served =
            |(size, row): (&u64, &Vec<f64>)| nearest(&own, *size, nearness).is_some_and(|at| row[rows[at].1] <= 1.0);
        sizes.iter().zip(losses).all(served)
    }

    /// The fewest rows by trying all, up to three.
    fn fewest(sizes: &[u64], losses: &[Vec<f64>], nearness: Nearness) -> Option<usize> {
        let all: Vec<(usize, usize)> =
            (0..sizes.len()).flat_map(|at| (0..losses[0].len()).map(move |config| (at, config))).collect();
        let keeps = |rows: &[(usize, usize)]| keeps(rows, sizes, losses, nearness);
        if all.iter().any(|one| keeps(&[*one])) {
            return Some(1);
        }
        let mut pairs = all.iter().flat_map(|a| all.iter().map(move |b| [*a, *b])).filter(|[a, b]| a.0 < b.0);
        if pairs.any(|pair| keeps(&pair)) {
            return Some(2);
        }
        let pairs = all.iter().flat_map(|a| all.iter().map(move |b| [*a, *b])).filter(|[a, b]| a.0 < b.0);
        let mut triples = pairs.flat_map(|[a, b]| all.iter().map(move |c| [a, b, *c])).filter(|[_, b, c]| b.0 < c.0);
        triples.any(|triple| keeps(&triple)).then_some(3)
    }

    #[test]
    fn no_table_of_fewer_rows_keeps_the_bound() {
        let mut rng = test_generator(12);
        for round in 0..60 {
            let (count, columns) = (rng.random_range(1..8), rng.random_range(1..4));
            let mut row = || {
                let mut row: Vec<f64> = (0..columns).map(|_| rng.random_range(0..3) as f64).collect();
                row[rng.random_range(0..columns)] = 0.0;
                row
            };
            let losses: Vec<Vec<f64>> = (0..count).map(|_| row()).collect();
            let mut sizes: Vec<u64> = (0..count).map(|_| rng.random_range(1..100)).collect();
            sizes.sort_unstable();
            sizes.dedup();
            let losses = losses[..sizes.len()].to_vec();
            let nearness = [Nearness::Difference, Nearness::Ratio][round % 2];
            let found = fewest_rows(&sizes, &table(losses.clone()), 1.0, nearness).unwrap();
            let places: Vec<(usize, usize)> = found
                .iter()
                .map(|row| (sizes.iter().position(|size| *size == row.size).unwrap(), row.config))
                .collect();
            assert!(keeps(&places, &sizes, &losses, nearness), "{sizes:?} {losses:?}");
            let best = fewest(&sizes, &losses, nearness);
            assert!(best.is_none_or(|best| best == found.len()), "{best:?} {found:?} {sizes:?} {losses:?}");
            assert!(found.iter().all(|row| row.worst <= 1.0));
        }
    }

    #[test]
    fn a_size_is_served_by_the_nearest_row_and_of_two_by_the_smaller() {
        let rows = [16, 64, 4096];
        let at = |size, nearness| rows[nearest(&rows, size, nearness).unwrap()];
        assert_eq!(
            [1, 40, 41, 2080, 2081, 9999].map(|size| at(size, Nearness::Difference)),
            [16, 16, 64, 64, 4096, 4096]
        );
        assert_eq!([32, 33, 512, 513].map(|size| at(size, Nearness::Ratio)), [16, 64, 64, 4096]);
        assert_eq!(nearest(&[], 3, Nearness::Ratio), None);
    }

    #[test]
    fn no_table_is_made_where_a_size_has_no_config_within_the_bound() {
        assert_eq!(fewest_rows(&[1, 2], &table(vec![vec![0.0], vec![f64::INFINITY]]), 1.0, Nearness::Difference), None);
        assert_eq!(fewest_rows(&[], &LossTable { configs: vec![], losses: vec![] }, 1.0, Nearness::Ratio), None);
    }
}
