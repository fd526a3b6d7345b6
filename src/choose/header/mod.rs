//! Choices as a C++17 header: a table for fixed problems, and a decision tree for all others, grown on a model's own answers.

#[cfg(test)]
mod compiled;
pub(crate) mod cpp;
mod ranges;
mod text;
pub(crate) mod tree;

pub use ranges::{Range, Ranges};
pub use text::MARK;

use crate::points::{Point, Points, log_ratio};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::ConfigSpace;
use seqtune_kernel::error::Result;
use seqtune_kernel::threads::on_threads;
use seqtune_predict::{Config, Device, Kernel, Objective, Problem};
use std::collections::HashMap;
use tree::{Sample, Tree};

/// How a header is made.
#[derive(Clone, Debug)]
pub struct HeaderOptions {
    /// Random problems that the tree grows on; a third as many decide its size, and as many judge it.
    pub samples: usize,
    /// Leaves of the tree at most.
    pub leaves: usize,
    /// Configs that leaves choose among at most.
    pub configs: usize,
    /// Quantity that is minimised.
    pub objective: Objective,
    /// Seed of the random problems.
    pub seed: u64,
    /// Threads that the model is asked on.
    pub threads: usize,
}

impl Default for HeaderOptions {
    fn default() -> HeaderOptions {
        HeaderOptions { samples: 1_500, leaves: 64, configs: 96, objective: Objective::Time, seed: 1, threads: 1 }
    }
}

impl HeaderOptions {
    /// Random problems that decide the tree's size, and as many that judge it.
    fn third(&self) -> usize {
        self.samples.div_ceil(3)
    }

    /// How often a header of so many fixed problems asks its points.
    pub fn questions(&self, fixed: usize) -> usize {
        2 * (self.samples + 2 * self.third()) + fixed
    }
}

/// What the tree loses against the model, on random problems that it did not grow on.
#[derive(Clone, Debug, Default)]
pub struct Loss {
    /// Random problems.
    pub problems: usize,
    /// Share of them whose choice is the model's first.
    pub agreement: f64,
    /// Mean share of predicted speed that the choice loses against the model's first.
    pub mean: f64,
    /// Ninth decile of it.
    pub p90: f64,
    /// The mean that the best single config would lose.
    pub one_config: f64,
    /// Share of them that no config of their leaf is legal for, so that a config of last resort is taken.
    pub last_resort: f64,
}

/// Where a choice came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The table of fixed problems.
    Table,
    /// The tree.
    Tree,
    /// Configs of last resort.
    LastResort,
}

/// What a header answers to a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct HeaderChoice {
    /// Legal config.
    pub config: Config,
    /// Where it came from.
    pub source: Source,
}

/// How much a header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Configs.
    pub configs: usize,
    /// Fixed problems.
    pub fixed: usize,
}

/// What a header says, for looking at it without a compiler.
pub struct Header {
    pub(crate) kernel: Kernel,
    pub(crate) device: Device,
    pub(crate) source: String,
    /// What the choices rest on, in words.
    pub(crate) grounds: String,
    pub(crate) ranges: String,
    pub(crate) configs: Vec<Config>,
    /// Fixed problems in the order of their values, each with the place of its config.
    pub(crate) table: Vec<(Problem, usize)>,
    pub(crate) tree: Tree,
    /// Configs that are tried where none of a leaf is legal: the kernel's default, then those that are legal most often.
    pub(crate) last_resort: Vec<usize>,
    /// What the tree loses.
    pub loss: Loss,
}

/// Configs of last resort at most, behind the default.
const LAST_RESORT: usize = 4;

/// The quantities that a tree splits: fields, and features of problem and device alone.
pub(crate) fn quantities(kernel: &Kernel, problem: &Problem, device: &Device) -> Vec<f64> {
    let env = kernel.env(problem, Some(device));
    let derived = kernel.features.iter().filter(|f| f.known_after == 0).map(|f| f.expr.eval(&env));
    problem.values.iter().copied().chain(derived).collect()
}

