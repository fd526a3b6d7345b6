//! Selection of undisturbed samples from interleaved rounds.
//!
//! A shared machine changes its speed from one moment to the next. Configs that take turns meet the same moments. Where the neighbours
//! in time were slower than usual too, the moment was disturbed.

use seqtune_data::stats::{median, quantile};

/// Launches of one config in one round.
struct Turn {
    /// Index of the config among those measured together.
    candidate: usize,
    /// Times in microseconds.
    samples: Vec<f32>,
    median: f64,
}

/// Turns of configs that are measured together, in the order of time.
#[derive(Default)]
pub struct Interleaved(Vec<Turn>);

/// Number of neighbouring turns of other configs, before and after a turn.
const NEIGHBOURS: usize = 4;

/// Slowdown of the neighbours beyond which a moment is disturbed.
const DISTURBED: f64 = 1.1;

impl Interleaved {
    /// Adds a turn of a config, with times in microseconds.
    pub fn add(&mut self, candidate: usize, samples: Vec<f32>) {
        let median = median(&samples);
        self.0.push(Turn { candidate, samples, median });
    }

    /// Number of turns of a config.
    pub fn turns(&self, candidate: usize) -> usize {
        self.0.iter().filter(|turn| turn.candidate == candidate).count()
    }

    /// Times of all launches of a config in microseconds.
    pub fn all(&self, candidate: usize) -> impl Iterator<Item = f32> {
        self.0.iter().filter(move |t| t.candidate == candidate).flat_map(|t| &t.samples).copied()
    }

    /// Samples of undisturbed moments by config, in microseconds.
    ///
    /// A config keeps all samples where fewer than half of its turns are undisturbed, because such a machine has no usual speed.
    pub fn undisturbed_samples(&self, candidates: usize) -> Vec<Vec<f32>> {
        let mut turns = vec![Vec::new(); candidates];
        self.0.iter().for_each(|turn| turns[turn.candidate].push(turn.median));
        let usual = turns.iter().map(|medians| {
            let mut sorted = medians.clone();
            sorted.sort_by(f64::total_cmp);
            // of the faster half: a disturbance never makes a config faster
            quantile(&sorted, 0.25)
        });
        let usual: Vec<f64> = usual.collect();
        let slower: Vec<f64> = self.0.iter().map(|turn| turn.median / usual[turn.candidate]).collect();
        let mut counted = vec![(0, Vec::new()); candidates];
        for (at, turn) in self.0.iter().enumerate() {
            if self.neighbour_slowdown(at, &slower) <= DISTURBED {
                counted[turn.candidate].0 += 1;
                counted[turn.candidate].1.extend(&turn.samples);
            }
        }
        let kept = counted.into_iter().zip(turns).enumerate().map(|(candidate, ((calm, samples), turns))| {
            if 2 * calm < turns.len() { self.all(candidate).collect() } else { samples }
        });
        kept.collect()
    }

    /// Median slowdown of the nearest turns of other configs; 1 where there are too few.
    ///
    /// Turns of the same config are left out, or its slow samples would be dropped because they are slow.
    fn neighbour_slowdown(&self, at: usize, slower: &[f64]) -> f64 {
        let other = |i: &usize| self.0[*i].candidate != self.0[at].candidate;
        let (first, last) = (at.saturating_sub(2 * NEIGHBOURS), (at + 1 + 2 * NEIGHBOURS).min(self.0.len()));
        let before = (first..at).rev().filter(other).take(NEIGHBOURS);
        let after = (at + 1..last).filter(other).take(NEIGHBOURS);
        let mut near: Vec<f64> = before.chain(after).map(|i| slower[i]).collect();
        if near.len() < NEIGHBOURS {
            return 1.0;
        }
        near.sort_by(f64::total_cmp);
        quantile(&near, 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve configs in `count` rounds, of 100, 101, ... microseconds, by `speed` at each moment.
    fn rounds(count: usize, speed: impl Fn(usize, usize) -> f32) -> Interleaved {
        let mut rounds = Interleaved::default();
        for round in 0..count {
            for config in 0..12 {
                rounds.add(config, vec![(100 + config) as f32 * speed(round, config); 2]);
            }
        }
        rounds
    }

    #[test]
    fn what_was_measured_while_others_were_slower_too_does_not_count() {
        // a disturbance from the middle of one round to the middle of the next but one
        let disturbed = |round, config| (20..44).contains(&(round * 12 + config));
        let samples = rounds(8, |r, c| if disturbed(r, c) { 1.6 } else { 1.0 }).undisturbed_samples(12);
        for (config, samples) in samples.iter().enumerate() {
            assert!(samples.len() >= 10, "{config}: {samples:?}");
            assert_eq!(median(samples), (100 + config) as f64, "{samples:?}");
        }
    }

    #[test]
    fn a_config_that_is_slow_at_times_by_itself_keeps_its_slow_samples() {
        let samples = rounds(8, |r, c| if c == 5 && r % 2 == 0 { 1.6 } else { 1.0 }).undisturbed_samples(12);
        assert!(samples.iter().all(|s| s.len() == 16), "{samples:?}");
    }

    #[test]
    fn on_a_machine_that_is_slower_most_of_the_time_everything_counts() {
        let samples = rounds(8, |r, _| if r < 2 { 1.0 } else { 1.6 }).undisturbed_samples(12);
        assert!(samples.iter().all(|s| s.len() == 16), "{samples:?}");
    }

    #[test]
    fn who_is_left_alone_is_not_judged_by_moments_long_past() {
        let mut rounds = rounds(3, |r, _| if r == 2 { 1.6 } else { 1.0 });
        (0..20).for_each(|_| rounds.add(0, vec![100.0]));
        let samples = rounds.undisturbed_samples(12);
        assert!(samples[0].len() >= 16 && median(&samples[0]) == 100.0, "{:?}", samples[0]);
    }

    #[test]
    fn one_config_alone_has_no_witness() {
        let mut rounds = Interleaved::default();
        [1.0, 5.0, 1.0, 1.0, 5.0].iter().for_each(|us| rounds.add(0, vec![*us]));
        assert_eq!(rounds.undisturbed_samples(1)[0].len(), 5);
    }
}
