//! What no set of as many configs can beat, by Lagrangian relaxation.
//!
//! Each problem shall take exactly one config; that rule is priced instead of kept. For any prices, the sum of the prices and of the `count`
//! configs that save most by them is at most the cost of the best set. Prices move along the subgradient (Held, Wolfe & Crowder 1974).

use crate::selection::costs::Costs;

/// Steps of the prices.
const STEPS: usize = 400;
/// Steps without progress after which the step is halved.
const PATIENCE: usize = 20;

/// What the relaxation found.
pub(super) struct Relaxed {
    /// No set costs less.
    pub(super) bound: f64,
    /// The best set that was met.
    pub(super) set: Vec<usize>,
}

/// Starts with a set that is known to be good.
pub(super) fn relax(costs: &Costs, columns: &[usize], known: &[usize]) -> Relaxed {
    let mut best = Relaxed { bound: f64::NEG_INFINITY, set: known.to_vec() };
    let mut least = costs.of_set(known);
    // what a problem costs with the known set is a price that is nearly right
    let mut prices: Vec<f64> =
        costs.rows.iter().map(|row| known.iter().map(|column| row[*column]).fold(f64::INFINITY, f64::min)).collect();
    let (mut scale, mut stale) = (1.0, 0);
    for _ in 0..STEPS {
        let mut savings: Vec<(f64, usize)> =
            columns.iter().map(|column| (saving(costs, &prices, *column), *column)).collect();
        savings.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        savings.truncate(known.len());
        let bound = prices.iter().sum::<f64>() + savings.iter().map(|(saving, _)| saving).sum::<f64>();
        let set: Vec<usize> = savings.iter().map(|(_, column)| *column).collect();
        let cost = costs.of_set(&set);
        if cost < least {
            (least, best.set) = (cost, set.clone());
        }
        stale += 1;
        if bound > best.bound {
            (best.bound, stale) = (bound, 0);
        }
        if stale == PATIENCE {
            (scale, stale) = (0.5 * scale, 0);
        }
        let taken = |row: &[f64], price: f64| set.iter().filter(|column| row[**column] < price).count() as f64;
        let slopes: Vec<f64> = costs.rows.iter().zip(&prices).map(|(row, price)| 1.0 - taken(row, *price)).collect();
        let steepness: f64 = slopes.iter().map(|slope| slope * slope).sum();
        if steepness == 0.0 || least - bound < 1e-9 {
            break;
        }
        let step = scale * (least - bound) / steepness;
        prices.iter_mut().zip(&slopes).for_each(|(price, slope)| *price += step * slope);
    }
    best.set.sort_unstable();
    best
}

/// What a config saves by the prices: at most 0.
fn saving(costs: &Costs, prices: &[f64], column: usize) -> f64 {
    costs.rows.iter().zip(prices).map(|(row, price)| (row[column] - price).min(0.0)).sum()
}