impl Header {
    /// Asks `points` for the configs of `fixed` problems and of random ones within `ranges`.
    ///
    /// # Errors
    /// As [`Points::best`]; [`Error::Input`](seqtune_predict::Error::Input) where the ranges hold no problem.
    pub fn new(
        kernel: &Kernel,
        device: &Device,
        points: &dyn Points,
        fixed: &[Problem],
        ranges: &Ranges,
        options: &HeaderOptions,
    ) -> Result<Header> {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        let third = options.third();
        let random = ranges.sample(kernel, device, options.samples + 2 * third, &mut rng)?;
        let first = |problem: &Problem| -> Result<Point> {
            let found = points.best(problem, options.objective, 1)?;
            found.into_iter().next().ok_or_else(|| {
                seqtune_predict::Error::NoLegalConfig(format!("no config for {}", kernel.brief_problem(problem)))
            })
        };
        let answers: Vec<Point> = on_threads(&random, options.threads, first)?;
        let mut configs = frequent(&answers, options.configs);
        let judge = |(problem, first): &(&Problem, &Point)| -> Result<Sample> {
            let expected = points.expect(problem, options.objective, first, &configs)?;
            let losses = configs.iter().map(|config| {
                let point = expected.iter().find(|point| point.config == *config);
                point.map_or(f64::INFINITY, |point| loss(point, first, options.objective))
            });
            Ok(Sample { losses: losses.collect(), quantities: quantities(kernel, problem, device) })
        };
        let asked: Vec<(&Problem, &Point)> = random.iter().zip(&answers).collect();
        let samples = on_threads(&asked, options.threads, judge)?;
        let (grow, rest) = samples.split_at(options.samples);
        let (size, test) = rest.split_at(third);
        let tree = Tree::grow(grow, size, options.leaves);
        let last_resort = last_resort(kernel, &mut configs, grow);
        let loss = loss_on(&tree, grow, test);
        let mut header = Header {
            kernel: kernel.clone(),
            device: device.clone(),
            source: points.identity(),
            grounds: points.grounds(),
            ranges: ranges.words(kernel),
            configs,
            table: Vec::new(),
            tree,
            last_resort,
            loss,
        };
        for (problem, point) in fixed.iter().zip(on_threads(fixed, options.threads, first)?) {
            let at = header.place(point.config);
            header.table.push((problem.clone(), at));
        }
        header.tidy(&random[options.samples + third..], &answers[options.samples + third..]);
        Ok(header)
    }

