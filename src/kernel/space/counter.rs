//! How many configs are legal, and draws from them.
//!
//! Counts memoise on what later constraints make of a prefix, so that a constraint on a sum of sixty parameters is counted too. Below 2^53 they are exact, above rounded as `f64` is. A space whose
//! constraints entangle too many parameters is not counted, but bounded from above, and drawn from by look-ahead.

use crate::config::Config;
use crate::error::Result;
use crate::expressions::compiled::Check;
use crate::expressions::machine::Machine;
use crate::space::ConfigSpace;
use crate::space::choices::Choice;
use crate::space::counts::{Counts, Key};
use rand::Rng;
use std::collections::HashSet;
use std::sync::Arc;

/// Up to here every whole number is an `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Draws in a row that find nothing new before drawing ends, where it is not known how many there are.
const FRUITLESS: usize = 10_000;

/// A number of legal configs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// So many.
    Exactly(u64),
    /// So many, rounded: more than an integer of 53 bits holds.
    About(f64),
    /// Not counted within the budget: no more than this, and perhaps none.
    AtMost(f64),
}

impl Count {
    /// The number, exact or rounded; `None` where it was not counted.
    pub fn known_number(self) -> Option<f64> {
        match self {
            Count::Exactly(n) => Some(n as f64),
            Count::About(n) => Some(n),
            Count::AtMost(_) => None,
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Count::Exactly(n) => write!(f, "{n}"),
            Count::About(n) => write!(f, "about {n:.3e}"),
            Count::AtMost(n) => write!(f, "at most {n:.3e}"),
        }
    }
}

impl ConfigSpace {
    /// A counter over this space, for sizes and uniform samples.
    pub fn counter(&self) -> Counter<'_> {
        Counter { space: self }
    }

    /// For each value of the parameter after `prefix`, the number of legal configs behind it; `None` where that was not counted within the
    /// budget.
    pub(crate) fn counts_behind(&self, prefix: &[Choice]) -> Option<Arc<[f64]>> {
        let mut counts = self.counts.borrow_mut();
        let mut counting = Counting::after(self, prefix, &mut counts);
        counting.count(prefix.len())?;
        counting.remembered_counts(prefix.len())
    }

    /// Every legal config, of a space that was counted, in lexicographic order and without a step aside.
    fn list_configs(&self) -> Vec<Config> {
        let mut all = Vec::new();
        Counting::after(self, &[], &mut self.counts.borrow_mut()).list(&mut Vec::new(), &mut all);
        all
    }
}

/// A count in the making.
struct Counting<'c> {
    space: &'c ConfigSpace,
    counts: &'c mut Counts,
    env: Vec<f64>,
    /// The choices behind `env`.
    path: Vec<Choice>,
    /// By position and index, how far the constraints that read their parameters in order are evaluated.
    machines: Vec<Vec<Machine>>,
    /// The key that was made last.
    key: Vec<u64>,
}

impl<'c> Counting<'c> {
    /// Behind a prefix.
    fn after(space: &'c ConfigSpace, prefix: &[Choice], counts: &'c mut Counts) -> Counting<'c> {
        let machines = space.checks.iter().map(|checks| vec![Machine::BEGIN; checks.len()]).collect();
        let mut path = vec![0; space.checks.len()];
        path[..prefix.len()].copy_from_slice(prefix);
        let mut counting = Counting { space, counts, env: space.env_with(prefix), path, machines, key: Vec::new() };
        for at in 0..prefix.len() {
            space.reading[at].iter().for_each(|place| counting.advance(place.0, place.1, at));
        }
        counting
    }

    /// The counts that are remembered of each value at `at`.
    fn remembered_counts(&mut self, at: usize) -> Option<Arc<[f64]>> {
        self.make_key(at);
        self.counts.memo.get(&self.key[..]).map(|(counts, _)| counts.clone())
    }

    /// Appends the legal configs behind a prefix to `all`.
    fn list(&mut self, prefix: &mut Vec<Choice>, all: &mut Vec<Config>) {
        let (space, at) = (self.space, prefix.len());
        if at == space.checks.len() {
            return all.push(Config(prefix.clone()));
        }
        let counts = self.remembered_counts(at).unwrap_or_default();
        let before: Vec<Machine> = space.reading[at].iter().map(|(p, i)| self.machines[*p][*i]).collect();
        for (choice, _) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            self.env[at] = space.kernel.parameters[at].values[choice] as f64;
            self.path[at] = choice as Choice;
            for (place, machine) in space.reading[at].iter().zip(&before) {
                self.machines[place.0][place.1] = *machine;
                self.advance(place.0, place.1, at);
            }
            prefix.push(choice as Choice);
            self.list(prefix, all);
            prefix.pop();
        }
        space.reading[at].iter().zip(&before).for_each(|((p, i), machine)| self.machines[*p][*i] = *machine);
    }

    /// Goes on with a constraint once the parameter at `at` is set.
    fn advance(&mut self, position: usize, index: usize, at: usize) {
        let code = &self.space.checks[position][index].code;
        self.machines[position][index].advance(code, &self.env, at + 1);
    }

    /// What the constraints that are decided at `at` or later make of the parameters before it: prefixes that agree in this have the same
    /// configs behind them. Of a constraint that reads its parameters in order it is where evaluation waits for the next one, and what it
    /// holds there: of a sum, the sum so far.
    fn make_key(&mut self, at: usize) {
        let key = &mut self.key;
        key.clear();
        key.push(at as u64);
        // which instances are left, where the table states what is set later
        self.space.listed_key(&self.path[..at], key);
        for (position, index) in &self.space.pending[at] {
            let check = &self.space.checks[*position][*index];
            match check.in_order {
                true => self.machines[*position][*index].state(key),
                false => check.reads.iter().filter(|s| **s < at).for_each(|s| key.push(self.env[*s].to_bits())),
            }
        }
    }

    fn passes(&self, at: usize) -> bool {
        self.space.checks[at].iter().zip(&self.machines[at]).all(|(check, machine)| {
            let value = if check.in_order { machine.value() } else { check.code.eval(&self.env) };
            value == 1.0
        })
    }

    /// The number of legal configs behind the parameters before `at`; those of each of its values are remembered.
    fn count(&mut self, at: usize) -> Option<f64> {
        self.make_key(at);
        if let Some((_, total)) = self.counts.memo.get(&self.key[..]) {
            return Some(*total);
        }
        let key: Key = self.key.clone().into();
        let space = self.space;
        let values = &space.kernel.parameters[at].values;
        let parts = |check: &Arc<Check>| if check.in_order { 4 } else { check.code.nodes() };
        let parts: usize = space.checks[at].iter().map(parts).sum::<usize>() + 4 * space.reading[at].len();
        let bytes = 8 * (values.len() + key.len()) + 96;
        if self.counts.over || !self.counts.spend(values.len(), bytes, (values.len() * (20 + parts)) as u64) {
            return None;
        }
        let reading = &space.reading[at];
        let before: Vec<Machine> = reading.iter().map(|(p, i)| self.machines[*p][*i]).collect();
        let mut behind = vec![0.0; values.len()];
        for (choice, (value, count)) in values.iter().zip(&mut behind).enumerate() {
            self.env[at] = *value as f64;
            self.path[at] = choice as Choice;
            for (place, machine) in reading.iter().zip(&before) {
                self.machines[place.0][place.1] = *machine;
                self.advance(place.0, place.1, at);
            }
            if space.impossible.is_none() && self.passes(at) && space.is_listed(&self.path[..=at]) {
                *count = match at + 1 == space.checks.len() {
                    true => 1.0,
                    false => self.count(at + 1)?,
                };
            }
        }
        reading.iter().zip(&before).for_each(|((p, i), machine)| self.machines[*p][*i] = *machine);
        let total = behind.iter().sum();
        self.counts.memo.insert(key, (behind.into(), total));
        Some(total)
    }
}

