//! The most probable of all legal configs of a problem, exactly.
//!
//! The space is walked in depth, many prefixes of one length at a time, so that the network answers for all of them at once: what is kept grows
//! with the depth, not with the space. No config is more probable than its prefixes, so what lies behind a prefix that is less probable than the
//! best configs known is judged without a look (branch and bound, Land and Doig 1960).

use crate::distilled::network::Decided;
use crate::distilled::scratch::{Beam, Work};
use crate::distilled::search::Search;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Choices, Config, Objective};

/// Prefixes that the network is asked about at once.
const PREFIXES_PER_BATCH: usize = 256;

/// Prefixes that one walk takes: every `step`-th, from the `first` on.
#[derive(Clone, Copy)]
pub(crate) struct WalkShare {
    pub(crate) first: usize,
    pub(crate) step: usize,
}

/// What a walk found.
pub(crate) struct Found {
    /// Configs whose own likelihood was computed.
    pub(crate) scored: u64,
    /// The best by log-probability; in order once it has settled.
    pub(crate) best: Vec<(f64, Config)>,
    top: usize,
    /// What is no more than this comes behind the best `top`.
    least: f64,
}

impl Found {
    /// The best `top`, of which each is more probable than `least`.
    pub(crate) fn new(top: usize, least: f64) -> Found {
        Found { scored: 0, best: Vec::new(), top: top.max(1), least }
    }

    fn add(&mut self, log: f64, prefix: &[Choice], last: Choice) {
        self.scored += 1;
        if log > self.least {
            self.best.push((log, Config([prefix, &[last]].concat())));
            if self.best.len() >= 2 * self.top {
                self.settle();
            }
        }
    }

    /// Takes in what another walk found.
    pub(crate) fn join(&mut self, other: Found) {
        self.scored += other.scored;
        self.best.extend(other.best);
        self.settle();
    }

    /// Keeps the best, in order; ties go to the earlier config.
    fn settle(&mut self) {
        self.best.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
        self.best.truncate(self.top);
        if let Some((log, _)) = self.best.get(self.top - 1) {
            self.least = *log;
        }
    }
}

