//! Trials: configs under measurement, and their stopping rule.

use crate::batch::Contender;
use seqtune_data::Conditions;
use seqtune_data::recipe::Policy;
use seqtune_data::stats::{median_interval, quantile};

/// Config or library under measurement.
pub struct Trial<W> {
    /// Contender of the batch.
    pub contender: Contender,
    /// Work to launch.
    pub work: W,
    /// Time of the fastest launch so far in microseconds.
    pub estimate_us: f64,
    /// Times of undisturbed launches in microseconds.
    pub samples: Vec<f32>,
    /// State of the device, where the API reports it.
    pub conditions: Option<Conditions>,
    /// Whether no more samples are taken.
    pub done: bool,
}

/// Stage of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// More samples are needed.
    Open,
    /// The interval is tight or the budget is spent. Sampling continues only because of other trials.
    Enough,
    /// The config is behind the best, and known well enough for that.
    Behind,
    /// The config is too slow to compete.
    Hopeless,
}

impl Stage {
    /// Whether a trial of this stage ends before those that compete.
    pub fn is_over(self) -> bool {
        matches!(self, Stage::Behind | Stage::Hopeless)
    }
}

/// Microseconds from which a launch is too long for one more of a config that is hopeless.
pub const LONG_US: f64 = 5e3;

/// Share of the time budget that two samples of a hopeless config take where no third is needed. A single sample takes all of it.
const LONG: f64 = 0.2;
/// Turns after which a config that is behind needs no more samples: after two its median is half as noisy again.
const TURNS: usize = 4;

impl<W> Trial<W> {
    /// Records the current state of the device, with all earlier throttling reasons.
    pub fn record_conditions(&mut self, now: &Conditions) {
        let before = self.conditions.replace(now.clone()).map_or(Vec::new(), |c| c.throttled);
        let met = self.conditions.iter_mut();
        met.for_each(|met| {
            met.throttled.extend(before.iter().filter(|reason| !now.throttled.contains(reason)).cloned())
        });
    }

    /// A few short launches a turn, so that turns are not many but neighbours stay close in time.
    pub fn launches_of_a_turn(&self) -> usize {
        ((2e3 / self.estimate_us) as usize).clamp(1, 4)
    }

    /// Checks whether even the fastest launch so far is too slow to compete.
    pub fn seems_hopeless(&self, policy: &Policy, best_us: f64) -> bool {
        self.estimate_us > policy.slow * best_us
    }

    /// Stage of the trial after `turns` turns; `all` yields the times of all launches in microseconds, including disturbed ones.
    pub fn stage(&self, policy: &Policy, best_us: f64, turns: usize, all: impl Iterator<Item = f32>) -> Stage {
        let (launches, spent_us) = all.fold((0, 0.0), |(n, us), sample| (n + 1, us + sample as f64));
        // disturbed samples are replaced by new ones, up to twice the limits
        let over = launches >= 2 * policy.max_samples || spent_us >= 2e3 * policy.budget_ms;
        let n = self.samples.len();
        let mut sorted = self.samples.clone();
        sorted.sort_by(f32::total_cmp);
        let median = quantile(&sorted, 0.5);
        let spent_us: f64 = self.samples.iter().map(|s| *s as f64).sum();
        // where launches are long, two samples and the launch of the check suffice: a machine that is busy with something else for some
        // milliseconds slows the check and one sample
        let share = spent_us / (1e3 * policy.budget_ms);
        let few = n < policy.min_samples && !(n > 0 && share >= 1.0) && !(n > 1 && share >= LONG);
        if few {
            return if over && launches >= 2 * policy.min_samples { Stage::Enough } else { Stage::Open };
        }
        // nor was any launch fast, that of the check included: a slow moment is no proof
        let is_beyond = |ratio: f64| median.min(self.estimate_us) > ratio * best_us;
        if is_beyond(policy.slow) {
            return Stage::Hopeless;
        }
        if n < policy.min_samples {
            return Stage::Open;
        }
        if turns >= TURNS && is_beyond(policy.behind) {
            return Stage::Behind;
        }
        if over || n >= policy.max_samples || spent_us >= policy.budget_ms * 1e3 {
            return Stage::Enough;
        }
        let [low, high] = median_interval(&sorted);
        if n >= 8 && (high - low) / 2.0 <= policy.tight * median { Stage::Enough } else { Stage::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_stops_when_tight_when_spent_and_when_hopeless() {
        let policy = Policy::default();
        let after = |turns: usize, samples: Vec<f32>, best_us: f64| {
            let estimate_us = samples.iter().copied().fold(f32::MAX, f32::min) as f64;
            let all = samples.clone().into_iter();
            Trial { contender: Contender::Config(0), work: (), estimate_us, samples, conditions: None, done: false }
                .stage(&policy, best_us, turns, all)
        };
        let stage = |samples: Vec<f32>, best_us: f64| after(TURNS - 1, samples, best_us);
        assert_eq!(stage(vec![100.0; 2], 100.0), Stage::Open, "too few");
        assert_eq!(stage(vec![100.0; 8], 100.0), Stage::Enough, "tight");
        let noisy: Vec<f32> = (0..12).map(|i| 100.0 + 10.0 * (i % 5) as f32).collect();
        assert_eq!(stage(noisy.clone(), 100.0), Stage::Open, "noisy");
        assert_eq!(stage(noisy, 10.0), Stage::Hopeless, "ten times slower than the best");
        assert_eq!(stage(vec![90.0, 400.0, 400.0, 400.0], 100.0), Stage::Open, "slow but for one launch");
        assert_eq!(stage(vec![2e4; 3], 2e4), Stage::Enough, "budget spent");
        assert_eq!(stage(vec![4e3; 2], 1e3), Stage::Hopeless, "slow and long");
        assert_eq!(stage(vec![4e3; 1], 1e3), Stage::Open, "slow, but quickly measured again");
        assert_eq!(stage(vec![8e3; 1], 1e3), Stage::Open, "slow, and one sample");
        assert_eq!(stage(vec![8e3, 1e3], 1e3), Stage::Open, "slow for a moment");
        assert_eq!(stage(vec![3e4; 1], 1e3), Stage::Hopeless, "slow and very long");
        assert_eq!(stage(vec![2e4; 1], 1e4), Stage::Open, "long, but not slow");
        assert_eq!(stage(vec![160.0; 4], 100.0), Stage::Open, "behind, in few turns");
        assert_eq!(after(TURNS, vec![160.0; 4], 100.0), Stage::Behind, "behind");
        assert_eq!(after(TURNS, vec![140.0, 160.0, 160.0, 160.0], 100.0), Stage::Open, "behind but for one launch");
    }

    #[test]
    fn what_does_not_count_is_measured_again_but_not_without_end() {
        let policy = Policy::default();
        let noisy: Vec<f32> = (0..12).map(|i| 100.0 + 10.0 * (i % 5) as f32).collect();
        let candidate = Trial {
            contender: Contender::Config(0),
            work: (),
            estimate_us: 1.0,
            samples: noisy,
            conditions: None,
            done: false,
        };
        assert_eq!(candidate.stage(&policy, 100.0, 9, std::iter::repeat_n(100.0, 40)), Stage::Open);
        assert_eq!(candidate.stage(&policy, 100.0, 9, std::iter::repeat_n(100.0, 60)), Stage::Enough);
    }
}
