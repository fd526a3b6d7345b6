//! The best set by trying all.

use crate::selection::costs::Costs;

/// Sets of `count` of `columns` configs.
pub(super) fn number(columns: usize, count: usize) -> f64 {
    (0..count.min(columns - count)).map(|at| (columns - at) as f64 / (at + 1) as f64).product()
}

/// What is being tried.
struct Trial<'c> {
    costs: &'c Costs,
    columns: &'c [usize],
    /// Places in `columns` of those in the set.
    set: Vec<usize>,
    best: (Vec<usize>, f64),
}

/// The set that costs least, the first of equal ones, and what it costs.
pub(super) fn best(costs: &Costs, columns: &[usize], count: usize) -> (Vec<usize>, f64) {
    let mut trial = Trial { costs, columns, set: Vec::new(), best: (Vec::new(), f64::INFINITY) };
    trial.extend(0, count, &vec![f64::INFINITY; costs.rows.len()]);
    trial.best
}

impl Trial<'_> {
    /// Tries all sets that add `missing` columns from `first` on; `least` is what each problem costs with those in the set.
    fn extend(&mut self, first: usize, missing: usize, least: &[f64]) {
        if missing == 0 {
            let sum = least.iter().sum();
            if sum < self.best.1 {
                self.best = (self.set.iter().map(|at| self.columns[*at]).collect(), sum);
            }
            return;
        }
        for at in first..=self.columns.len() - missing {
            let column = self.columns[at];
            let next: Vec<f64> =
                least.iter().zip(&self.costs.rows).map(|(least, row)| least.min(row[column])).collect();
            self.set.push(at);
            self.extend(at + 1, missing - 1, &next);
            self.set.pop();
        }
    }
}
