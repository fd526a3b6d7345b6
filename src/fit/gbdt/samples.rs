//! Rows that boosted trees are fitted to.

use crate::gbdt::loss::Loss;

/// Rows of numbers with what is known of them.
#[derive(Default)]
pub struct Samples {
    pub columns: usize,
    /// Row after row.
    pub rows: Vec<f32>,
    pub loss: Loss,
}

impl Samples {
    /// Number of rows.
    pub fn count(&self) -> usize {
        self.rows.len() / self.columns.max(1)
    }
}