impl Search<'_> {
    /// Legal prefixes of one length that are more probable than `least`, at least `count` of them where there are so many, with their
    /// probabilities.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub(crate) fn frontier(&self, objective: Objective, count: usize, least: f64, work: &mut Work) -> Result<Beam> {
        self.begin(objective, work);
        let mut beam = Beam::default();
        beam.begin(self.parameters(), &work.sum);
        let mut level = Level::default();
        while beam.lengths.len() < count && beam.lengths.first().is_some_and(|at| at + 1 < self.parameters()) {
            self.ask(&beam, &mut level, work)?;
            let mut next = Beam::default();
            self.followers(&beam, &level, |follower| {
                if follower.log > least {
                    self.follow(&mut next, &beam, follower);
                }
                Ok(())
            })?;
            beam = next;
        }
        Ok(beam)
    }

    /// Walks the legal configs behind a part of the prefixes.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the constraints are too entangled to look ahead.
    pub(crate) fn walk(&self, beam: &Beam, part: WalkShare, found: &mut Found, work: &mut Work) -> Result<()> {
        work.env.clear();
        work.env.extend_from_slice(&self.instance.env);
        let (mut own, mut free) = (Beam::default(), Vec::new());
        for row in (part.first..beam.lengths.len()).step_by(part.step) {
            own.take(beam, row, beam.log[row], self.sizes());
        }
        match own.lengths.is_empty() {
            true => Ok(()),
            false => self.walk_behind(&own, found, work, &mut free),
        }
    }

    /// Calls `each` with what may follow the prefixes.
    fn followers(&self, beam: &Beam, level: &Level, mut each: impl FnMut(Follower) -> Result<()>) -> Result<()> {
        let columns = beam.lengths.first().map_or(0, |at| self.featurizer.choice_columns(*at).len());
        let (mut log, mut numbers) = (level.log.iter(), level.numbers.chunks(columns.max(1)));
        for (row, open) in level.open.iter().enumerate() {
            for choice in open.iter() {
                let log = beam.log[row] + log.next().copied().unwrap_or_default();
                let numbers = if columns == 0 { &[] } else { numbers.next().unwrap_or_default() };
                each(Follower { row, log, choice, numbers })?;
            }
        }
        Ok(())
    }

    /// Adds a prefix that is longer by a choice.
    fn follow(&self, next: &mut Beam, beam: &Beam, follower: Follower) {
        let Follower { row, log, choice, numbers } = follower;
        let sizes = self.sizes();
        let (parameters, d) = (sizes.parameters, sizes.width);
        let at = beam.lengths[row];
        next.take(beam, row, log, sizes);
        let last = next.lengths.len() - 1;
        next.choices[last * parameters + at] = choice;
        next.lengths[last] = at + 1;
        let decided = Decided { columns: self.featurizer.choice_columns(at), numbers };
        self.network.grow(&mut next.sums[last * d..][..d], at, choice, decided);
    }

    /// Prefixes of the same length, all legal. `free` holds what nobody uses.
    fn walk_behind(&self, beam: &Beam, found: &mut Found, work: &mut Work, free: &mut Vec<Level>) -> Result<()> {
        let last = beam.lengths[0] + 1 == self.parameters();
        let mut level = free.pop().unwrap_or_default();
        self.ask(beam, &mut level, work)?;
        let mut next = std::mem::take(&mut level.next);
        next.clear();
        self.followers(beam, &level, |follower| {
            if last {
                found.add(follower.log, beam.prefix(follower.row), follower.choice);
                return Ok(());
            }
            if follower.log <= found.least {
                return Ok(());
            }
            self.follow(&mut next, beam, follower);
            if next.lengths.len() == PREFIXES_PER_BATCH {
                self.walk_behind(&next, found, work, free)?;
                next.clear();
            }
            Ok(())
        })?;
        if !next.lengths.is_empty() {
            self.walk_behind(&next, found, work, free)?;
        }
        level.next = next;
        free.push(level);
        Ok(())
    }

    /// What may follow each of the prefixes, how probably, and what it decides.
    fn ask(&self, beam: &Beam, level: &mut Level, work: &mut Work) -> Result<()> {
        let (d, at) = (self.network.d, beam.lengths[0]);
        level.open.clear();
        level.log.clear();
        work.states.clear();
        for row in 0..beam.lengths.len() {
            let open = self.instance.space.completions(beam.prefix(row))?;
            if open.only().is_none() {
                self.place(&beam.sums[row * d..][..d], at, work);
            }
            level.open.push(open);
        }
        self.network.states(&mut work.states, &mut work.buffers);
        work.numbers.clear();
        let mut state = 0;
        for (row, open) in level.open.iter().enumerate() {
            match open.only() {
                Some(forced) => {
                    self.spell(beam.prefix(row), forced, work);
                    level.log.push(0.0);
                }
                None => {
                    self.choose(state, beam.prefix(row), *open, work);
                    level.log.extend_from_slice(&work.log);
                    state += 1;
                }
            }
        }
        std::mem::swap(&mut level.numbers, &mut work.numbers);
        Ok(())
    }
}

/// A choice behind a prefix.
struct Follower<'n> {
    /// The prefix.
    row: usize,
    /// Log-probability with the choice.
    log: f64,
    choice: Choice,
    /// The numbers that spell what the choice decides.
    numbers: &'n [f32],
}

/// What is known of the prefixes of one length, and the longer ones that are gathered.
#[derive(Default)]
struct Level {
    open: Vec<Choices>,
    /// Of all that may follow, prefix after prefix.
    log: Vec<f64>,
    numbers: Vec<f32>,
    next: Beam,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;

    #[test]
    fn the_best_of_any_number_in_any_order_are_kept_in_order() {
        let mut rng = test_generator(2);
        for round in 0..300 {
            let (top, count) = (rng.random_range(1..12), rng.random_range(0..60));
            // few values, so that there are ties
            let logs: Vec<f64> = (0..count).map(|_| -(rng.random_range(0..20) as f64)).collect();
            let mut parts = [(); 2].map(|()| Found::new(top, f64::NEG_INFINITY));
            for (i, log) in logs.iter().enumerate() {
                parts[(i + round) % 2].add(*log, &[0], i as Choice);
            }
            let mut found = Found::new(top, f64::NEG_INFINITY);
            parts.into_iter().for_each(|part| found.join(part));
            let mut expected: Vec<(f64, Config)> =
                logs.iter().enumerate().map(|(i, log)| (*log, Config(vec![0, i as Choice]))).collect();
            expected.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
            expected.truncate(top);
            assert_eq!((found.scored, found.best), (count as u64, expected));
        }
    }
}
