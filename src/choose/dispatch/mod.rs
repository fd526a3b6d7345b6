//! Choices as source code: a table for fixed problems, and a decision tree for all others, grown on a model's own answers or made of the
//! intervals of a changing size. It is written as a C++17 header, as a Rust module or as a Python module.

mod code;
#[cfg(test)]
mod compiled;
mod cpp;
mod growth;
mod languages;
mod lines;
#[cfg(test)]
mod other_languages;
mod python;
mod rust;

pub(crate) mod tree;

use seqtune_kernel::ConfigSpace;
use seqtune_predict::{Config, Device, Kernel, Objective, Problem};
use tree::Tree;

/// What a text of ours begins with behind the sign of a comment, to be known again before it is replaced.
pub const MARK: &str = "Made by seqtune";

/// How a dispatch is made.
#[derive(Clone, Debug)]
pub struct DispatchOptions {
    /// Random problems that the tree grows on; a third as many decide its size, and as many judge it.
    pub samples: usize,
    /// Leaves of the tree at most.
    pub leaves: usize,
    /// Configs that leaves choose among at most.
    pub configs: usize,
    /// The configs that are built, if not all: no other is chosen.
    pub only: Option<Vec<Config>>,
    /// Quantity that is minimised.
    pub objective: Objective,
    /// Seed of the random problems.
    pub seed: u64,
    /// Threads that the model is asked on.
    pub threads: usize,
}

impl Default for DispatchOptions {
    fn default() -> DispatchOptions {
        DispatchOptions {
            samples: 1_500,
            leaves: 64,
            configs: 96,
            only: None,
            objective: Objective::Time,
            seed: 1,
            threads: 1,
        }
    }
}

impl DispatchOptions {
    /// Random problems that decide the tree's size, and as many that judge it.
    fn third(&self) -> usize {
        self.samples.div_ceil(3)
    }

    /// How often a dispatch of so many fixed problems asks its points.
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

/// A problem whose config is known.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedChoice {
    /// The problem.
    pub problem: Problem,
    /// Its config.
    pub config: Config,
}

/// What a dispatch answers to a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchChoice {
    /// Legal config.
    pub config: Config,
    /// Where it came from.
    pub source: Source,
}

/// How much a dispatch names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Configs.
    pub configs: usize,
    /// Fixed problems.
    pub fixed: usize,
}

/// Choices that need no model, for looking at them without a compiler.
pub struct Dispatch {
    pub(crate) kernel: Kernel,
    pub(crate) device: Device,
    pub(crate) source: String,
    /// What the choices rest on, in words.
    pub(crate) grounds: String,
    /// Sentences on how the tree came about.
    pub(crate) basis: Vec<String>,
    pub(crate) configs: Vec<Config>,
    /// Whether the tree is that of lines, which is written as a chain of `if`s.
    pub(crate) is_by_lines: bool,
    /// Fixed problems in the order of their values, each with the place of its config.
    pub(crate) table: Vec<(Problem, usize)>,
    pub(crate) tree: Tree,
    /// Configs that are tried where none of a leaf is legal: the kernel's default, then those that are legal most often.
    pub(crate) last_resort: Vec<usize>,
    /// What the tree loses.
    pub loss: Loss,
}

/// Configs of last resort at most, behind the default.
pub(crate) const LAST_RESORT: usize = 4;

/// The quantities that a tree splits: fields, and features of problem and device alone.
pub(crate) fn quantities(kernel: &Kernel, problem: &Problem, device: &Device) -> Vec<f64> {
    let env = kernel.env(problem, Some(device));
    let derived = kernel.features.iter().filter(|f| f.known_after == 0).map(|f| f.expr.eval(&env));
    problem.values.iter().copied().chain(derived).collect()
}

impl Dispatch {
    /// The place of a config in the list, to which it is added where it is new.
    fn place(&mut self, config: Config) -> usize {
        self.configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            self.configs.push(config);
            self.configs.len() - 1
        })
    }

    /// Puts problems into the table, each with its config, which is taken without asking the tree.
    ///
    /// Configs that were named before and are no more stay until [`Dispatch::tidy`].
    pub(crate) fn put(&mut self, fixed: impl Iterator<Item = FixedChoice>) {
        for FixedChoice { problem, config } in fixed {
            let at = self.place(config);
            self.table.push((problem, at));
        }
    }

    /// With a table of problems whose choices are known, in the place of the one that it has.
    pub fn with_table(mut self, fixed: impl Iterator<Item = FixedChoice>) -> Dispatch {
        self.table.clear();
        self.put(fixed);
        self.tidy();
        self
    }

    /// Puts the table in order, and leaves configs out that nothing names.
    pub(crate) fn tidy(&mut self) {
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
    }

    /// Sentences for the head of a file; the first begins with what is known of where it comes from.
    pub(crate) fn head(&self) -> Vec<String> {
        let Sizes { configs, fixed } = self.sizes();
        let made = format!("{MARK} {}: kernel {}", env!("CARGO_PKG_VERSION"), self.kernel.name);
        let mut lines = vec![
            match self.grounds.is_empty() {
                true => format!("{made}, device {}.", self.device.name),
                false => format!("{made}, {}.", self.grounds),
            },
            format!("Model {}, space {}.", self.source, self.kernel.space_hash_on(&self.device)),
            format!(
                "{fixed} fixed problems in a table, all others by a tree of {} leaves; {configs} configs.",
                self.leaves()
            ),
        ];
        lines.extend(self.basis.iter().cloned());
        lines.push(
            "A config is returned only where every constraint of the kernel holds for the problem on that device."
                .into(),
        );
        lines
    }

    /// What it answers; `None` where none of its configs is legal.
    pub fn choose(&self, problem: &Problem) -> Option<DispatchChoice> {
        match self.table.iter().find(|(known, _)| known == problem) {
            Some((_, at)) => Some(DispatchChoice { config: self.configs[*at].clone(), source: Source::Table }),
            None => self.by_tree(problem),
        }
    }

    fn by_tree(&self, problem: &Problem) -> Option<DispatchChoice> {
        self.choose_where(problem, &|_| true)
    }

    /// What the tree answers where only some configs may be taken; `None` where none of these that it names is legal.
    pub fn choose_where(&self, problem: &Problem, may: &dyn Fn(&Config) -> bool) -> Option<DispatchChoice> {
        let space = ConfigSpace::new(&self.kernel, problem, &self.device);
        let legal = |at: &&usize| space.is_legal(&self.configs[**at]) && may(&self.configs[**at]);
        let leaf = self.tree.leaf(&quantities(&self.kernel, problem, &self.device));
        let by_leaf = leaf.iter().find(legal).map(|at| (*at, Source::Tree));
        let (at, source) = by_leaf.or_else(|| Some((*self.last_resort.iter().find(legal)?, Source::LastResort)))?;
        Some(DispatchChoice { config: self.configs[at].clone(), source })
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
