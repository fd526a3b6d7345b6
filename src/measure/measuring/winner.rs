//! Measuring the fastest configs once more. The best of many noisy medians is too good: the one that had the most luck is taken for the fastest.

use super::{Bench, Pass};
use crate::batch::{Contender, Measured};
use crate::executor::Timing;
use crate::measuring::subject::Subject;
use crate::measuring::trial::Trial;
use seqtune_data::stats::median;
use seqtune_kernel::error::Result;

/// Trials that take turns when they are measured again, and their turns.
const PAIR: usize = 2;
const TURNS: usize = 2;

/// Trials of a round for each one that may be measured again, and most of these.
const EACH: usize = 8;
const MOST: usize = 8;

impl<S: Subject> Bench<S> {
    /// Measures the fastest of the trials that competed to the end once more, until the fastest is one that was measured twice; the slower result of
    /// each counts. Returns those that failed meanwhile.
    ///
    /// Launches that are so long that their turns would take longer than a trial's budget are not repeated.
    pub(super) fn measure_winners(
        &mut self,
        running: &mut [Trial<S::Work>],
        competed: &[usize],
        timing: Timing,
        pass: &mut Pass,
    ) -> Result<Vec<usize>> {
        let (mut repeated, mut failed) = (Vec::new(), Vec::new());
        let most = (running.len() / EACH).min(MOST);
        loop {
            let is_config = |at: &&usize| matches!(running[**at].contender, Contender::Config(_));
            let known = competed.iter().filter(is_config).filter(|at| !running[**at].samples.is_empty());
            let mut fastest: Vec<usize> = known.copied().collect();
            fastest.sort_by(|a, b| median(&running[*a].samples).total_cmp(&median(&running[*b].samples)));
            let is_over = fastest.len() < PAIR || repeated.contains(&fastest[0]) || repeated.len() >= most;
            if is_over || self.subject.is_poisoned() {
                return Ok(failed);
            }
            let pair: Vec<usize> = fastest.into_iter().filter(|at| !repeated.contains(at)).take(PAIR).collect();
            let expected_us: f64 = pair
                .iter()
                .map(|at| (TURNS * running[*at].launches_of_a_turn()) as f64 * running[*at].estimate_us)
                .sum();
            if expected_us > 1e3 * pass.policy.budget_ms {
                return Ok(failed);
            }
            failed.extend(self.measure_again(running, &pair, timing, pass)?);
            repeated.extend(pair);
        }
    }

    /// Measures trials once more; those that fail are finished and returned.
    fn measure_again(
        &mut self,
        running: &mut [Trial<S::Work>],
        again: &[usize],
        timing: Timing,
        pass: &mut Pass,
    ) -> Result<Vec<usize>> {
        let (mut samples, mut failed) = (vec![Vec::new(); again.len()], Vec::new());
        for _ in 0..TURNS {
            for (at, samples) in again.iter().zip(&mut samples) {
                if self.subject.is_poisoned() || failed.contains(at) {
                    continue;
                }
                let trial = &mut running[*at];
                pass.begin(trial.contender);
                match self.subject.launch(&trial.work, trial.launches_of_a_turn(), timing) {
                    Ok(times) => samples.extend(times),
                    Err(invalidity) => {
                        self.blame()?;
                        trial.samples.clear();
                        pass.finish(Measured::invalid(trial.contender, invalidity));
                        failed.push(*at);
                    }
                }
            }
        }
        for (at, samples) in again.iter().zip(samples) {
            let trial = &mut running[*at];
            if !samples.is_empty() && !trial.samples.is_empty() && median(&samples) > median(&trial.samples) {
                trial.samples = samples;
            }
        }
        Ok(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Batch, BatchStep};
    use crate::drawn::test_generator;
    use crate::measuring::energy::EnergyMeter;
    use crate::measuring::roofline::Peaks;
    use crate::verify::case::Case;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;
    use seqtune_data::recipe::Policy;
    use seqtune_data::{Attempt, Invalidity};
    use seqtune_kernel::error::Error;
    use seqtune_kernel::{Config, Problem};

    /// Configs that all take 100 us, each with luck of its own for a while.
    struct Lucky {
        rng: ChaCha8Rng,
        luck: Vec<f32>,
        /// Launches until the luck is over.
        left: usize,
        launches: usize,
    }

    /// Launches of each config before winners are measured again: that of its check, and three turns.
    const FIRST: usize = 13;

    impl Subject for Lucky {
        type Work = usize;
        fn compile(&mut self, _: &Problem, _: &Config) -> Result<Option<Invalidity>> {
            Ok(None)
        }
        fn load(&mut self, _: &Problem, _: Case) -> Result<()> {
            Ok(())
        }
        fn prepare(&mut self, config: Option<&Config>) -> Attempt<usize> {
            Ok(config.map_or(0, |config| config.0[0] as usize))
        }
        fn verify(&mut self, _: &usize) -> Result<Attempt<f64>> {
            Ok(Ok(100.0))
        }
        fn launch(&mut self, work: &usize, repeat: usize, _: Timing) -> Attempt<Vec<f32>> {
            self.launches += repeat;
            let share = if self.left == 0 { 0.0 } else { self.luck[*work] };
            self.left = self.left.saturating_sub(repeat);
            Ok((0..repeat).map(|_| 100.0 * (1.0 + share) + self.rng.random_range(-0.2..0.2)).collect())
        }
        fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String> {
            Err(String::new())
        }
        fn peaks(&mut self) -> Result<Peaks> {
            Err(Error::Failed(String::new()))
        }
        fn library(&mut self) -> std::result::Result<String, String> {
            Err(String::new())
        }
    }

    /// Median times of so many configs, and launches.
    fn medians(seed: u64, count: usize) -> (Vec<f64>, usize) {
        let mut rng = test_generator(seed);
        let luck = (0..count).map(|_| rng.random_range(-0.04..0.04)).collect();
        let mut bench = Bench::new(Lucky { rng, luck, left: FIRST * count, launches: 0 });
        let configs: Vec<Config> = (0..count).map(|at| Config(vec![at as _])).collect();
        let problem = Problem { values: Vec::new() };
        let batch = Batch { problem: &problem, configs: &configs, library: false, best_us: f64::INFINITY };
        // so many samples of each, however tight they are
        let policy = Policy { min_samples: 12, max_samples: 24, warm_up_ms: 0.0, ..Policy::default() };
        let mut found = vec![f64::NAN; count];
        let mut report = |step| {
            if let BatchStep::Finished(measured) = step
                && let Contender::Config(at) = measured.contender
            {
                found[at] = measured.outcome.time_us().unwrap();
            }
        };
        bench.measure(&batch, &policy, &mut report).unwrap();
        (found, bench.subject.launches)
    }

    #[test]
    fn the_fastest_is_not_the_one_that_had_luck_for_a_while() {
        let best = |count| {
            let least = |seed| medians(seed, count).0.into_iter().fold(f64::INFINITY, f64::min);
            (1..=20).map(least).sum::<f64>() / 20.0
        };
        // the best of seven has luck of three percent, and so few are not measured again
        assert!(best(7) < 97.6, "{}", best(7));
        assert!(best(64) > 96.8, "{}", best(64));
        let (_, launches) = medians(1, 64);
        assert!(launches <= 64 * FIRST * 11 / 10, "{launches} launches, a tenth more at most");
    }
}
