//! Noticing that times no longer are what they were: a two-sided cumulative sum (Page 1954).

/// Standard deviations that a change must exceed to add up.
const SLACK: f64 = 0.75;
/// What one time counts at most, in standard deviations: a single slow call is no change.
const MOST: f64 = 4.0;

/// Cumulative sums of standardised residuals upwards and downwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    threshold: f64,
    sums: [f64; 2],
    /// Residuals as logarithms, and their number, since each sum was 0.
    since: [(f64, f64); 2],
}

impl Change {
    /// Of normal residuals, a threshold of 8 is crossed once in some 100,000 times without a change, and after four times by a change
    /// of three standard deviations.
    pub(crate) fn new(threshold: f64) -> Change {
        Change { threshold, sums: [0.0; 2], since: [(0.0, 0.0); 2] }
    }

    /// Adds a residual, as a logarithm and in standard deviations; the mean logarithm of the change where one is noticed.
    pub(crate) fn add(&mut self, residual: f64, standardised: f64) -> Option<f64> {
        let standardised = standardised.clamp(-MOST, MOST);
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            self.sums[side] = (self.sums[side] + sign * standardised - SLACK).max(0.0);
            let (sum, count) = self.since[side];
            self.since[side] = if self.sums[side] > 0.0 { (sum + residual, count + 1.0) } else { (0.0, 0.0) };
        }
        let crossed = (0..2).find(|side| self.sums[*side] > self.threshold)?;
        let (sum, count) = self.since[crossed];
        *self = Change::new(self.threshold);
        Some(sum / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;

    /// A normal number, by the sum of twelve uniform ones.
    fn noise(rng: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn noise_is_no_change_and_a_lasting_change_is_noticed_within_ten_times() {
        let mut rng = test_generator(1);
        let mut change = Change::new(8.0);
        assert!((0..20_000).all(|_| change.add(0.0, noise(&mut rng)).is_none()), "a change in noise");
        for shift in [-4.0, -2.0, 2.0, 4.0] {
            let mut change = Change::new(8.0);
            let times = (1..).find_map(|n| {
                let u = shift + noise(&mut rng);
                change.add(0.1 * u, u).map(|found| (n, found))
            });
            let (times, found) = times.unwrap();
            assert!(times <= 10, "{shift}: noticed after {times}");
            assert!((found - 0.1 * shift).abs() < 0.15, "{shift}: {found}");
        }
    }

    #[test]
    fn single_slow_calls_are_no_change() {
        let mut change = Change::new(8.0);
        assert!((0..1_000).all(|i| change.add(3.0, if i % 10 == 0 { 50.0 } else { 0.0 }).is_none()));
    }
}