    /// The place of a config in the list, to which it is added where it is new.
    fn place(&mut self, config: Config) -> usize {
        self.configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            self.configs.push(config);
            self.configs.len() - 1
        })
    }

    /// Puts the table in order, leaves configs out that nothing names, and counts how often the whole agrees with the model.
    fn tidy(&mut self, random: &[Problem], answers: &[Point]) {
        self.table.sort_by(|a, b| {
            let order = a.0.values.iter().zip(&b.0.values).map(|(a, b)| a.total_cmp(b));
            order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        self.table.dedup_by(|a, b| a.0 == b.0);
        let mut used: Vec<usize> =
            self.table.iter().map(|(_, at)| *at).chain(self.last_resort.iter().copied()).collect();
        for node in &self.tree.0 {
            if let tree::Node::Leaf(configs) = node {
                used.extend(configs);
            }
        }
        used.sort_unstable();
        used.dedup();
        let place = |at: &mut usize| *at = used.binary_search(at).unwrap_or(0);
        self.table.iter_mut().for_each(|(_, at)| place(at));
        self.last_resort.iter_mut().for_each(place);
        for node in &mut self.tree.0 {
            if let tree::Node::Leaf(configs) = node {
                configs.iter_mut().for_each(place);
            }
        }
        self.configs = used.iter().map(|at| self.configs[*at].clone()).collect();
        let chosen: Vec<Option<HeaderChoice>> = random.iter().map(|problem| self.by_tree(problem)).collect();
        let share = |count: usize| count as f64 / random.len().max(1) as f64;
        let agrees = chosen.iter().zip(answers).filter(|(c, a)| c.as_ref().is_some_and(|c| c.config == a.config));
        self.loss.agreement = share(agrees.count());
        let astray = chosen.iter().filter(|c| c.as_ref().is_none_or(|c| c.source == Source::LastResort));
        self.loss.last_resort = share(astray.count());
    }

    /// What the header answers; `None` where none of its configs is legal.
    pub fn choose(&self, problem: &Problem) -> Option<HeaderChoice> {
        match self.table.iter().find(|(known, _)| known == problem) {
            Some((_, at)) => Some(HeaderChoice { config: self.configs[*at].clone(), source: Source::Table }),
            None => self.by_tree(problem),
        }
    }

    fn by_tree(&self, problem: &Problem) -> Option<HeaderChoice> {
        let space = ConfigSpace::new(&self.kernel, problem, &self.device);
        let legal = |at: &&usize| space.is_legal(&self.configs[**at]);
        let leaf = self.tree.leaf(&quantities(&self.kernel, problem, &self.device));
        let by_leaf = leaf.iter().find(legal).map(|at| (*at, Source::Tree));
        let (at, source) = by_leaf.or_else(|| Some((*self.last_resort.iter().find(legal)?, Source::LastResort)))?;
        Some(HeaderChoice { config: self.configs[at].clone(), source })
    }

    /// Leaves of the tree.
    pub fn leaves(&self) -> usize {
        self.tree.leaves()
    }

    /// How much it names.
    pub fn sizes(&self) -> Sizes {
        Sizes { configs: self.configs.len(), fixed: self.table.len() }
    }
}

/// What a config loses against the first, as a logarithm.
fn loss(point: &Point, first: &Point, objective: Objective) -> f64 {
    let (time, energy) = (log_ratio(point.time_us, first.time_us), log_ratio(point.joules, first.joules));
    let loss = match objective {
        Objective::Time => time,
        Objective::Energy => energy.or(time),
        Objective::Edp => energy.zip(time).map(|(energy, time)| energy + time).or(time),
    };
    loss.map_or(0.0, |loss| loss.max(0.0))
}

/// The configs that come first most often.
fn frequent(answers: &[Point], most: usize) -> Vec<Config> {
    let mut counts: HashMap<&Config, usize> = HashMap::new();
    answers.iter().for_each(|answer| *counts.entry(&answer.config).or_default() += 1);
    let mut counts: Vec<(&Config, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts.into_iter().take(most).map(|(config, _)| config.clone()).collect()
}

/// The default, and those configs that are legal for most of the problems that are left.
fn last_resort(kernel: &Kernel, configs: &mut Vec<Config>, samples: &[Sample]) -> Vec<usize> {
    let mut left: Vec<&Sample> = samples.iter().collect();
    let mut chosen = Vec::new();
    while chosen.len() < LAST_RESORT && !left.is_empty() {
        let legal = |at: usize| left.iter().filter(|s| s.losses[at].is_finite()).count();
        let Some(best) = (0..configs.len()).max_by_key(|at| (legal(*at), std::cmp::Reverse(*at))) else { break };
        if legal(best) == 0 {
            break;
        }
        left.retain(|sample| !sample.losses[best].is_finite());
        chosen.push(best);
    }
    let default = kernel.default_config();
    let at = configs.iter().position(|config| *config == default).unwrap_or_else(|| {
        configs.push(default);
        configs.len() - 1
    });
    chosen.retain(|other| *other != at);
    chosen.insert(0, at);
    chosen
}

/// What a tree loses on `test`, beside one config for all that was chosen on `grown`.
fn loss_on(tree: &Tree, grown: &[Sample], test: &[Sample]) -> Loss {
    let lost = |loss: f64| 1.0 - (-loss).exp();
    let mut losses: Vec<f64> = test.iter().map(|sample| lost(tree.loss(sample))).collect();
    losses.sort_by(f64::total_cmp);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    let one = Tree::grow(grown, &[], 1);
    let by_one: Vec<f64> = test.iter().map(|sample| lost(one.loss(sample))).collect();
    Loss {
        problems: test.len(),
        mean: mean(&losses),
        p90: losses.get(losses.len() * 9 / 10).copied().unwrap_or_default(),
        one_config: mean(&by_one),
        ..Loss::default()
    }
}
