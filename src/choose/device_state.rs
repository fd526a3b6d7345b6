//! What is known of the device as a whole: by what factor the model is off, and whether times have changed.

use crate::change::Change;
use std::time::{Duration, Instant};

/// Threshold of the change in all problems' times together.
const THRESHOLD: f64 = 12.0;
/// Problems whose shift says what to expect of the next one's, at most.
const RATIO_WINDOW: f64 = 20.0;
/// Time within which changes of two problems are one of the device.
const TOGETHER: Duration = Duration::from_secs(60);

/// Changes of all times so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) count: u64,
    /// Their sum, as logarithms.
    pub(crate) sum: f64,
}

/// The device's state, by what all problems tell.
pub(crate) struct DeviceState {
    /// Common factor of times against what the model expects, as a logarithm, and the reports that it is the mean of.
    ratio: (f64, f64),
    pub(crate) changes: Changes,
    change: Change,
    /// The last change of a problem by itself.
    alone: Option<(u64, f64, Instant)>,
}

impl DeviceState {
    pub(crate) fn new() -> DeviceState {
        DeviceState { ratio: (0.0, 0.0), changes: Changes::default(), change: Change::new(THRESHOLD), alone: None }
    }

    /// What is to be expected of the factor in common of a problem's times, as a logarithm.
    pub(crate) fn ratio(&self) -> f64 {
        self.ratio.0 + self.changes.sum
    }

    /// Learns the factor of a problem.
    pub(crate) fn add_ratio(&mut self, shift: f64) {
        let count = (self.ratio.1 + 1.0).min(RATIO_WINDOW);
        self.ratio = (self.ratio.0 + (shift - self.changes.sum - self.ratio.0) / count, count);
    }

    /// Learns how a call's time differs from what was expected; the change of the device, where that tells one.
    pub(crate) fn add(&mut self, residual: f64, standardised: f64) -> Option<f64> {
        let shift = self.change.add(residual, standardised)?;
        Some(self.book_change(shift))
    }

    /// Learns that a problem's times changed; a second problem whose times change alike tells a change of the device.
    pub(crate) fn add_change(&mut self, serial: u64, shift: f64) -> Option<f64> {
        let before = self.alone.replace((serial, shift, Instant::now()));
        let (other, other_shift, when) = before?;
        let alike = other != serial && (other_shift > 0.0) == (shift > 0.0) && when.elapsed() < TOGETHER;
        alike.then(|| self.book_change(0.5 * (shift + other_shift)))
    }

    fn book_change(&mut self, shift: f64) -> f64 {
        self.changes = Changes { count: self.changes.count + 1, sum: self.changes.sum + shift };
        (self.alone, self.change) = (None, Change::new(THRESHOLD));
        shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_two_problems_is_one_of_the_device_and_opposite_ones_are_not() {
        let mut state = DeviceState::new();
        assert!(state.add_change(1, 0.5).is_none() && state.add_change(1, 0.5).is_none());
        assert_eq!(state.add_change(2, 0.7), Some(0.6));
        assert!(state.add_change(3, -0.5).is_none() && state.add_change(4, 0.5).is_none());
        assert_eq!(state.changes, Changes { count: 1, sum: 0.6 });
    }

    #[test]
    fn the_factor_in_common_is_learned_beside_the_changes() {
        let mut state = DeviceState::new();
        (0..10).for_each(|_| state.add_ratio(0.4));
        assert!((state.ratio() - 0.4).abs() < 1e-9);
        assert_eq!([1, 2].map(|serial| state.add_change(serial, 1.0)), [None, Some(1.0)]);
        assert!((state.ratio() - 1.4).abs() < 1e-9);
        (0..10).for_each(|_| state.add_ratio(1.4));
        assert!((state.ratio() - 1.4).abs() < 1e-9);
    }
}
