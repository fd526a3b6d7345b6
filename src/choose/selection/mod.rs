//! The smallest set of kernels to build: the configs that lose least over a mix of problems when each problem takes the best of them.
//!
//! This is the p-median problem. Small cases are solved by trying every set, others by adding the best config and exchanging single ones
//! (Teitz & Bart 1968), beside a bound that no set of as many configs can beat (Lagrangian relaxation, Cornuéjols, Fisher & Nemhauser 1977).

mod bound;
mod costs;
mod every_set;
mod exchange;

use crate::losses::LossTable;
use costs::Costs;
use seqtune_kernel::error::{Result, input};

/// Sets that are tried one by one at most, times problems.
const MOST_TRIED: f64 = 3e7;

/// Configs that were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Places of the configs among the table's columns, in rising order.
    pub columns: Vec<usize>,
    /// Mean share of the speed that is lost, by weight.
    pub mean: f64,
    /// No set of as many configs has a smaller mean: equal to `mean` where the set is known to be the best.
    pub bound: f64,
}

/// The `count` configs that lose least over the problems of a table, each of a weight.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::Error::Input) where there are no problems or configs, where `count` is 0, or where the weights are not as
/// many as the problems, or not positive.
pub fn select(table: &LossTable, weights: &[f64], count: usize) -> Result<Selection> {
    let costs = checked_costs(table, weights, count)?;
    Ok(select_of(&costs, &costs.undominated_columns(), count))
}

/// The smallest set whose mean share of lost speed is at most `most`; the best set of `largest` configs where none is.
///
/// # Errors
/// As [`select`].
pub fn select_within(table: &LossTable, weights: &[f64], most: f64, largest: usize) -> Result<Selection> {
    let costs = checked_costs(table, weights, largest)?;
    let columns = costs.undominated_columns();
    let mut found = select_of(&costs, &columns, 1);
    for count in 2..=largest.min(columns.len()) {
        if found.mean <= most {
            break;
        }
        found = select_of(&costs, &columns, count);
    }
    Ok(found)
}

fn checked_costs(table: &LossTable, weights: &[f64], count: usize) -> Result<Costs> {
    if table.losses.is_empty() || table.configs.is_empty() || count == 0 {
        return input("a selection needs a problem, a config to choose from, and a number of configs of at least 1");
    }
    if weights.len() != table.losses.len() || !weights.iter().all(|weight| *weight > 0.0 && weight.is_finite()) {
        return input("each problem has a weight, which is a positive number");
    }
    Ok(Costs::new(table, weights))
}

fn select_of(costs: &Costs, columns: &[usize], count: usize) -> Selection {
    if columns.len() <= count {
        let mean = costs.of_set(columns);
        return Selection { columns: columns.to_vec(), mean, bound: mean };
    }
    if every_set::number(columns.len(), count) * costs.rows.len() as f64 <= MOST_TRIED {
        let (columns, mean) = every_set::best(costs, columns, count);
        return Selection { columns, mean, bound: mean };
    }
    let begun = exchange::improve(costs, columns, exchange::greedy(costs, columns, count));
    let relaxed = bound::relax(costs, columns, &begun);
    let best = exchange::improve(costs, columns, relaxed.set);
    let mean = costs.of_set(&best);
    // rounding of sums must not make a bound that is above what it bounds
    Selection { columns: best, mean, bound: relaxed.bound.clamp(0.0, mean) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use crate::losses::speed_lost;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;
    use seqtune_predict::Config;

    fn table(losses: Vec<Vec<f64>>) -> LossTable {
        let configs = (0..losses[0].len()).map(|at| Config(vec![at as u16])).collect();
        LossTable { configs, losses }
    }

    fn drawn(rng: &mut ChaCha8Rng, problems: usize, configs: usize) -> LossTable {
        let mut row = || {
            let mut row: Vec<f64> = (0..configs).map(|_| rng.random::<f64>()).collect();
            row[rng.random_range(0..configs)] = 0.0;
            if rng.random::<f64>() < 0.2 {
                row[rng.random_range(0..configs)] = f64::INFINITY;
            }
            row
        };
        table((0..problems).map(|_| row()).collect())
    }

    #[test]
    fn heuristic_sets_and_their_bounds_hold_beside_every_set() {
        let mut rng = test_generator(21);
        let (mut best, mut rounds) = (0, 0);
        for _ in 0..40 {
            let problems = rng.random_range(2..30);
            let losses = drawn(&mut rng, problems, 14);
            let weights: Vec<f64> = (0..problems).map(|_| rng.random_range(1..9) as f64).collect();
            let costs = Costs::new(&losses, &weights);
            let columns: Vec<usize> = (0..14).collect();
            for count in 1..5 {
                let (_, exact) = every_set::best(&costs, &columns, count);
                let begun = exchange::improve(&costs, &columns, exchange::greedy(&costs, &columns, count));
                let relaxed = bound::relax(&costs, &columns, &begun);
                let found = costs.of_set(&exchange::improve(&costs, &columns, relaxed.set));
                assert!(found >= exact - 1e-12 && relaxed.bound <= exact + 1e-12, "{found} {exact} {}", relaxed.bound);
                let public = select(&losses, &weights, count).unwrap();
                assert!((public.mean - exact).abs() < 1e-12 && public.bound == public.mean);
                best += usize::from(found <= exact + 1e-12);
                rounds += 1;
            }
        }
        assert!(best * 10 >= rounds * 9, "{best} of {rounds}");
    }

    #[test]
    fn what_is_too_large_to_try_has_a_bound_close_to_what_was_found() {
        let mut rng = test_generator(22);
        let losses = drawn(&mut rng, 120, 100);
        let found = select(&losses, &[1.0; 120], 8).unwrap();
        assert!(found.bound < found.mean && found.bound > 0.5 * found.mean, "{found:?}");
        assert_eq!(found.columns.len(), 8);
        let more = select(&losses, &[1.0; 120], 16).unwrap();
        assert!(more.mean < found.mean);
    }

    #[test]
    fn weights_decide_and_an_illegal_config_counts_as_all_speed_lost() {
        let losses = table(vec![vec![0.0, 0.5], vec![0.5, 0.0], vec![0.1, f64::INFINITY]]);
        assert_eq!(select(&losses, &[1.0, 1.0, 1.0], 1).unwrap().columns, [0]);
        assert_eq!(select(&losses, &[1.0, 9.0, 0.5], 1).unwrap().columns, [1]);
        let both = select(&losses, &[1.0, 1.0, 1.0], 5).unwrap();
        assert_eq!(both.columns, [0, 1]);
        assert!((both.mean - speed_lost(0.1) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_smallest_set_within_a_bound_is_found_and_the_largest_where_none_is() {
        let losses = table(vec![vec![0.0, 0.5, 0.02], vec![0.5, 0.0, 0.02], vec![0.4, 0.4, 0.4]]);
        let within = |most, largest| select_within(&losses, &[1.0; 3], most, largest).unwrap().columns;
        assert_eq!(within(0.2, 3), [2]);
        assert_eq!(within(0.001, 2).len(), 2);
    }

    #[test]
    fn a_selection_of_nothing_or_with_odd_weights_is_refused() {
        let losses = table(vec![vec![0.0]]);
        assert!(select(&losses, &[1.0], 0).is_err());
        assert!(select(&losses, &[], 1).is_err());
        assert!(select(&losses, &[f64::NAN], 1).is_err());
        assert!(select(&losses, &[0.0], 1).is_err());
    }
}
