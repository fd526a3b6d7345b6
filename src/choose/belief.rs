//! What is believed of the configs of one problem: normal beliefs about the logarithm of each one's mean time (or energy).
//!
//! The logarithm of config i's time is `expected_i + shift + error_i`, and what is observed of it has noise besides. The shift is
//! common to all configs: a model that is off by a factor, another clock, other work on the device. So one observed config corrects what is
//! expected of the others, as mARGOt's ratio of observed to expected does; here it is the exact posterior, with its uncertainty.

use crate::normal::Normal;

/// Observations that count at most: what is older fades.
const WINDOW: f64 = 50.0;
/// Standard deviation of noise that is assumed at first, as a logarithm, and how many observations that is worth.
const NOISE: f64 = 0.1;
const NOISE_WORTH: f64 = 10.0;
/// Observations that the estimate of noise is made from at most, and the range of the estimate.
const NOISE_WINDOW: f64 = 60.0;
const NOISE_RANGE: [f64; 2] = [0.01, 0.5];
/// Standard deviations beyond which an observation that nothing confirms counts little.
const OUTLIER: f64 = 3.0;

/// Observations that are more than one.
const REPEATED: f64 = 1.0;

/// One config's part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    /// Expected logarithm, before anything was observed, without the shift.
    pub(crate) expected: f64,
    /// Standard deviation of the error of that.
    pub(crate) spread: f64,
    /// Observations that count.
    pub(crate) weight: f64,
    /// Their mean.
    pub(crate) mean: f64,
    /// The one before.
    last: f64,
}

impl Arm {
    pub(crate) fn new(expected: f64, spread: f64) -> Arm {
        Arm { expected, spread, weight: 0.0, mean: 0.0, last: f64::NAN }
    }

    /// What is believed of its mean.
    fn posterior_mean(&self, noise: f64, shift: Normal) -> Normal {
        let (known, before) = (self.weight / (noise * noise), self.spread.powi(-2));
        let all = known + before;
        let mean = (known * self.mean + before * (self.expected + shift.mean)) / all;
        Normal { mean, sd: (1.0 / all + (before / all * shift.sd).powi(2)).sqrt() }
    }
}

/// What an observation was worth.
pub(crate) struct Learned {
    /// Difference from what was expected.
    pub(crate) residual: f64,
    /// The same in standard deviations.
    pub(crate) standardised: f64,
    /// What it counted.
    pub(crate) weight: f64,
}

/// Beliefs about all configs of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Belief {
    pub(crate) arms: Vec<Arm>,
    /// What is expected of the shift.
    pub(crate) shift: Normal,
    squares: f64,
    observations: f64,
}

impl Belief {
    pub(crate) fn new(arms: Vec<Arm>, shift: Normal) -> Belief {
        Belief { arms, shift, squares: NOISE * NOISE * NOISE_WORTH, observations: NOISE_WORTH }
    }

    /// Standard deviation of an observation.
    pub(crate) fn noise(&self) -> f64 {
        (self.squares / self.observations).sqrt().clamp(NOISE_RANGE[0], NOISE_RANGE[1])
    }

    /// What is believed of the shift by now. Where more than one observation contradicts what was expected of it, that was too narrow.
    pub(crate) fn shift_now(&self) -> Normal {
        let noise = self.noise();
        let (mut precision, mut sum, mut weight) = (0.0, 0.0, 0.0);
        for arm in self.arms.iter().filter(|arm| arm.weight > 0.0) {
            let own = 1.0 / (arm.spread * arm.spread + noise * noise / arm.weight);
            precision += own;
            sum += own * (arm.mean - arm.expected);
            weight += arm.weight;
        }
        let off = if weight > REPEATED { (sum / precision - self.shift.mean).abs() } else { 0.0 };
        let before = self.shift.sd.max(off).powi(-2);
        Normal { mean: (sum + before * self.shift.mean) / (precision + before), sd: (precision + before).powf(-0.5) }
    }

    /// What is believed of every config's mean by now.
    pub(crate) fn now(&self) -> Vec<Normal> {
        let (noise, shift) = (self.noise(), self.shift_now());
        self.arms.iter().map(|arm| arm.posterior_mean(noise, shift)).collect()
    }

