//! The course of one problem: which config is tried next, what is learned from it, and when that settles.
//!
//! The rule is that of Bayes-UCB (Kaufmann, Cappé and Garivier 2012), for normal beliefs about logarithms of costs: after t calls the config with
//! the least cost that is not exceeded with probability 1 / (t + 2) is taken. It settles where trying the others is expected to gain less than
//! [`Options::tolerance`](crate::Options::tolerance) of a call. [`Standing::regret_bound`](crate::Standing) sums up what that may
//! have cost; docs/integrations/chooser.md has the bound and its assumptions.

use crate::belief::{Arm, Belief, Learned};
use crate::change::Change;
use crate::goal::{Goal, Measured};
use crate::normal::{Normal, excess, quantile};
use crate::options::Rules;
use crate::points::Point;
use seqtune_predict::Objective;

/// Standard deviation of the factor by which a model's times are off, as a logarithm: on held-out sizes of the shipped sweep of gemm.
pub(crate) const SHIFT: f64 = 0.4;
/// The same where nothing was expected.
const UNKNOWN: f64 = 20.0;
/// Standard deviation of a config's error after a change: other load moves configs apart by so much at least, and by a share of the change.
const MOVED: f64 = 0.1;
const MOVED_SHARE: f64 = 0.3;
/// Threshold of the change in one problem's times.
const THRESHOLD: f64 = 8.0;
/// Observations of a config before its times tell a change.
const ENOUGH: f64 = 2.5;
/// Calls that count as made after a change: what was learned is not all in doubt.
const CALLS_KEPT: u64 = 8;

/// One problem's beliefs and counts.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) time: Belief,
    pub(crate) energy: Belief,
    /// Configs that failed.
    pub(crate) failed: Vec<bool>,
    /// Calls that were reported, since the last change.
    pub(crate) calls: u64,
    /// Bound of the expected regret so far, in calls.
    pub(crate) bound: f64,
    change: Change,
}

/// What is to be done at a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) arm: usize,
    /// Whether it stays so until something changes.
    pub(crate) settled: bool,
    /// After how many calls to think again: a config that costs something to set up may pay by then.
    pub(crate) review: Option<u64>,
}

/// A call whose config was chosen.
pub(crate) struct Call<'c> {
    pub(crate) goal: &'c Goal,
    pub(crate) rules: &'c Rules,
    pub(crate) arm: usize,
    pub(crate) settled: bool,
}

/// What a call's time tells.
pub(crate) struct Lesson {
    /// Change of times as a logarithm, where one is noticed.
    pub(crate) change: Option<f64>,
    /// What the time was worth.
    pub(crate) learned: Learned,
}

/// What is known of the options at a call.
struct Outlook {
    /// Logarithm of what is minimised.
    cost: Vec<Normal>,
    /// By how much each limit is broken, as logarithms; kept where not above 0.
    over: Vec<Vec<Normal>>,
}

/// Where a config stands in an outlook: limits first, then costs.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Rank(f64, f64);

impl Outlook {
    /// The rank by what is not exceeded with so many standard deviations.
    fn rank(&self, at: usize, z: f64) -> Rank {
        let over = self.over[at].iter().map(|n| n.mean - z * n.sd).fold(0.0, f64::max);
        Rank(over, if over > 0.0 { 0.0 } else { self.cost[at].mean - z * self.cost[at].sd })
    }

    /// What a call is expected to gain, as a logarithm, where `at` turns out better than `than`.
    fn gain(&self, at: usize, than: usize) -> f64 {
        let keeps: f64 = self.over[at].iter().map(|n| n.probability_below_zero()).product();
        match self.rank(than, 0.0).0 > 0.0 {
            true => keeps,
            false => keeps * self.cost[at].minus(self.cost[than]).expected_below_zero(),
        }
    }
}

impl Course {
    /// Begins with points, and what is expected of the shift of times.
    pub(crate) fn new(points: &[Point], spread: f64, shift: Normal) -> Course {
        let logs = |of: fn(&Point) -> Option<f64>| -> Option<Vec<f64>> {
            let log = |point: &Point| of(point).map(f64::ln).filter(|log| log.is_finite());
            let logs: Vec<Option<f64>> = points.iter().map(log).collect();
            let known: Vec<f64> = logs.iter().flatten().copied().collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            // of what nothing is expected, the mean is
            (!known.is_empty()).then(|| logs.iter().map(|log| log.unwrap_or(mean)).collect())
        };
        let unknown = Normal { mean: 0.0, sd: UNKNOWN };
        let (times, time_shift) = match logs(|p| p.time_us) {
            Some(times) => (times, shift),
            None => (vec![0.0; points.len()], unknown),
        };
        // without an expectation of energy: as of time, since power is much the same
        let (joules, joule_shift) = match logs(|p| p.joules) {
            Some(joules) => (joules, Normal { mean: 0.0, sd: SHIFT }),
            None => (times.clone(), unknown),
        };
        let arms = |logs: Vec<f64>| logs.into_iter().map(|x| Arm::new(x, spread)).collect();
        Course {
            time: Belief::new(arms(times), time_shift),
            energy: Belief::new(arms(joules), joule_shift),
            failed: vec![false; points.len()],
            calls: 0,
            bound: 0.0,
            change: Change::new(THRESHOLD),
        }
    }