/// Counts the legal configs of a space, and draws uniformly from them.
pub struct Counter<'s> {
    space: &'s ConfigSpace,
}

impl Counter<'_> {
    /// Number of legal configs.
    pub fn total(&mut self) -> Count {
        match self.space.counts_behind(&[]).map(|counts| counts.iter().sum::<f64>()) {
            Some(total) if total < EXACT => Count::Exactly(total as u64),
            Some(total) if total.is_finite() => Count::About(total),
            _ => match self.space.at_most() {
                0.0 => Count::Exactly(0),
                most => Count::AtMost(most),
            },
        }
    }

    /// One legal config, `None` where nothing is legal: each with the same probability where the space can be counted, otherwise parameter by
    /// parameter, each legal value with the same probability.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the space can neither be counted nor looked ahead in.
    pub fn sample(&mut self, rng: &mut impl Rng) -> Result<Option<Config>> {
        let mut prefix = Vec::new();
        while prefix.len() < self.space.checks.len() {
            let counts = self.space.counts_behind(&prefix);
            let total: f64 = counts.iter().flat_map(|counts| counts.iter()).sum();
            let Some(counts) = counts.filter(|_| total.is_finite()) else {
                let open: Vec<Choice> = self.space.completions(&prefix)?.iter().collect();
                if open.is_empty() {
                    return Ok(None);
                }
                prefix.push(open[rng.random_range(0..open.len())]);
                continue;
            };
            if total == 0.0 {
                return Ok(None);
            }
            let mut left = match total < EXACT {
                true => rng.random_range(0..total as u64) as f64,
                false => rng.random::<f64>() * total,
            };
            let choice = counts.iter().position(|count| {
                let here = left < *count;
                left -= if here { 0.0 } else { *count };
                here
            });
            // rounding may step over the last of them
            let last = || counts.iter().rposition(|count| *count > 0.0);
            let Some(choice) = choice.or_else(last) else { return Ok(None) };
            prefix.push(choice as Choice);
        }
        Ok(Some(Config(prefix)))
    }

    /// Up to `n` different legal configs, drawn as by [`Counter::sample`] without replacement; all of them where there are no more.
    ///
    /// # Errors
    /// As [`Counter::sample`].
    pub fn sample_distinct(&mut self, n: usize, rng: &mut impl Rng) -> Result<Vec<Config>> {
        let total = self.total();
        if total.known_number().is_some_and(|total| total <= n as f64) {
            return Ok(self.space.list_configs());
        }
        let (mut seen, mut drawn, mut fruitless) = (HashSet::new(), Vec::new(), 0);
        while drawn.len() < n {
            match self.sample(rng)? {
                Some(config) if seen.insert(config.clone()) => {
                    drawn.push(config);
                    fruitless = 0;
                }
                Some(_) if total.known_number().is_some() || fruitless < FRUITLESS => fruitless += 1,
                _ => break,
            }
        }
        Ok(drawn)
    }
}
