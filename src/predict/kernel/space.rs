//! All legal settings of a kernel for a problem on a device, with exact look-ahead.
//!
//! A constraint is checked as soon as the last parameter it names is set. `completions` tries each value
//! and searches depth-first for one legal config behind it, so that a walk along its answers never ends in
//! a dead end. Counting and uniform sampling memoise on the part of a prefix that later constraints read.

use crate::error::{Error, Result};
use crate::kernel::choices::{Choice, Choices};
use crate::kernel::config::Config;
use crate::kernel::definition::{Constraint, Kernel};
use crate::kernel::device::Device;
use crate::kernel::expr::Expr;
use crate::kernel::names::decided_after;
use crate::kernel::problem::Problem;
use rand::Rng;
use std::collections::HashMap;
use std::rc::Rc;

/// Most settings that one look-ahead may try before the space counts as badly ordered.
pub const NODE_BUDGET: usize = 100_000;

struct Check {
    constraint: usize,
    code: Expr,
}

/// The legal configs of one problem on one device.
pub struct ConfigSpace {
    /// Kernel whose parameters these are.
    pub kernel: Kernel,
    /// Slots with the parameters unset.
    env: Vec<f64>,
    /// By position: the constraints that setting this parameter decides.
    checks: Vec<Vec<Check>>,
    /// A constraint that problem and device alone break: then nothing is legal.
    impossible: Option<usize>,
    /// By position: the parameters before it that constraints decided at it or later read.
    read_later: Vec<Vec<usize>>,
}

impl ConfigSpace {
    /// The space of `problem` on `device`. Constraints that need a limit the device does not state are dropped.
    pub fn new(kernel: &Kernel, problem: &Problem, device: &Device) -> ConfigSpace {
        let env = kernel.env(problem, Some(device));
        let count = kernel.parameters.len();
        let mut checks: Vec<Vec<Check>> = (0..count).map(|_| Vec::new()).collect();
        let mut impossible = None;
        let mut named = vec![Vec::new(); count];
        for (i, constraint) in kernel.constraints.iter().enumerate() {
            let mut unknown = false;
            constraint.expr.slots(&mut |s| unknown |= env[s].is_nan());
            if unknown {
                continue;
            }
            let expr = constraint.expr.specialise(&env, count);
            match decided_after(&expr, count) {
                0 if expr.eval(&env) != 1.0 => impossible = Some(i),
                0 => {}
                after => {
                    expr.slots(&mut |s| named[after - 1].push(s));
                    checks[after - 1].push(Check { constraint: i, code: expr });
                }
            }
        }
        let read_later = (0..count)
            .map(|at| {
                let mut slots: Vec<usize> = named[at..].iter().flatten().copied().filter(|s| *s < at).collect();
                slots.sort_unstable();
                slots.dedup();
                slots
            })
            .collect();
        ConfigSpace { kernel: kernel.clone(), env, checks, impossible, read_later }
    }

    fn env_with(&self, prefix: &[Choice]) -> Vec<f64> {
        let mut env = self.env.clone();
        for (i, choice) in prefix.iter().enumerate() {
            env[i] = self.kernel.parameters[i].values[*choice as usize] as f64;
        }
        env
    }

    fn passes(&self, at: usize, env: &[f64]) -> bool {
        self.checks[at].iter().all(|c| c.code.eval(env) == 1.0)
    }

