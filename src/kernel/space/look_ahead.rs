//! Which values of a parameter can still become a legal config: exactly, or not at all.
//!
//! A search in depth finds one legal config behind each value. Most spaces need hardly more settings than parameters. Where that does not
//! do, the search goes on with bounds: what is still open is an interval, and a constraint that its bounds exclude ends a branch early. Both
//! are exact, and so is counting, which comes last. What none of them decides within the budget is an error that names the constraint in the
//! way.

use crate::error::{Error, Result};
use crate::expressions::bounds::Interval;
use crate::space::ConfigSpace;
use crate::space::choices::{Choice, Choices};

/// Most settings that one look-ahead may try behind one value before the space counts as too entangled.
pub const NODE_BUDGET: usize = 100_000;

/// Settings that a search without bounds may try behind one value.
const PLAIN_NODES: usize = 2_000;

/// Parts of expressions that all look-aheads of one space that need bounds may evaluate: a fifth of a second.
const WORK_BUDGET: u64 = 50_000_000;

/// A part of an expression within bounds costs so many without.
const BOUNDS_COST: u64 = 6;

/// What a search says.
enum Found {
    Legal,
    None,
    /// The budget was spent.
    Unknown,
}

/// A search with its budget.
struct Search<'s> {
    space: &'s ConfigSpace,
    /// Settings tried, and how many may be.
    nodes: usize,
    most: usize,
    work: u64,
    /// By constraint: the settings that it ended, where bounds were needed.
    ended: Vec<usize>,
    /// Choices that led to a legal config last: most that are looked for lie near. Known where bounds were needed.
    witness: Option<Vec<Choice>>,
    /// The prefix, and what is tried behind it.
    path: Vec<Choice>,
    stack: Vec<Interval>,
}

impl ConfigSpace {
    /// The values of the parameter after `prefix` that can still be completed to a legal config.
    ///
    /// `prefix` must itself have come from `completions`, or be empty.
    ///
    /// # Errors
    /// [`Error::Input`] that names the constraint where the constraints are too entangled to look ahead: 100,000 settings do not decide a
    /// value, or about a second does not decide those of one problem.
    pub fn completions(&self, prefix: &[Choice]) -> Result<Choices> {
        let open = self.unbroken(prefix);
        let (at, mut left) = (prefix.len(), open);
        if at + 1 >= self.checked_to {
            return Ok(open);
        }
        let mut search = Search::new(self, prefix);
        for choice in open.iter() {
            match search.find_behind(at, choice) {
                Found::Legal => {}
                Found::None => left.remove(choice),
                // once for all: what was counted is known from then on
                Found::Unknown => match self.counts_behind(prefix) {
                    Some(counts) => {
                        (0..)
                            .zip(counts.iter())
                            .filter(|(_, n)| **n == 0.0)
                            .for_each(|(choice, _)| left.remove(choice));
                        break;
                    }
                    None => return Err(self.too_entangled(prefix.len(), &search)),
                },
            }
        }
        self.work.set(self.work.get() + search.work);
        if let Some(witness) = search.witness {
            self.witness.replace(witness);
        }
        Ok(left)
    }

    /// Settings tried by the look-ahead of `completions(prefix)`.
    pub fn look_ahead_nodes(&self, prefix: &[Choice]) -> usize {
        let mut search = Search::new(self, prefix);
        for choice in self.unbroken(prefix).iter() {
            search.find_behind(prefix.len(), choice);
        }
        search.nodes
    }

    fn too_entangled(&self, set: usize, search: &Search) -> Error {
        let worst = (0..search.ended.len()).max_by_key(|i| search.ended[*i]);
        let constraint =
            worst.map_or(String::new(), |i| format!("; most were ended by `{}`", self.kernel.constraints[i]));
        Error::Input(format!(
            "kernel {}: after {set} parameters {} settings did not decide whether a legal config is left{constraint}; order the parameters so \
             that constraints decide earlier",
            self.kernel.name, search.nodes
        ))
    }
}

