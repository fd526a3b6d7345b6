//! The fewest intervals.

use crate::losses::LossTable;

/// Sizes of a line that one config serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The least size: one more than the greatest of the interval before.
    pub least: u64,
    /// The greatest size.
    pub greatest: u64,
    /// Place of the config among the table's columns.
    pub config: usize,
    /// The largest loss at any size that was asked, as a logarithm.
    pub worst: f64,
    /// The mean loss over these sizes.
    pub mean: f64,
}

/// The fewest intervals in which one config loses at most `bound` (a logarithm) at each of `sizes`, which are the table's rows; of the configs
/// that carry an interval as far, the one that loses least on average.
///
/// Where no config of the table keeps the bound, as may be where columns are few, the one that loses least stands for that size alone.
/// Sizes between two that were asked count to the interval of the greater one, because kernels round sizes up.
pub fn fewest_intervals(sizes: &[u64], least: u64, table: &LossTable, bound: f64) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = Vec::new();
    let mut from = 0;
    while from < sizes.len() {
        let reach = |config: usize| table.losses[from..].iter().take_while(|row| row[config] <= bound).count();
        let furthest = (0..table.configs.len()).map(reach).max().unwrap_or(0).max(1);
        let rows = &table.losses[from..from + furthest];
        let mean = |config: usize| rows.iter().map(|row| row[config]).sum::<f64>() / furthest as f64;
        let carries = |config: &usize| reach(*config) == furthest;
        let all = 0..table.configs.len();
        let carriers: Vec<usize> = all.clone().filter(carries).collect();
        let choice = match carriers.is_empty() {
            true => all.min_by(|a, b| mean(*a).total_cmp(&mean(*b))),
            false => carriers.into_iter().min_by(|a, b| mean(*a).total_cmp(&mean(*b))),
        };
        let Some(config) = choice else { break };
        intervals.push(Interval {
            least: intervals.last().map_or(least, |last| last.greatest + 1),
            greatest: sizes[from + furthest - 1],
            config,
            worst: rows.iter().map(|row| row[config]).fold(0.0, f64::max),
            mean: mean(config),
        });
        from += furthest;
    }
    intervals
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

    #[test]
    fn an_interval_reaches_as_far_as_any_config_carries_it() {
        let losses = vec![vec![0.0, 0.01], vec![0.0, 0.02], vec![0.3, 0.0], vec![f64::INFINITY, 0.0]];
        let found = fewest_intervals(&[8, 16, 32, 64], 5, &table(losses.clone()), 0.02);
        assert_eq!(found, [Interval { least: 5, greatest: 64, config: 1, worst: 0.02, mean: 0.0075 }]);
        let found = fewest_intervals(&[8, 16, 32, 64], 5, &table(losses), 0.0);
        let ends: Vec<[u64; 2]> = found.iter().map(|one| [one.least, one.greatest]).collect();
        assert_eq!(ends, [[5, 16], [17, 64]], "sizes between two count to the greater one");
    }

    /// The fewest intervals by trying every way to cut.
    fn least_cuts(losses: &[Vec<f64>], bound: f64) -> usize {
        let mut best = vec![usize::MAX; losses.len() + 1];
        best[0] = 0;
        for end in 1..=losses.len() {
            for begin in 0..end {
                let serves = |config: usize| losses[begin..end].iter().all(|row| row[config] <= bound);
                if best[begin] < usize::MAX && (0..losses[0].len()).any(serves) {
                    best[end] = best[end].min(best[begin] + 1);
                }
            }
        }
        best[losses.len()]
    }

    #[test]
    fn no_other_way_to_cut_needs_fewer_intervals() {
        let mut rng = test_generator(11);
        for _ in 0..200 {
            let (rows, columns) = (rng.random_range(1..12), rng.random_range(1..5));
            let mut row = || {
                let mut row: Vec<f64> = (0..columns).map(|_| rng.random_range(0..4) as f64).collect();
                row[rng.random_range(0..columns)] = 0.0;
                row
            };
            let losses: Vec<Vec<f64>> = (0..rows).map(|_| row()).collect();
            let sizes: Vec<u64> = (1..=rows as u64).collect();
            let found = fewest_intervals(&sizes, 1, &table(losses.clone()), 1.0);
            assert_eq!(found.len(), least_cuts(&losses, 1.0), "{losses:?}");
            assert!(found.iter().all(|one| one.worst <= 1.0));
        }
    }
}
