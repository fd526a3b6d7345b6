//! Paired comparison of two methods on the same problems, with errors over shapes.

use serde::Serialize;
use std::collections::BTreeMap;

/// What is compared of each problem: whether its config is among the first 1, 5, 10, and its nats.
pub const MEASURES: usize = super::tuned::TOPS.len() + 1;

/// Differences of the measures summed over the problems of a shape, and the number of these problems.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    differences: [f64; MEASURES],
    problems: f64,
}

/// Differences between two methods, by shape.
#[derive(Clone, Debug, Default)]
pub struct Paired(BTreeMap<String, Sum>);

/// Differences between two methods on the same problems, each with its standard error. Problems of one shape are not
/// independent, so that the error is that of sums over shapes (a cluster-robust variance).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Margins {
    /// Of the shares of problems whose config is among the first 1, 5, 10.
    pub exact: [(f64, f64); MEASURES - 1],
    /// Of the mean nats: negative where the first is better.
    pub nats: (f64, f64),
}

impl Paired {
    /// Adds a problem of a shape by the differences of its measures.
    pub fn add(&mut self, shape: String, differences: [f64; MEASURES]) {
        self.merge(shape, &Sum { differences, problems: 1.0 });
    }

    /// Adds what was compared elsewhere: the same shape is one shape there and here.
    pub fn extend(&mut self, other: &Paired) {
        other.0.iter().for_each(|(shape, sum)| self.merge(shape.clone(), sum));
    }

    fn merge(&mut self, shape: String, sum: &Sum) {
        let into = self.0.entry(shape).or_default();
        into.differences.iter_mut().zip(sum.differences).for_each(|(a, b)| *a += b);
        into.problems += sum.problems;
    }

    pub fn problems(&self) -> usize {
        self.0.values().map(|s| s.problems).sum::<f64>() as usize
    }

    pub fn margins(&self) -> Margins {
        let (n, shapes) = (self.problems() as f64, self.0.len() as f64);
        let margin = |at: usize| {
            let mean = self.0.values().map(|s| s.differences[at]).sum::<f64>() / n;
            let squares = self.0.values().map(|s| (s.differences[at] - mean * s.problems).powi(2)).sum::<f64>();
            (mean, (squares * shapes / (shapes - 1.0).max(1.0)).sqrt() / n)
        };
        Margins { exact: std::array::from_fn(margin), nats: margin(MEASURES - 1) }
    }
}
