//! All legal settings of a kernel for a problem on a device.
//!
//! A constraint is checked as soon as the last parameter it names is set. [`ConfigSpace::completions`] looks ahead, so that a walk along its
//! answers never ends in a dead end; [`Counter`](crate::Counter) counts and draws.

pub(crate) mod blame;
pub(crate) mod checker;
pub(crate) mod choices;
pub(crate) mod counter;
pub(crate) mod counts;
pub(crate) mod instances;
pub(crate) mod look_ahead;

use crate::config::Config;
use crate::definition::{Constraint, Kernel};
use crate::devices::Device;
use crate::error::{Error, Result};
use crate::expressions::bounds::Interval;
use crate::expressions::compiled::Check;
use crate::parameter::Parameter;
use crate::problem::Problem;
use crate::space::choices::{Choice, Choices};
use crate::space::counts::Counts;
use crate::space::instances::Instances;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Settings in a row that a walk tries without finding a legal config, at most.
const FRUITLESS: usize = 10_000_000;

/// After so many it asks for counts.
const HARD: usize = 100_000;

/// The legal configs of one problem on one device.
pub struct ConfigSpace {
    /// Kernel whose parameters these are.
    pub kernel: Kernel,
    /// Slots with the parameters unset.
    env: Vec<f64>,
    /// Slots for evaluations that set what they read.
    slots: RefCell<Vec<f64>>,
    /// By position: the constraints that setting this parameter decides.
    pub(crate) checks: Vec<Vec<Arc<Check>>>,
    /// The position from which on nothing is checked.
    pub(crate) checked_to: usize,
    /// The kernel's instances that are legal here, where it has a table of them.
    live: Box<[u64]>,
    /// A constraint that problem and device alone break: then nothing is legal.
    pub(crate) impossible: Option<usize>,
    /// By position: constraints that are decided at it or later and read a parameter before it, as places in `checks`.
    pub(crate) pending: Vec<Vec<(usize, usize)>>,
    /// By position: constraints that read this parameter, in order, as places in `checks`.
    pub(crate) reading: Vec<Vec<(usize, usize)>>,
    /// By position: constraints that read this parameter and are decided later, as places in `checks`.
    pub(crate) later: Vec<Vec<(usize, usize)>>,
    /// By position: from the least to the greatest of its values.
    pub(crate) ranges: Vec<Interval>,
    /// What was counted.
    pub(crate) counts: RefCell<Counts>,
    /// Where a look-ahead that needed bounds found a legal config last.
    pub(crate) witness: RefCell<Vec<Choice>>,
    /// What all look-aheads that needed bounds evaluated so far.
    pub(crate) work: Cell<u64>,
}

impl ConfigSpace {
    /// The space of `problem` on `device`. Constraints that need a limit the device does not state are dropped.
    pub fn new(kernel: &Kernel, problem: &Problem, device: &Device) -> ConfigSpace {
        let env = kernel.env(problem, Some(device));
        let count = kernel.parameters.len();
        let mut checks: Vec<Vec<Arc<Check>>> = (0..count).map(|_| Vec::new()).collect();
        let (mut impossible, mut of_instances) = (None, Vec::new());
        let tabled = kernel.instances.as_ref();
        let written = kernel.constraints.len() - usize::from(tabled.is_some());
        for (i, constraint) in kernel.constraints[..written].iter().enumerate() {
            let named = (&kernel.parameters[..], &kernel.fields[..]);
            for check in kernel.compiled.checks((i, &constraint.expr), named, &env).iter() {
                match check.decided_after {
                    0 if check.code.eval(&env) != 1.0 => impossible = Some(i),
                    0 => {}
                    _ if tabled.is_some_and(|t| check.reads.iter().all(|s| t.parameters.contains(s))) => {
                        of_instances.push(check.clone());
                    }
                    after => checks[after - 1].push(check.clone()),
                }
            }
        }
        let live = tabled.map_or_else(Box::default, |t| {
            let mut holds = |env: &[f64]| of_instances.iter().all(|check| check.code.eval(env) == 1.0);
            t.live(&kernel.parameters, &mut env.clone(), &mut holds)
        });
        if tabled.is_some() && live.iter().all(|word| *word == 0) {
            impossible = impossible.or(Some(written));
        }
        let (mut later, mut pending) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut reading = vec![Vec::new(); count];
        for (position, checks) in checks.iter().enumerate() {
            for (index, check) in checks.iter().enumerate() {
                let earlier = check.reads.iter().filter(|s| **s < position);
                earlier.for_each(|s| later[*s].push((position, index)));
                if check.in_order {
                    check.reads.iter().for_each(|s| reading[*s].push((position, index)));
                }
                let first = check.reads.first().copied().unwrap_or(position);
                (first + 1..=position).for_each(|at| pending[at].push((position, index)));
            }
        }
        let range = |p: &Parameter| {
            let of = |pick: fn(f64, f64) -> f64, from| p.values.iter().map(|v| *v as f64).fold(from, pick);
            Interval::new(of(f64::min, f64::INFINITY), of(f64::max, f64::NEG_INFINITY))
        };
        ConfigSpace {
            checked_to: checks.iter().rposition(|checks| !checks.is_empty()).map_or(0, |last| last + 1),
            ranges: kernel.parameters.iter().map(range).collect(),
            kernel: kernel.clone(),
            slots: RefCell::new(env.clone()),
            env,
            checks,
            live,
            impossible,
            pending,
            reading,
            later,
            counts: RefCell::default(),
            witness: RefCell::default(),
            work: Cell::new(0),
        }
    }