    /// The values of the parameter after `prefix` that can still be completed to a legal config.
    ///
    /// `prefix` must itself have come from `completions`, or be empty. Errors where the look-ahead needs more than
    /// 100,000 nodes: then the kernel's parameters are badly ordered.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub fn completions(&self, prefix: &[Choice]) -> Result<Choices> {
        if self.impossible.is_some() {
            return Ok(Choices::default());
        }
        let mut env = self.env_with(prefix);
        let at = prefix.len();
        let mut open = Choices::default();
        let mut nodes = 0;
        for (i, value) in self.kernel.parameters[at].values.iter().enumerate() {
            env[at] = *value as f64;
            if self.passes(at, &env) && self.completable(&mut env, at + 1, &mut nodes) {
                open.insert(i as Choice);
            }
        }
        if nodes > NODE_BUDGET {
            return Err(Error::Input(format!(
                "kernel {}: after {} parameters the look-ahead tried {nodes} settings; order the parameters so that constraints decide earlier",
                self.kernel.name,
                prefix.len()
            )));
        }
        Ok(open)
    }

    /// The values of the parameter after `prefix` that break no constraint so far: some may be dead ends.
    pub fn unbroken(&self, prefix: &[Choice]) -> Choices {
        let mut env = self.env_with(prefix);
        let at = prefix.len();
        let mut open = Choices::default();
        for (i, value) in self.kernel.parameters[at].values.iter().enumerate() {
            env[at] = *value as f64;
            if self.impossible.is_none() && self.passes(at, &env) {
                open.insert(i as Choice);
            }
        }
        open
    }

    /// Settings tried by the look-ahead of `completions(prefix)`.
    pub fn look_ahead_nodes(&self, prefix: &[Choice]) -> usize {
        let mut env = self.env_with(prefix);
        let mut nodes = 0;
        for value in &self.kernel.parameters[prefix.len()].values {
            env[prefix.len()] = *value as f64;
            if self.passes(prefix.len(), &env) {
                self.completable(&mut env, prefix.len() + 1, &mut nodes);
            }
        }
        nodes
    }

    fn completable(&self, env: &mut [f64], at: usize, nodes: &mut usize) -> bool {
        if at == self.checks.len() {
            return true;
        }
        for value in &self.kernel.parameters[at].values {
            *nodes += 1;
            env[at] = *value as f64;
            if self.passes(at, env) && self.completable(env, at + 1, nodes) {
                return true;
            }
            if *nodes > NODE_BUDGET {
                return false;
            }
        }
        false
    }

    /// The first constraint that `config` breaks.
    pub fn broken(&self, config: &Config) -> Option<&Constraint> {
        let broken = self.impossible.or_else(|| {
            let env = self.env_with(&config.0);
            self.checks.iter().flatten().find(|c| c.code.eval(&env) != 1.0).map(|c| c.constraint)
        })?;
        Some(&self.kernel.constraints[broken])
    }

    /// The first constraint that `config` breaks: its text, the values of the parameters in it, and the reason.
    pub fn violation(&self, config: &Config) -> Option<String> {
        let constraint = self.broken(config)?;
        let mut values = Vec::new();
        constraint.expr.slots(&mut |s| {
            let shown = match self.kernel.parameters.get(s) {
                Some(p) => format!("{}={}", p.name, p.values[config.0[s] as usize]),
                None => return,
            };
            if !values.contains(&shown) {
                values.push(shown);
            }
        });
        Some(format!("{} ({}; {})", constraint.reason, constraint.text, values.join(", ")))
    }

    /// Whether every constraint holds.
    pub fn is_legal(&self, config: &Config) -> bool {
        let env = self.env_with(&config.0);
        self.impossible.is_none() && (0..config.0.len()).all(|at| self.passes(at, &env))
    }

    /// Calls `visit` with each legal config in lexicographic order until it returns false.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[Choice]) -> bool) {
        if self.impossible.is_none() {
            self.walk(&mut self.env.clone(), &mut Vec::new(), visit);
        }
    }

    /// As [`ConfigSpace::for_each`], of the configs that begin with `prefix`, which breaks no constraint.
    pub fn for_each_behind(&self, prefix: &[Choice], visit: &mut dyn FnMut(&[Choice]) -> bool) {
        if self.impossible.is_none() {
            self.walk(&mut self.env_with(prefix), &mut prefix.to_vec(), visit);
        }
    }

    fn walk(&self, env: &mut [f64], prefix: &mut Vec<Choice>, visit: &mut dyn FnMut(&[Choice]) -> bool) -> bool {
        let at = prefix.len();
        if at == self.checks.len() {
            return visit(prefix);
        }
        for (i, value) in self.kernel.parameters[at].values.iter().enumerate() {
            env[at] = *value as f64;
            if self.passes(at, env) {
                prefix.push(i as Choice);
                let go_on = self.walk(env, prefix, visit);
                prefix.pop();
                if !go_on {
                    return false;
                }
            }
        }
        true
    }

    /// A counter over this space, for sizes and uniform samples.
    pub fn counter(&self) -> Counter<'_> {
        Counter { space: self, memo: HashMap::new() }
    }
}

/// A position and the choices before it that constraints from it on read.
type MemoKey = (u8, Box<[Choice]>);

/// Counts the legal configs behind a prefix, and draws uniformly from them.
pub struct Counter<'s> {
    space: &'s ConfigSpace,
    /// Counts per value, by position and the choices that later constraints read.
    memo: HashMap<MemoKey, Rc<[u64]>>,
}

impl Counter<'_> {
    /// Number of legal configs.
    pub fn total(&mut self) -> u64 {
        self.behind(&mut Vec::new()).iter().sum()
    }

    /// For each value of the parameter after `prefix`, the number of legal configs behind it.
    fn behind(&mut self, prefix: &mut Vec<Choice>) -> Rc<[u64]> {
        let space = self.space;
        let at = prefix.len();
        let key = (at as u8, space.read_later[at].iter().map(|s| prefix[*s]).collect::<Box<[Choice]>>());
        if let Some(counts) = self.memo.get(&key) {
            return counts.clone();
        }
        let values = &space.kernel.parameters[at].values;
        let mut counts = vec![0; values.len()];
        let mut env = space.env_with(prefix);
        for (i, value) in values.iter().enumerate() {
            env[at] = *value as f64;
            if space.impossible.is_none() && space.passes(at, &env) {
                prefix.push(i as Choice);
                counts[i] = if prefix.len() == space.checks.len() { 1 } else { self.behind(prefix).iter().sum() };
                prefix.pop();
            }
        }
        let counts: Rc<[u64]> = counts.into();
        self.memo.insert(key, counts.clone());
        counts
    }

    /// One legal config, each with the same probability; `None` where nothing is legal.
    pub fn sample(&mut self, rng: &mut impl Rng) -> Option<Config> {
        let mut prefix = Vec::new();
        while prefix.len() < self.space.checks.len() {
            let counts = self.behind(&mut prefix);
            let total: u64 = counts.iter().sum();
            if total == 0 {
                return None;
            }
            let mut left = rng.random_range(0..total);
            let choice = counts.iter().position(|c| {
                let here = left < *c;
                left = left.saturating_sub(*c);
                here
            });
            prefix.push(choice? as Choice);
        }
        Some(Config(prefix))
    }

    /// Up to `n` different legal configs, drawn uniformly without replacement; all of them where there are no more.
    pub fn sample_distinct(&mut self, n: usize, rng: &mut impl Rng) -> Vec<Config> {
        let total = self.total();
        if total <= n as u64 {
            let mut all = Vec::new();
            self.space.for_each(&mut |c| {
                all.push(Config(c.to_vec()));
                true
            });
            return all;
        }
        let mut seen = std::collections::HashSet::new();
        let mut drawn = Vec::new();
        while drawn.len() < n {
            match self.sample(rng) {
                Some(config) if seen.insert(config.clone()) => drawn.push(config),
                Some(_) => {}
                None => break,
            }
        }
        drawn
    }
}
