//! Rows that are never slower than the default, with the evidence for it.
//!
//! The predicted config and the default are measured as a pair, interleaved, several times anew. Each repetition gives one logarithm of a ratio
//! of times; their mean has an interval by Student's t. A row is certified where that interval lies below 0. The measurements that chose the
//! config are not among them, or the winner's luck would count as evidence.

use crate::cli::validate::bench::Bench;
use crate::cli::validate::certified_rows::CertifiedRow;
use seqtune_data::Outcome;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Kernel, Problem};

/// Repetitions of a pair.
const REPETITIONS: usize = 8;
/// Student's t of 95 %, two-sided, with one degree of freedom less than repetitions.
const T_OF_95: f64 = 2.3646;

impl Bench {
    /// Measures a pair of configs anew, several times.
    ///
    /// # Errors
    /// The error of the engine.
    pub fn certify(
        &mut self,
        kernel: &Kernel,
        problem: &Problem,
        predicted: &Config,
        default: &Config,
    ) -> Result<CertifiedRow> {
        let mut logs: Vec<f64> = Vec::new();
        if predicted != default {
            for _ in 0..REPETITIONS {
                let times = self.times(kernel, problem, [predicted, default])?;
                logs.extend(times.map(|[predicted, default]| (predicted / default).ln()));
            }
        }
        let difference = Difference::of_logs(&logs);
        let certified = difference.is_some_and(|difference| difference.interval[1] < 0.0);
        let [predicted, default] = [predicted, default].map(|config| kernel.show_config(config));
        Ok(CertifiedRow {
            problem: kernel.show_problem(problem),
            config: if certified { predicted.clone() } else { default.clone() },
            certified,
            predicted,
            default,
            n: logs.len(),
            difference: difference.map(|difference| difference.mean),
            interval: difference.map(|difference| difference.interval),
        })
    }

    /// Times of two configs that take turns; `None` where one of them has none.
    fn times(&mut self, kernel: &Kernel, problem: &Problem, pair: [&Config; 2]) -> Result<Option<[f64; 2]>> {
        let found = self.outcomes(kernel, problem, pair.map(Config::clone).to_vec())?;
        let [first, second] = &found[..] else { return Ok(None) };
        let time = |outcome: &Option<Outcome>| outcome.as_ref().and_then(Outcome::time_us);
        Ok(time(first).zip(time(second)).map(|(first, second)| [first, second]))
    }
}

/// A mean of logarithms with its interval, both as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    mean: f64,
    interval: [f64; 2],
}

impl Difference {
    /// `None` where a repetition is missing.
    fn of_logs(logs: &[f64]) -> Option<Difference> {
        if logs.len() < REPETITIONS {
            return None;
        }
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let half = T_OF_95 * (variance / count).sqrt();
        let share = |log: f64| log.exp() - 1.0;
        Some(Difference { mean: share(mean), interval: [share(mean - half), share(mean + half)] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_mean_and_is_as_wide_as_students_t_says() {
        let logs = [-0.1, -0.1, -0.1, -0.1, -0.2, -0.2, -0.2, -0.2];
        let found = Difference::of_logs(&logs).unwrap();
        // deviation 0.0534522, by the root of 8 and times 2.3646: 0.044687
        assert!((found.mean - ((-0.15f64).exp() - 1.0)).abs() < 1e-12);
        assert!((found.interval[0] - ((-0.194_687f64).exp() - 1.0)).abs() < 1e-5, "{found:?}");
        assert!((found.interval[1] - ((-0.105_313f64).exp() - 1.0)).abs() < 1e-5, "{found:?}");
        assert_eq!(Difference::of_logs(&logs[..7]), None, "a pair that failed once is not certified");
    }
}
