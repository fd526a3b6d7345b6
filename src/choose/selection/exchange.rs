//! A set by adding the best config again and again, and by exchanging single ones.

use crate::selection::costs::Costs;

/// Rounds of exchanges at most: each lowers the mean, so that they end without this too.
const ROUNDS: usize = 200;

/// Adds the config that helps most until there are `count`.
pub(super) fn greedy(costs: &Costs, columns: &[usize], count: usize) -> Vec<usize> {
    let mut set: Vec<usize> = Vec::new();
    let mut least = vec![1.0; costs.rows.len()];
    while set.len() < count {
        let with =
            |column: usize| least.iter().zip(&costs.rows).map(|(least, row)| row[column].min(*least)).sum::<f64>();
        let left = columns.iter().copied().filter(|column| !set.contains(column));
        let Some(best) = left.min_by(|a, b| with(*a).total_cmp(&with(*b))) else { break };
        least.iter_mut().zip(&costs.rows).for_each(|(least, row)| *least = least.min(row[best]));
        set.push(best);
    }
    set.sort_unstable();
    set
}

/// Exchanges one config for another while that helps.
pub(super) fn improve(costs: &Costs, columns: &[usize], mut set: Vec<usize>) -> Vec<usize> {
    let mut mean = costs.of_set(&set);
    for _ in 0..ROUNDS {
        let Some((at, column, better)) = best_exchange(costs, columns, &set).filter(|(_, _, to)| *to < mean - 1e-15)
        else {
            break;
        };
        set[at] = column;
        mean = better;
    }
    set.sort_unstable();
    set
}

/// The exchange that helps most: the place in the set, the config that comes, and the mean afterwards.
fn best_exchange(costs: &Costs, columns: &[usize], set: &[usize]) -> Option<(usize, usize, f64)> {
    let mut best: Option<(usize, usize, f64)> = None;
    for at in 0..set.len() {
        let rest: Vec<usize> =
            set.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, column)| *column).collect();
        let without: Vec<f64> =
            costs.rows.iter().map(|row| rest.iter().map(|column| row[*column]).fold(f64::INFINITY, f64::min)).collect();
        for column in columns.iter().copied().filter(|column| !set.contains(column)) {
            let mean: f64 = without.iter().zip(&costs.rows).map(|(least, row)| row[column].min(*least)).sum();
            if best.is_none_or(|(_, _, least)| mean < least) {
                best = Some((at, column, mean));
            }
        }
    }
    best
}
