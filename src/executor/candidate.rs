//! A config while it is measured, and when it has been measured enough.

use super::policy::Policy;
use super::{Executor, Fault, Geometry, Product, ProgramId, Value};
use crate::dataset::quantile;

/// What is launched.
pub enum Work {
    Config(ProgramId, Geometry),
    /// The same by the vendor's library.
    Library(Product),
}

impl Work {
    /// Microseconds of each of `repeat` launches.
    pub fn launch(
        &self,
        executor: &mut dyn Executor,
        values: &[Value],
        repeat: usize,
        flush: bool,
    ) -> std::result::Result<Vec<f32>, Fault> {
        match self {
            Work::Config(program, geometry) => executor.launch(*program, values, geometry, repeat, flush),
            Work::Library(product) => executor.multiply(product, repeat, flush),
        }
    }

    /// The program, where it is one.
    pub fn program(&self) -> Option<ProgramId> {
        match self {
            Work::Config(program, _) => Some(*program),
            Work::Library(_) => None,
        }
    }
}

/// One config of a measurement, or the library.
pub struct Candidate {
    pub index: usize,
    pub work: Work,
    pub estimate_us: f64,
    pub samples: Vec<f32>,
    pub done: bool,
}

impl Candidate {
    /// Whether it was measured enough: its interval is tight, its budget spent, or it is hopeless.
    pub fn enough(&self, policy: &Policy, best_us: f64) -> bool {
        let n = self.samples.len();
        let spent_us: f64 = self.samples.iter().map(|s| *s as f64).sum();
        let mut sorted = self.samples.clone();
        sorted.sort_by(f32::total_cmp);
        let median = quantile(&sorted, 0.5);
        if n < policy.min_samples {
            return false;
        }
        if n >= policy.max_samples || spent_us >= policy.budget_ms * 1e3 || median > policy.slow * best_us {
            return true;
        }
        // distribution-free 95 % interval of a median: order statistics n/2 -+ 0.98 sqrt(n)
        let reach = 0.98 / (n as f64).sqrt();
        let (low, high) = (quantile(&sorted, (0.5 - reach).max(0.0)), quantile(&sorted, (0.5 + reach).min(1.0)));
        n >= 8 && (high - low) / 2.0 <= policy.tight * median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_stops_when_tight_when_spent_and_when_hopeless() {
        let policy = Policy::default();
        let candidate = |samples: Vec<f32>| Candidate {
            index: 0,
            work: Work::Config(ProgramId(0), Geometry { global: vec![], local: vec![] }),
            estimate_us: 1.0,
            samples,
            done: false,
        };
        assert!(!candidate(vec![100.0; 2]).enough(&policy, 100.0), "too few");
        assert!(candidate(vec![100.0; 8]).enough(&policy, 100.0), "tight");
        let noisy: Vec<f32> = (0..12).map(|i| 100.0 + 10.0 * (i % 5) as f32).collect();
        assert!(!candidate(noisy.clone()).enough(&policy, 100.0), "noisy");
        assert!(candidate(noisy).enough(&policy, 10.0), "ten times slower than the best");
        assert!(candidate(vec![2e4; 3]).enough(&policy, 2e4), "budget spent");
    }
}