    fn outlook(&self, goal: &Goal) -> Outlook {
        let time = self.time.now();
        let energy = if goal.needs_energy() { self.energy.now() } else { time.clone() };
        let cost = match goal.objective {
            Objective::Time => time.clone(),
            Objective::Energy => energy.clone(),
            Objective::Edp => time.iter().zip(&energy).map(|(t, e)| t.plus(*e)).collect(),
        };
        let fastest =
            (0..time.len()).filter(|at| !self.failed[*at]).map(|at| time[at].mean).fold(f64::INFINITY, f64::min);
        let over = |at: usize| {
            let (time, energy) = (time[at], energy[at]);
            let power = energy.minus(time);
            let less = |n: Normal, limit: f64| Normal { mean: n.mean - limit.ln(), sd: n.sd };
            let limits = [
                goal.time_us.map(|limit| less(time, limit)),
                goal.within_time.map(|share| less(time, (1.0 + share) * fastest.exp())),
                // joules in so many microseconds
                goal.power_w.map(|limit| less(power, limit / 1e6)),
                goal.joules.map(|limit| less(energy, limit)),
            ];
            limits.into_iter().flatten().collect()
        };
        Outlook { over: (0..cost.len()).map(over).collect(), cost }
    }

    /// The config of the next call. `ready` tells which configs are set up already. `None` where every config failed.
    pub(crate) fn decide(&self, goal: &Goal, rules: &Rules, ready: &dyn Fn(usize) -> bool) -> Option<Decision> {
        let outlook = self.outlook(goal);
        let open: Vec<usize> = (0..self.failed.len()).filter(|at| !self.failed[*at]).collect();
        let least = |among: &[usize], z: f64| {
            let rank = |at: &usize| outlook.rank(*at, z);
            among.iter().copied().min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal))
        };
        let set_up: Vec<usize> = match rules.setup_us > 0.0 {
            true => open.iter().copied().filter(|at| ready(*at)).collect(),
            false => open.clone(),
        };
        let Some(leader) = least(&set_up, 0.0) else {
            // the first config of all has to be set up in any case
            return least(&open, 0.0).map(|arm| Decision { arm, settled: false, review: None });
        };
        let us = self.time.now()[leader].mean.exp();
        // over as many calls as there were, it has to gain what its set-up costs
        let pays =
            |at: &usize| set_up.contains(at) || outlook.gain(*at, leader) * us * self.calls as f64 >= rules.setup_us;
        let (worth, not_yet): (Vec<usize>, Vec<usize>) = open.iter().copied().partition(pays);
        let gain: f64 = worth.iter().filter(|at| **at != leader).map(|at| outlook.gain(*at, leader)).sum();
        let review = (!not_yet.is_empty()).then(|| (2 * self.calls).max(16));
        if gain <= rules.tolerance {
            return Some(Decision { arm: leader, settled: true, review });
        }
        let arm = least(&worth, self.width()).unwrap_or(leader);
        Some(Decision { arm, settled: false, review: None })
    }

    /// Standard deviations that are given to each config.
    fn width(&self) -> f64 {
        quantile(1.0 / (self.calls as f64 + 2.0))
    }

    /// Adds to the bound of the expected regret what choosing `arm` may cost.
    fn account(&mut self, goal: &Goal, rules: &Rules, arm: usize, settled: bool) {
        if settled {
            self.bound += rules.tolerance;
            return;
        }
        let (z, cost) = (self.width(), self.outlook(goal).cost);
        self.bound += z * cost[arm].sd + excess(z) * cost.iter().map(|n| n.sd).sum::<f64>();
    }

    /// Learns what a call took.
    pub(crate) fn learn(&mut self, call: &Call, measured: &Measured) -> Lesson {
        let Call { goal, rules, arm, settled } = *call;
        self.account(goal, rules, arm, settled);
        self.calls += 1;
        let enough = self.time.arms[arm].weight >= ENOUGH;
        let learned = self.time.learn(arm, measured.time_us.ln());
        if let Some(joules) = measured.joules {
            self.energy.learn(arm, joules.ln());
        }
        let change = if enough { self.change.add(learned.residual, learned.standardised) } else { None };
        Lesson { change, learned }
    }

    /// Whether the times of a config tell a change by now.
    pub(crate) fn tells(&self, arm: usize) -> bool {
        self.time.arms[arm].weight >= ENOUGH
    }

    /// Opens the choice again after a change of times by `shift`, as a logarithm.
    pub(crate) fn reopen(&mut self, shift: f64) {
        let moved = MOVED.max(MOVED_SHARE * shift.abs());
        self.time.reopen(moved, Normal { mean: shift, sd: SHIFT });
        self.energy.reopen(moved, Normal { mean: shift, sd: SHIFT });
        self.calls = self.calls.min(CALLS_KEPT);
        self.change = Change::new(THRESHOLD);
    }

    /// Whether a config is believed to break a limit.
    pub(crate) fn breaks(&self, goal: &Goal, arm: usize) -> bool {
        self.outlook(goal).rank(arm, 0.0).0 > 0.0
    }
}
