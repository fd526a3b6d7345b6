//! The strategies that are compared: each says which config a call runs, and learns what it took.

use crate::bench::Bench;
use seqtune_choose::{Chooser, Measured, Options, Pick};
use seqtune_kernel::ConfigSpace;
use seqtune_kernel::error::Result;
use seqtune_predict::{Config, Kernel, Model, Predictor, Problem, Query};
use std::collections::HashSet;
use std::time::Instant;

/// Configs that a search tries for a new size, and calls of each.
pub const TRIED: usize = 10;
pub const CALLS: usize = 3;

/// What a strategy spent, in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// Kernels of the stream's calls.
    pub kernels: f64,
    /// Kernels of a search before.
    pub search: f64,
    /// Predictions, and choices.
    pub thought: f64,
    /// Compilation of each config that it used.
    pub compiled: f64,
    /// Those configs.
    pub configs: HashSet<Config>,
    /// Kernels of the second half.
    pub late_us: f64,
    /// After each call: of kernels alone, without compilation, and with it.
    pub course: Vec<[f64; 3]>,
}

impl Spent {
    /// What does not grow with the calls.
    pub fn fixed(&self) -> f64 {
        self.search + self.thought + self.compiled
    }

    /// Without compilation.
    pub fn running(&self) -> f64 {
        self.kernels + self.search + self.thought
    }
}

/// How configs are found.
pub enum Way {
    /// One for all sizes.
    Always(Config),
    /// The best of a few of these at a size's first call.
    Searched(Vec<Config>),
    /// The model's first choice.
    Predicted(Box<Predictor>),
    /// A chooser.
    Chosen(Box<Chooser>),
}

/// A strategy in a stream.
pub struct Strategy {
    pub name: &'static str,
    way: Way,
    /// What a size settled on.
    known: Vec<Option<Config>>,
    pub spent: Spent,
}

/// Elapsed microseconds.
fn since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6
}

impl Strategy {
    pub fn new(name: &'static str, way: Way, sizes: usize) -> Strategy {
        Strategy { name, way, known: vec![None; sizes], spent: Spent::default() }
    }

    /// A chooser that counts `setup_us` for each config that is used the first time.
    pub fn chosen(
        name: &'static str,
        bench: &Bench,
        kernel: &Kernel,
        model: &Model,
        setup_us: f64,
    ) -> Result<Strategy> {
        let options = Options { top: 4, setup_us, ..Options::default() };
        let chooser = Chooser::of_model(kernel, model, &bench.device, options)?;
        Ok(Strategy::new(name, Way::Chosen(Box::new(chooser)), 0))
    }

    /// One call of a size.
    pub fn call(&mut self, bench: &mut Bench, (at, problem): (usize, &Problem)) -> Result<()> {
        let began = Instant::now();
        let mut pick: Option<Pick> = None;
        let config = match &self.way {
            Way::Always(config) => config.clone(),
            Way::Searched(pool) => match &self.known[at] {
                Some(config) => config.clone(),
                None => {
                    let pool = pool.clone();
                    let config = self.search(bench, problem, &pool, at)?;
                    self.known[at] = Some(config.clone());
                    config
                }
            },
            Way::Predicted(predictor) => match &self.known[at] {
                Some(config) => config.clone(),
                None => {
                    let query = Query::new(&bench.device);
                    let config = predictor.predict_one(problem, &query)?.candidates.remove(0).config;
                    self.spent.thought += since(began);
                    self.known[at] = Some(config.clone());
                    config
                }
            },
            Way::Chosen(chooser) => {
                let picked = chooser.pick(problem)?;
                self.spent.thought += since(began);
                let config = picked.config().clone();
                pick = Some(picked);
                config
            }
        };
        self.uses(bench, problem, &config)?;
        let call = bench.call(problem, &config)?;
        self.spent.kernels += call.us;
        if let (Way::Chosen(chooser), Some(pick)) = (&self.way, &pick) {
            let began = Instant::now();
            chooser.report(pick, Measured { time_us: call.us, joules: None })?;
            self.spent.thought += since(began);
        }
        let running = self.spent.running();
        self.spent.course.push([self.spent.kernels, running, running + self.spent.compiled]);
        Ok(())
    }

    /// Counts the compilation of a config that this strategy did not use before.
    fn uses(&mut self, bench: &mut Bench, problem: &Problem, config: &Config) -> Result<()> {
        if self.spent.configs.insert(config.clone()) {
            bench.call(problem, config)?;
            self.spent.compiled += bench.setup_us(config);
        }
        Ok(())
    }

    /// The best of a few random configs that are legal, each called a few times.
    fn search(&mut self, bench: &mut Bench, problem: &Problem, pool: &[Config], turn: usize) -> Result<Config> {
        let mut best: Option<(f64, Config)> = None;
        // each size has its own part of the pool
        let order = (0..pool.len()).map(|i| &pool[(i + 7 * turn) % pool.len()]);
        for config in order.take(TRIED) {
            self.uses(bench, problem, config)?;
            let mut times = Vec::new();
            for _ in 0..CALLS {
                times.push(bench.call(problem, config)?.us);
            }
            self.spent.search += times.iter().sum::<f64>();
            times.sort_by(f64::total_cmp);
            let median = times[CALLS / 2];
            if best.as_ref().is_none_or(|(least, _)| median < *least) {
                best = Some((median, config.clone()));
            }
        }
        best.map(|(_, config)| config).ok_or_else(|| seqtune_predict::Error::Failed("the pool is empty".into()))
    }

    /// The best of the whole pool at one size: a strategy that was tuned once, with what that cost.
    pub fn tuned_once(bench: &mut Bench, pool: &[Config], reference: &Problem, sizes: usize) -> Result<Strategy> {
        let mut search = Strategy::new("tuned once", Way::Searched(Vec::new()), sizes);
        let (mut best, mut spent) = ((f64::INFINITY, pool[0].clone()), 0.0);
        for config in pool {
            search.uses(bench, reference, config)?;
            let mut times = Vec::new();
            for _ in 0..CALLS {
                times.push(bench.call(reference, config)?.us);
            }
            spent += times.iter().sum::<f64>();
            times.sort_by(f64::total_cmp);
            if times[CALLS / 2] < best.0 {
                best = (times[CALLS / 2], config.clone());
            }
        }
        search.spent.search = spent;
        Ok(Strategy { way: Way::Always(best.1), ..search })
    }
}

/// Random configs that are legal for every size.
pub fn pool(kernel: &Kernel, bench: &Bench, problems: &[Problem], count: usize) -> Result<Vec<Config>> {
    use rand::SeedableRng;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let spaces: Vec<ConfigSpace> = problems.iter().map(|p| ConfigSpace::new(kernel, p, &bench.device)).collect();
    let drawn = spaces[0].counter().sample_distinct(4 * count, &mut rng)?;
    Ok(drawn.into_iter().filter(|c| spaces.iter().all(|space| space.is_legal(c))).take(count).collect())
}