    /// No more configs than this are legal: the product of the values that no constraint excludes by itself.
    pub(crate) fn at_most(&self) -> f64 {
        let mut bounds: Vec<Interval> = self.env.iter().map(|v| Interval::point(*v)).collect();
        bounds[..self.ranges.len()].copy_from_slice(&self.ranges);
        let mut stack = Vec::new();
        let mut may = |at: usize, value: i64| {
            bounds[at] = Interval::point(value as f64);
            let here = self.checks[at].iter().map(|check| &check.code);
            let later = self.later[at].iter().map(|(position, index)| &self.checks[*position][*index].code);
            let holds = here.chain(later).all(|code| code.bounds(&bounds, &mut stack).may_hold());
            bounds[at] = self.ranges[at];
            holds
        };
        let open = |(at, p): (usize, &Parameter)| p.values.iter().filter(|v| may(at, **v)).count() as f64;
        if self.impossible.is_some() { 0.0 } else { self.kernel.parameters.iter().enumerate().map(open).product() }
    }

    pub(crate) fn env_with(&self, prefix: &[Choice]) -> Vec<f64> {
        let mut env = self.env.clone();
        for (i, choice) in prefix.iter().enumerate() {
            env[i] = self.kernel.parameters[i].values[*choice as usize] as f64;
        }
        env
    }

    /// The values of the parameter after `prefix` that break no constraint so far: some may be dead ends.
    pub fn unbroken(&self, prefix: &[Choice]) -> Choices {
        let at = prefix.len();
        if self.impossible.is_some() {
            return Choices::default();
        }
        let parameters = &self.kernel.parameters;
        let tabled = self.kernel.instances.as_ref().and_then(|t| t.open(&self.live, prefix));
        let mut open = tabled.unwrap_or_else(|| Choices::up_to(parameters[at].values.len()));
        let mut slots = self.slots.borrow_mut();
        for check in &self.checks[at] {
            check.narrow(parameters, prefix, &mut slots, &mut open);
            if open.is_empty() {
                break;
            }
        }
        open
    }

    /// The first constraint that `config` breaks.
    pub fn broken(&self, config: &Config) -> Option<&Constraint> {
        let broken = self.impossible.or_else(|| {
            let env = self.env_with(&config.0);
            let here = self.checks.iter().flatten().find(|c| c.code.eval(&env) != 1.0).map(|c| c.constraint);
            here.or_else(|| self.broken_instance(config, &env))
        })?;
        Some(&self.kernel.constraints[broken])
    }