impl Search<'_> {
    fn new<'s>(space: &'s ConfigSpace, prefix: &[Choice]) -> Search<'s> {
        let mut path = vec![0; space.ranges.len()];
        path[..prefix.len()].copy_from_slice(prefix);
        Search { space, nodes: 0, most: 0, work: 0, ended: Vec::new(), witness: None, path, stack: Vec::new() }
    }

    /// Whether a legal config is behind the prefix with a `choice` of the parameter at `at`, which break nothing.
    fn find_behind(&mut self, at: usize, choice: Choice) -> Found {
        self.path[at] = choice;
        self.most = self.nodes + PLAIN_NODES;
        match self.plain(at + 1) {
            Found::Unknown => self.behind_bounds(at),
            decided => decided,
        }
    }

    /// As [`Search::behind`], where bounds are needed.
    fn behind_bounds(&mut self, at: usize) -> Found {
        self.most = self.nodes + NODE_BUDGET;
        self.ended.resize(self.space.kernel.constraints.len(), 0);
        self.witness.get_or_insert_with(|| self.space.witness.borrow().clone());
        let mut env = self.space.env_with(&self.path[..=at]);
        let mut bounds: Vec<Interval> = env.iter().map(|v| Interval::point(*v)).collect();
        for (i, range) in self.space.ranges.iter().enumerate().skip(at + 1) {
            bounds[i] = *range;
        }
        // those that the parameters set so far read, and that are not decided yet
        for earlier in 0..=at {
            if !self.may_hold(&bounds, earlier, at + 1) {
                return Found::None;
            }
        }
        self.search_bounded(&mut env, &mut bounds, at + 1)
    }

    fn is_spent(&self) -> bool {
        self.nodes >= self.most || self.space.work.get() + self.work > WORK_BUDGET
    }

    fn passes(&mut self, env: &[f64], at: usize) -> bool {
        self.nodes += 1;
        for check in &self.space.checks[at] {
            self.work += check.code.nodes() as u64;
            if check.code.eval(env) != 1.0 {
                self.ended[check.constraint] += 1;
                return false;
            }
        }
        true
    }

    /// Without bounds. What is easy may be asked for as often as somebody likes: it spends none of the space's work.
    fn plain(&mut self, at: usize) -> Found {
        if at >= self.space.checked_to {
            return Found::Legal;
        }
        // those that break something count as tried
        let mut tried = 0;
        for choice in self.space.unbroken(&self.path[..at]).iter() {
            self.nodes += choice as usize + 1 - tried;
            tried = choice as usize + 1;
            self.path[at] = choice;
            match self.plain(at + 1) {
                Found::None => {}
                decided => return decided,
            }
        }
        self.nodes += self.space.kernel.parameters[at].values.len() - tried;
        match self.is_spent() {
            true => Found::Unknown,
            false => Found::None,
        }
    }

    /// Whether the constraints that read parameter `at`, and are decided at `from` or later, can hold.
    fn may_hold(&mut self, bounds: &[Interval], at: usize, from: usize) -> bool {
        for (position, index) in &self.space.later[at] {
            if *position < from {
                continue;
            }
            let check = &self.space.checks[*position][*index];
            self.work += BOUNDS_COST * check.code.nodes() as u64;
            if !check.code.bounds(bounds, &mut self.stack).may_hold() {
                self.ended[check.constraint] += 1;
                return false;
            }
        }
        true
    }

    fn search_bounded(&mut self, env: &mut [f64], bounds: &mut [Interval], at: usize) -> Found {
        if at >= self.space.checked_to {
            self.witness = Some(self.path.clone());
            return Found::Legal;
        }
        let values = &self.space.kernel.parameters[at].values;
        let first = self.witness.as_ref().and_then(|witness| witness.get(at)).copied().unwrap_or_default();
        let others = (0..values.len() as Choice).filter(|choice| *choice != first);
        for choice in std::iter::once(first).chain(others) {
            env[at] = values[choice as usize] as f64;
            bounds[at] = Interval::point(env[at]);
            self.path[at] = choice;
            if self.space.is_listed(&self.path[..=at]) && self.passes(env, at) && self.may_hold(bounds, at, at + 1) {
                match self.search_bounded(env, bounds, at + 1) {
                    Found::None => {}
                    decided => return decided,
                }
            }
            if self.is_spent() {
                return Found::Unknown;
            }
        }
        bounds[at] = self.space.ranges[at];
        Found::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use crate::{Config, Device, Kernel};
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeMap;

    /// A kernel of four parameters with random constraints among them.
    fn random(rng: &mut ChaCha8Rng) -> Kernel {
        let mut toml = String::from("name = 'r'\nmeaning = 'r'\n[work]\nflops = '1'\nbytes = '1'\n");
        toml += "[[field]]\nname = 'n'\nkind = 'size'\nmin = 1\nmax = 9\nmeaning = 'n'\n";
        for i in 0..4 {
            let values: Vec<i64> = (0..rng.random_range(1..5)).map(|k| 3 * k + rng.random_range(0..3)).collect();
            toml +=
                &format!("[[parameter]]\nname = 'p{i}'\nvalues = {values:?}\ndefault = {}\nmeaning = 'p'\n", values[0]);
        }
        for _ in 0..rng.random_range(1..4) {
            let mut p = || format!("p{}", rng.random_range(0..4));
            let (a, b, c) = (p(), p(), p());
            let k = rng.random_range(0..20);
            let expr = match rng.random_range(0..5) {
                0 => format!("{a} + {b} + {c} == {k}"),
                1 => format!("{a} * {b} <= {k} + {c}"),
                2 => format!("({a} + 2 * {b}) % 3 == {c} % 3"),
                3 => format!("if({a} > {k}, {b} == {c}, {b} != {c})"),
                _ => format!("max({a}, {b}) - {c} >= {k} // 4"),
            };
            toml += &format!("[[constraint]]\nexpr = '{expr}'\nreason = 'r'\n");
        }
        Kernel::from_files(BTreeMap::from([("kernel.toml".into(), toml)]), "r").unwrap()
    }

    #[test]
    fn a_search_with_bounds_finds_what_trying_everything_finds() {
        let mut rng = test_generator(8);
        let device = Device::find_described("A100").unwrap();
        let (mut open, mut dead) = (0, 0);
        for _ in 0..400 {
            let kernel = random(&mut rng);
            let space = ConfigSpace::new(&kernel, &kernel.problem("n=1").unwrap(), &device);
            let mut legal: Vec<Config> = Vec::new();
            space
                .for_each(&mut |c| {
                    legal.push(Config(c.to_vec()));
                    true
                })
                .unwrap();
            for choice in space.unbroken(&[]).iter() {
                let mut search = Search::new(&space, &[choice]);
                let found = matches!(search.behind_bounds(0), Found::Legal);
                let expected = legal.iter().any(|config| config.0[0] == choice);
                assert_eq!(found, expected, "{:?}", kernel.constraints);
                assert_eq!(space.completions(&[]).unwrap().contains(choice), expected);
                if expected { open += 1 } else { dead += 1 }
            }
        }
        assert!(open > 100 && dead > 100, "{open} {dead}");
    }
}
