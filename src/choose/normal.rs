//! The standard normal distribution: density, tail, quantile, and the mean excess that an expected gain is made of.

use std::f64::consts::PI;

/// A normal belief about a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Normal {
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

impl Normal {
    /// The belief about the sum of two independent ones.
    pub(crate) fn plus(self, other: Normal) -> Normal {
        Normal { mean: self.mean + other.mean, sd: self.sd.hypot(other.sd) }
    }

    /// The belief about the difference of two independent ones.
    pub(crate) fn minus(self, other: Normal) -> Normal {
        Normal { mean: self.mean - other.mean, sd: self.sd.hypot(other.sd) }
    }

    /// How much less than 0 it is expected to be, where what is above 0 counts as 0.
    pub(crate) fn expected_below_zero(self) -> f64 {
        match self.sd > 0.0 {
            true => self.sd * excess(self.mean / self.sd),
            false => (-self.mean).max(0.0),
        }
    }

    /// Probability that it is at most 0.
    pub(crate) fn probability_below_zero(self) -> f64 {
        match self.sd > 0.0 {
            true => tail(self.mean / self.sd),
            false => (self.mean <= 0.0) as u8 as f64,
        }
    }
}

/// The density.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// Where the tail is computed from its asymptotic series.
const FAR: f64 = 6.0;

/// Probability of more than `z`.
pub(crate) fn tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - tail(-z);
    }
    if z > FAR {
        let r = 1.0 / (z * z);
        return density(z) / z * (1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r)));
    }
    // the integral of the density from 0, as a power series times the density
    let (mut term, mut sum, mut k) = (z, z, 1.0);
    while term > 1e-17 * sum {
        k += 2.0;
        term *= z * z / k;
        sum += term;
    }
    (0.5 - density(z) * sum).max(0.0)
}

/// Mean of what a standard normal number exceeds `z` by, where less counts as 0.
pub(crate) fn excess(z: f64) -> f64 {
    (density(z) - z * tail(z)).max(0.0)
}

/// What is exceeded with probability `share`, of at most one half.
pub(crate) fn quantile(share: f64) -> f64 {
    // the start is not below the answer, since the tail is at most half of exp(-z z / 2); from the second step on Newton comes from below
    let mut z = (-2.0 * (2.0 * share).ln()).max(0.0).sqrt();
    for _ in 0..20 {
        let step = (tail(z) - share) / density(z);
        z += step;
        if step.abs() < 1e-9 {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_and_quantile_agree_with_tables_and_with_each_other() {
        for (z, expected) in [(0.0, 0.5), (1.0, 0.158_655_253_9), (1.96, 0.024_997_895_1), (6.5, 4.016e-11)] {
            assert!((tail(z) / expected - 1.0).abs() < 1e-4, "{z}: {}", tail(z));
            assert!((tail(-z) - (1.0 - expected)).abs() < 1e-9);
        }
        for share in [0.5, 0.4, 0.1, 1e-3, 1e-6, 1e-8] {
            assert!((tail(quantile(share)) / share - 1.0).abs() < 1e-5, "{share}");
        }
    }

    #[test]
    fn the_excess_is_the_integral_of_the_tail() {
        for z in [-2.0, 0.0, 0.7, 2.0] {
            let step = 1e-4;
            let integral: f64 = (0..100_000).map(|i| tail(z + (i as f64 + 0.5) * step) * step).sum();
            assert!((excess(z) - integral).abs() < 1e-6, "{z}: {} and {integral}", excess(z));
        }
        let surely = Normal { mean: -0.3, sd: 0.0 };
        assert_eq!((surely.expected_below_zero(), surely.probability_below_zero()), (0.3, 1.0));
    }
}