    /// Why a config's instance is not legal here, if it is not: the constraint that it breaks, or that it is in the table.
    fn broken_instance(&self, config: &Config, env: &[f64]) -> Option<usize> {
        match self.is_listed(&config.0) {
            true => None,
            false => self.kernel.constraints.iter().position(|constraint| constraint.is_broken(env)),
        }
    }

    /// Names of the instances that are legal here; none of a kernel without a table.
    pub fn instances(&self) -> impl Iterator<Item = &str> {
        self.kernel.instances.iter().flat_map(|t| t.names(&self.live))
    }

    /// Whether some instance that is legal here has the choices of a prefix; of a kernel without a table any has.
    pub(crate) fn is_listed(&self, prefix: &[Choice]) -> bool {
        let with = |t: &Instances| t.narrow(&self.live, prefix).iter().any(|word| *word != 0);
        self.kernel.instances.as_ref().is_none_or(with)
    }

    /// Appends the instances that are left behind a prefix, where the table states a parameter behind it.
    pub(crate) fn listed_key(&self, prefix: &[Choice], key: &mut Vec<u64>) {
        let later = |t: &&Instances| t.parameters.last().is_some_and(|last| *last >= prefix.len());
        if let Some(table) = self.kernel.instances.as_ref().filter(later) {
            key.extend(table.narrow(&self.live, prefix));
        }
    }

    /// The first constraint that `config` breaks: its text, the values of the parameters in it, and the reason.
    pub fn violation(&self, config: &Config) -> Option<String> {
        let constraint = self.broken(config)?;
        let mut values = Vec::new();
        constraint.expr.slots(&mut |s| {
            let shown = match self.kernel.parameters.get(s) {
                Some(p) => format!("{}={}", p.name, p.show(config.0[s] as usize)),
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
        let holds = |check: &Arc<Check>| check.code.eval(&env) == 1.0;
        self.impossible.is_none() && self.checks.iter().flatten().all(holds) && self.is_listed(&config.0)
    }

    /// Calls `visit` with each legal config in lexicographic order until it returns false.
    ///
    /// # Errors
    /// [`Error::Input`] where ten million settings in a row are illegal.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[Choice]) -> bool) -> Result<()> {
        self.for_each_behind(&[], visit)
    }

    /// As [`ConfigSpace::for_each`], of the configs that begin with `prefix`, which breaks no constraint.
    ///
    /// # Errors
    /// As [`ConfigSpace::for_each`].
    pub fn for_each_behind(&self, prefix: &[Choice], visit: &mut dyn FnMut(&[Choice]) -> bool) -> Result<()> {
        if self.impossible.is_some() {
            return Ok(());
        }
        let mut walk = Walk { space: self, fruitless: 0, prunes: false, visit };
        walk.go_on(&mut prefix.to_vec());
        let fruitless = walk.fruitless;
        match fruitless > FRUITLESS {
            true => Err(Error::Input(format!(
                "kernel {}: {FRUITLESS} settings in a row are illegal; order the parameters so that constraints decide earlier",
                self.kernel.name
            ))),
            false => Ok(()),
        }
    }
}

/// A walk through all legal configs.
struct Walk<'w> {
    space: &'w ConfigSpace,
    /// Settings in a row that led to none.
    fruitless: usize,
    /// Whether branches are cut where counting knows that nothing is behind them.
    prunes: bool,
    visit: &'w mut dyn FnMut(&[Choice]) -> bool,
}

impl Walk<'_> {
    /// Visits what is behind a prefix; whether to go on.
    fn go_on(&mut self, prefix: &mut Vec<Choice>) -> bool {
        let (space, at) = (self.space, prefix.len());
        if at == space.checks.len() {
            self.fruitless = 0;
            return (self.visit)(prefix);
        }
        self.prunes |= self.fruitless > HARD;
        if self.prunes && space.counts_behind(prefix).is_some_and(|counts| counts.iter().all(|n| *n == 0.0)) {
            return true;
        }
        self.fruitless += space.kernel.parameters[at].values.len();
        if self.fruitless > FRUITLESS {
            return false;
        }
        for choice in space.unbroken(prefix).iter() {
            prefix.push(choice);
            let go_on = self.go_on(prefix);
            prefix.pop();
            if !go_on {
                return false;
            }
        }
        true
    }
}
