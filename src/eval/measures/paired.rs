//! Means and paired comparisons of methods over problems, with errors over shapes.

use std::collections::BTreeMap;

/// A mean over problems and its standard error. Problems of one shape are not independent, so that the error is that of sums over shapes
/// (a cluster-robust variance).
pub type Margin = (f64, f64);

/// Measures summed over the problems of a shape, and the number of these problems.
#[derive(Clone, Copy, Debug)]
struct Sum<const N: usize> {
    measures: [f64; N],
    problems: f64,
}

/// `N` measures, or differences of two methods in them, by shape.
#[derive(Clone, Debug)]
pub struct Paired<const N: usize>(BTreeMap<String, Sum<N>>);

impl<const N: usize> Default for Paired<N> {
    fn default() -> Self {
        Paired(BTreeMap::new())
    }
}

impl<const N: usize> Paired<N> {
    /// Adds a problem of a shape by its measures.
    pub fn add(&mut self, shape: String, measures: [f64; N]) {
        self.merge(shape, &Sum { measures, problems: 1.0 });
    }

    /// Adds what was measured elsewhere: the same shape is one shape there and here.
    pub fn extend(&mut self, other: &Paired<N>) {
        other.0.iter().for_each(|(shape, sum)| self.merge(shape.clone(), sum));
    }

    fn merge(&mut self, shape: String, sum: &Sum<N>) {
        let into = self.0.entry(shape).or_insert(Sum { measures: [0.0; N], problems: 0.0 });
        into.measures.iter_mut().zip(sum.measures).for_each(|(a, b)| *a += b);
        into.problems += sum.problems;
    }

    /// Number of problems added.
    pub fn problems(&self) -> usize {
        self.0.values().map(|s| s.problems).sum::<f64>() as usize
    }

    /// Of each measure.
    pub fn margins(&self) -> [Margin; N] {
        let (n, shapes) = (self.problems() as f64, self.0.len() as f64);
        std::array::from_fn(|at| {
            let mean = self.0.values().map(|s| s.measures[at]).sum::<f64>() / n;
            let squares = self.0.values().map(|s| (s.measures[at] - mean * s.problems).powi(2)).sum::<f64>();
            (mean, (squares * shapes / (shapes - 1.0).max(1.0)).sqrt() / n)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_one_shape_count_as_one_draw() {
        let mut apart = Paired::default();
        let mut together = Paired::default();
        for (i, value) in [1.0, 1.0, 3.0, 3.0].into_iter().enumerate() {
            apart.add(i.to_string(), [value]);
            together.add((i / 2).to_string(), [value]);
        }
        let (apart, together) = (apart.margins()[0], together.margins()[0]);
        assert_eq!((apart.0, together), (2.0, (2.0, 1.0)));
        assert!((apart.1 - (1.0f64 / 3.0).sqrt()).abs() < 1e-12, "{apart:?}");
    }
}
