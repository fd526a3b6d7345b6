//! What configs cost on problems of weights.

use crate::losses::{LossTable, speed_lost};

/// What each config costs on each problem, times the problem's weight.
pub(super) struct Costs {
    /// By problem and column.
    pub(super) rows: Vec<Vec<f64>>,
    columns: usize,
}

impl Costs {
    /// Of a table whose problems weigh so much.
    pub(super) fn new(table: &LossTable, weights: &[f64]) -> Costs {
        let total: f64 = weights.iter().sum();
        // an illegal config leaves a problem without a kernel
        let cost = |loss: f64| if loss.is_finite() { speed_lost(loss) } else { 1.0 };
        let row =
            |(losses, weight): (&Vec<f64>, &f64)| losses.iter().map(|loss| cost(*loss) * weight / total).collect();
        Costs { rows: table.losses.iter().zip(weights).map(row).collect(), columns: table.configs.len() }
    }

    /// The mean where each problem takes the best of a set.
    pub(super) fn of_set(&self, set: &[usize]) -> f64 {
        self.rows.iter().map(|row| set.iter().map(|column| row[*column]).fold(f64::INFINITY, f64::min)).sum()
    }

    /// Columns that no other is at least as good as everywhere; of equal ones the first.
    pub(super) fn undominated_columns(&self) -> Vec<usize> {
        let is_beaten = |own: usize, other: usize| {
            let all = self.rows.iter().all(|row| row[other] <= row[own]);
            all && (other < own || self.rows.iter().any(|row| row[other] < row[own]))
        };
        let stands = |own: &usize| !(0..self.columns).any(|other| other != *own && is_beaten(*own, other));
        (0..self.columns).filter(stands).collect()
    }
}