    /// Learns one observation of a config, as a logarithm.
    ///
    /// One that is far from what is believed counts little, as under Student's distribution, until the next confirms it: first calls and
    /// interrupted ones are slow without meaning.
    pub(crate) fn learn(&mut self, at: usize, observed: f64) -> Learned {
        let noise = self.noise();
        let believed = self.arms[at].posterior_mean(noise, self.shift_now());
        let residual = observed - believed.mean;
        let standardised = residual / noise.hypot(believed.sd);
        let arm = &mut self.arms[at];
        let confirmed = (observed - arm.last).abs() < OUTLIER * std::f64::consts::SQRT_2 * noise;
        let weight = match standardised.abs() <= OUTLIER || confirmed {
            true => 1.0,
            false => 5.0 / (4.0 + standardised * standardised),
        };
        if arm.weight >= 1.0 {
            let around = (observed - arm.mean) * (arm.weight / (arm.weight + 1.0)).sqrt();
            self.squares += around.clamp(-OUTLIER * noise, OUTLIER * noise).powi(2);
            self.observations += 1.0;
            let fade = (NOISE_WINDOW / self.observations).min(1.0);
            (self.squares, self.observations) = (self.squares * fade, self.observations * fade);
        }
        arm.last = observed;
        arm.mean += (observed - arm.mean) * weight / (arm.weight + weight);
        arm.weight = (arm.weight + weight).min(WINDOW);
        Learned { residual, standardised, weight }
    }

    /// Starts anew from what is believed now, each config's error being at least `spread`, shifted by `shift` in all probability.
    pub(crate) fn reopen(&mut self, spread: f64, shift: Normal) {
        let now = self.now();
        for (arm, believed) in self.arms.iter_mut().zip(now) {
            *arm = Arm::new(believed.mean, believed.sd.max(spread));
        }
        self.shift = shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn belief(expected: &[f64]) -> Belief {
        let arms = expected.iter().map(|e| Arm::new(*e, 0.15)).collect();
        Belief::new(arms, Normal { mean: 0.0, sd: 0.4 })
    }

    #[test]
    fn what_is_observed_of_one_config_scales_what_is_expected_of_the_others() {
        let mut belief = belief(&[0.0, 0.1, 0.5]);
        for _ in 0..5 {
            belief.learn(0, 1.0);
        }
        let now = belief.now();
        assert!((now[0].mean - 1.0).abs() < 0.05, "{now:?}");
        assert!((0.7..1.0).contains(&(now[2].mean - 0.5)), "{now:?}");
        assert!(now[0].sd < 0.06 && now[2].sd > 0.15 && now[2].sd < 0.3, "{now:?}");
    }

    #[test]
    fn expectations_that_are_off_by_a_large_factor_are_scaled_by_it() {
        let mut belief = belief(&[7.0, 7.2]);
        for _ in 0..4 {
            belief.learn(0, 4.0);
        }
        let now = belief.now();
        assert!((now[0].mean - 4.0).abs() < 0.02 && (now[1].mean - 4.2).abs() < 0.05, "{now:?}");
    }

    #[test]
    fn one_slow_call_counts_little_and_two_alike_count_as_they_are() {
        let mut belief = belief(&[0.0, 0.0]);
        belief.learn(0, 0.0);
        belief.learn(1, 2.0);
        assert!(belief.now()[1].mean < 0.6, "{:?}", belief.now());
        belief.learn(1, 2.0);
        assert!(belief.now()[1].mean > 1.3, "{:?}", belief.now());
        let mut steady = belief.clone();
        for _ in 0..20 {
            steady.learn(0, 0.0);
        }
        let before = steady.now()[0].mean;
        assert!(steady.learn(0, 3.0).weight < 0.02);
        assert!((steady.now()[0].mean - before).abs() < 0.01);
    }

    #[test]
    fn noise_is_estimated_from_what_repeats() {
        let mut belief = belief(&[0.0]);
        for i in 0..100 {
            belief.learn(0, if i % 2 == 0 { 0.02 } else { -0.02 });
        }
        assert!((0.015..0.04).contains(&belief.noise()), "{}", belief.noise());
    }

    #[test]
    fn after_a_change_what_was_measured_is_expected_and_no_longer_sure() {
        let mut belief = belief(&[0.0, 0.3]);
        for _ in 0..10 {
            belief.learn(0, 1.0);
        }
        for _ in 0..10 {
            belief.learn(1, 1.2);
        }
        let before = belief.now();
        belief.reopen(0.1, Normal { mean: 0.7, sd: 0.4 });
        let after = belief.now();
        for (before, after) in before.iter().zip(&after) {
            assert!((after.mean - before.mean - 0.7).abs() < 1e-9 && after.sd > 0.1);
        }
    }
}
