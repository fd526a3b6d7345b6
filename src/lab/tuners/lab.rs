//! A laboratory that replays sweeps: what a tuner measures there costs it the seconds that it took, and its seconds are limited.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use seqtune_data::{MeasuredProblem, Outcome};
use seqtune_kernel::error::Result;
use seqtune_kernel::{Config, Define, Device, Kernel, Objective};
use std::collections::{HashMap, HashSet};

/// A way to tune.
pub trait Tuner {
    /// Name in reports.
    fn name(&self) -> &str;
    /// Spends the seconds of a laboratory, and ranks configs of each unseen problem, best first.
    ///
    /// # Errors
    /// The error of what it fits.
    fn play(&self, lab: &mut ReplayEnv) -> Result<Vec<Vec<Config>>>;
}

/// What a measurement costs beside its launches, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct CostModel {
    /// Compiling a program that was not compiled before.
    pub compile: f64,
    /// Checking, warm-up and the like.
    pub each: f64,
}

/// Launches that a measurement is worth at least; of a single sample it is not known how many there were.
const LAUNCHES: f64 = 10.0;

/// Problems that may be measured, problems that answers are wanted for, and the seconds that are left.
pub struct ReplayEnv<'t> {
    /// Kernel of all problems.
    pub kernel: &'t Kernel,
    /// Device that measured.
    pub device: &'t Device,
    /// Sizes to learn from.
    pub learned: Vec<&'t MeasuredProblem>,
    /// Sizes that answers are wanted for. To measure these is allowed too: it is what tuners do that do not predict.
    pub unseen: Vec<&'t MeasuredProblem>,
    /// Draws of this seed.
    pub rng: ChaCha8Rng,
    /// Seconds left.
    pub left: f64,
    prices: CostModel,
    compiled: HashSet<Vec<Define>>,
    /// Microseconds by problem's text and config.
    known: HashMap<(String, Config), f64>,
}

/// A config with its time.
#[derive(Clone, Debug)]
pub struct TimedConfig {
    /// The config.
    pub config: Config,
    /// Its time in microseconds.
    pub us: f64,
}

impl TimedConfig {
    /// Configs, fastest first.
    pub fn ranking(mut times: Vec<TimedConfig>) -> Vec<Config> {
        times.sort_by(|a, b| a.us.total_cmp(&b.us));
        times.into_iter().map(|timed| timed.config).collect()
    }
}

/// Configs of a problem that were measured here, with their microseconds, in the order of measuring.
#[derive(Clone)]
pub struct Surveyed<'t> {
    /// The problem, with all that the sweep knows.
    pub of: &'t MeasuredProblem,
    /// What was paid for.
    pub times: Vec<TimedConfig>,
}

impl Surveyed<'_> {
    /// The configs, fastest first.
    pub fn ranking(&self) -> Vec<Config> {
        TimedConfig::ranking(self.times.clone())
    }
}

impl<'t> ReplayEnv<'t> {
    /// Opens a laboratory with `left` seconds.
    pub fn new(
        kernel: &'t Kernel,
        device: &'t Device,
        [learned, unseen]: [Vec<&'t MeasuredProblem>; 2],
        rng: ChaCha8Rng,
        left: f64,
        prices: CostModel,
    ) -> ReplayEnv<'t> {
        ReplayEnv {
            kernel,
            device,
            learned,
            unseen,
            rng,
            left,
            prices,
            compiled: HashSet::new(),
            known: HashMap::new(),
        }
    }

    /// Configs that can be measured for a problem: those of the sweep that work.
    pub fn candidates(&self, tried: &MeasuredProblem) -> Vec<Config> {
        tried.configs(Objective::Time)
    }

    /// Measures a config of a problem, for its price; microseconds, or `None` where the seconds do not suffice. A second time is free.
    pub fn measure(&mut self, tried: &MeasuredProblem, config: &Config) -> Option<f64> {
        let key = (self.kernel.show_problem(&tried.problem), config.clone());
        if let Some(us) = self.known.get(&key) {
            return Some(*us);
        }
        let outcome = tried.outcome(config)?;
        let us = outcome.time_us()?;
        let sampled = match outcome {
            Outcome::Measured(m) => m.samples_us.iter().map(|us| *us as f64).sum(),
            _ => us,
        };
        let program = self.kernel.defines(&tried.problem, config);
        let compile = if self.compiled.contains(&program) { 0.0 } else { self.prices.compile };
        let price = compile + self.prices.each + 1e-6 * sampled.max(LAUNCHES * us);
        if price > self.left {
            self.left = 0.0;
            return None;
        }
        self.left -= price;
        self.compiled.insert(program);
        self.known.insert(key, us);
        Some(us)
    }

    /// Configs that so many seconds buy, if each needs a program of its own and its launches take no time.
    pub fn affordable(&self, seconds: f64) -> f64 {
        seconds / (self.prices.compile + self.prices.each).max(1e-6)
    }

    /// Measures configs of a problem in their order, until `spare` seconds are left.
    pub fn measure_all(&mut self, tried: &MeasuredProblem, configs: Vec<Config>, spare: f64) -> Vec<TimedConfig> {
        let mut times = Vec::new();
        for config in configs {
            if self.left <= spare {
                break;
            }
            let Some(us) = self.measure(tried, &config) else { break };
            times.push(TimedConfig { config, us });
        }
        times
    }

    /// Measures `each` random configs of learning problems in random order, until `spare` seconds are left.
    pub fn survey(&mut self, each: usize, spare: f64) -> Vec<Surveyed<'t>> {
        let mut order = self.learned.clone();
        order.shuffle(&mut self.rng);
        let mut surveyed = Vec::new();
        for tried in order {
            let mut configs = self.candidates(tried);
            configs.shuffle(&mut self.rng);
            configs.truncate(each);
            let times = self.measure_all(tried, configs, spare);
            if !times.is_empty() {
                surveyed.push(Surveyed { of: tried, times });
            }
            if self.left <= spare {
                break;
            }
        }
        surveyed
    }

    /// Measures the first of each ranking in turn with the seconds that are left, and puts what was measured first, fastest first.
    pub fn measure_first(&mut self, rankings: Vec<Vec<Config>>) -> Vec<Vec<Config>> {
        let unseen = self.unseen.clone();
        let mut found: Vec<Vec<TimedConfig>> = vec![Vec::new(); unseen.len()];
        let longest = rankings.iter().map(Vec::len).max().unwrap_or(0);
        'over: for place in 0..longest {
            for ((tried, ranking), found) in unseen.iter().zip(&rankings).zip(&mut found) {
                let Some(config) = ranking.get(place) else { continue };
                let Some(us) = self.measure(tried, config) else { break 'over };
                found.push(TimedConfig { config: config.clone(), us });
            }
        }
        let put_first = |(found, ranking): (Vec<TimedConfig>, Vec<Config>)| {
            let mut all = TimedConfig::ranking(found);
            let rest: Vec<Config> = ranking.into_iter().filter(|config| !all.contains(config)).collect();
            all.extend(rest);
            all
        };
        found.into_iter().zip(rankings).map(put_first).collect()
    }

    /// A random number below `n`.
    pub fn draw(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n.max(1))
    }

    /// Numbers of a problem and a config in logarithms, as regressors of ISAAC and MLKAPS see them.
    pub fn row(&self, tried: &MeasuredProblem, config: &Config) -> Vec<f64> {
        let env = self.kernel.env_of(&tried.problem, None, config);
        let known = self.kernel.parameters.len() + self.kernel.fields.len();
        env[..known].iter().map(|x| x.signum() * (1.0 + x.abs()).log2()).collect()
    }
}
