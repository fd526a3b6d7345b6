//! A problem that is held in memory: its configs, its course, and what of it is not in the file yet.

use crate::belief::Arm;
use crate::book::{self, Remembered, Sum};
use crate::course::{Course, SHIFT};
use crate::device_state::Changes;
use crate::locks::lock;
use crate::normal::Normal;
use crate::points::Point;
use seqtune_predict::{Config, Kernel, Problem};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Standard deviation of what was remembered of a config, beside its noise: another day, another layout of memory.
const REMEMBERED: f64 = 0.02;
/// A change that is none, as a logarithm.
const SLIGHT: f64 = 0.15;
/// Observations that what was remembered counts as at most.
const WORTH: f64 = 25.0;

/// One problem.
pub(crate) struct Held {
    pub(crate) serial: u64,
    pub(crate) problem: Problem,
    pub(crate) configs: Vec<Config>,
    /// The settled config plus one; 0 while others are tried.
    settled: AtomicU32,
    /// The chooser's epoch that `settled` belongs to.
    epoch: AtomicU64,
    /// Calls after which a settled choice is thought over.
    review: AtomicU64,
    /// Times that it was chosen for.
    pub(crate) picks: AtomicU64,
    inner: Mutex<Inner>,
}

/// What a problem begins with in memory.
#[derive(Clone, Copy)]
pub(crate) struct Beginning {
    pub(crate) serial: u64,
    /// Standard deviation of what is expected of its configs.
    pub(crate) spread: f64,
    pub(crate) epoch: u64,
    pub(crate) taken_in: Changes,
}

/// What changes with each report.
pub(crate) struct Inner {
    pub(crate) course: Course,
    /// Changes of the device that the course has taken in.
    taken_in: Changes,
    /// Change that the problem noticed by itself since, as a logarithm.
    own: f64,
    /// Whether nothing was remembered and nothing changed since: then what is expected is the model's.
    pub(crate) fresh: bool,
    era: u64,
    news: Vec<[Sum; 2]>,
    calls: u64,
    pub(crate) is_news: bool,
}

impl Held {
    pub(crate) fn new(serial: u64, problem: Problem, points: &[Point], course: Course, taken_in: Changes) -> Held {
        let news = vec![[Sum::default(); 2]; points.len()];
        let inner = Inner { course, taken_in, own: 0.0, fresh: true, era: 0, news, calls: 0, is_news: false };
        Held {
            serial,
            problem,
            configs: points.iter().map(|point| point.config.clone()).collect(),
            settled: AtomicU32::new(0),
            epoch: AtomicU64::new(0),
            review: AtomicU64::new(u64::MAX),
            picks: AtomicU64::new(0),
            inner: Mutex::new(inner),
        }
    }

    /// From what was remembered; `None` where that holds no config that is legal now.
    pub(crate) fn recall(
        kernel: &Kernel,
        problem: &Problem,
        known: &Remembered,
        beginning: Beginning,
        is_legal: &dyn Fn(&Config) -> bool,
    ) -> Option<Held> {
        let Beginning { serial, spread, epoch, taken_in } = beginning;
        let configs: Option<Vec<Config>> = known.configs.iter().map(|e| kernel.config(&e.config).ok()).collect();
        let configs = configs.filter(|configs| !configs.is_empty() && configs.iter().all(is_legal))?;
        let point = |config: &Config| Point { config: config.clone(), time_us: None, joules: None };
        let points: Vec<Point> = configs.iter().map(point).collect();
        let mut course = Course::new(&points, spread, Normal { mean: 0.0, sd: SHIFT });
        for (quantity, belief) in [&mut course.time, &mut course.energy].into_iter().enumerate() {
            let sum = |at: usize| if quantity == 0 { known.configs[at].time } else { known.configs[at].energy };
            // those that were never observed are expected where the others were off
            let seen: Vec<usize> = (0..configs.len()).filter(|at| sum(*at).count > 0.0).collect();
            if seen.is_empty() && quantity == 1 {
                continue;
            }
            let expected = |at: usize| known.configs[at].expected[quantity];
            let off = seen.iter().map(|at| sum(*at).mean - expected(*at)).sum::<f64>() / seen.len().max(1) as f64;
            let noise = belief.noise();
            belief.shift = Normal { mean: 0.0, sd: SHIFT };
            for (at, arm) in belief.arms.iter_mut().enumerate() {
                *arm = match sum(at) {
                    Sum { count, mean } if count > 0.0 => {
                        Arm::new(mean, noise.hypot(REMEMBERED) / count.min(WORTH).sqrt())
                    }
                    _ => Arm::new(expected(at) + off, spread),
                };
            }
        }
        course.calls = known.calls;
        course.failed = known.configs.iter().map(|entry| entry.failed).collect();
        let held = Held::new(serial, problem.clone(), &points, course, taken_in);
        {
            let mut inner = held.lock();
            (inner.fresh, inner.era) = (false, known.era);
        }
        if let Some(at) = known.settled.filter(|at| !known.configs[*at].failed) {
            held.settle(Some(at), epoch, None);
        }
        Some(held)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// The settled config, where the choice belongs to `epoch` and needs no thought.
    pub(crate) fn settled_in(&self, epoch: u64) -> Option<usize> {
        let settled = self.settled.load(Ordering::Acquire);
        let holds = settled > 0
            && self.epoch.load(Ordering::Acquire) == epoch
            && self.picks.load(Ordering::Relaxed) < self.review.load(Ordering::Relaxed);
        holds.then(|| settled as usize - 1)
    }

    pub(crate) fn settle(&self, arm: Option<usize>, epoch: u64, review: Option<u64>) {
        self.review.store(review.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.epoch.store(epoch, Ordering::Release);
        self.settled.store(arm.map_or(0, |arm| arm as u32 + 1), Ordering::Release);
    }

    /// The epoch that it was thought over in last.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// What is not in the file yet, which is then taken as written; `None` where there is nothing.
    pub(crate) fn take_news(&self, kernel: &Kernel) -> Option<Remembered> {
        let mut inner = self.lock();
        if !std::mem::take(&mut inner.is_news) {
            return None;
        }
        let news = std::mem::replace(&mut inner.news, vec![[Sum::default(); 2]; self.configs.len()]);
        let (calls, settled) = (std::mem::take(&mut inner.calls), self.settled.load(Ordering::Acquire));
        let Course { time, energy, failed, .. } = &inner.course;
        let entry = |at: usize| book::Entry {
            config: kernel.show_config(&self.configs[at]),
            expected: [time.arms[at].expected, energy.arms[at].expected],
            time: news[at][0],
            energy: news[at][1],
            failed: failed[at],
        };
        Some(Remembered {
            era: inner.era,
            used: book::now().as_secs(),
            calls,
            settled: (settled > 0).then(|| settled as usize - 1),
            configs: (0..self.configs.len()).map(entry).collect(),
        })
    }

    /// Puts back what could not be written.
    pub(crate) fn put_back(&self, unwritten: &Remembered) {
        let mut inner = self.lock();
        if inner.era != unwritten.era {
            return;
        }
        inner.is_news = true;
        inner.calls += unwritten.calls;
        for (news, entry) in inner.news.iter_mut().zip(&unwritten.configs) {
            news[0].add(entry.time);
            news[1].add(entry.energy);
        }
    }
}

impl Inner {
    /// Keeps an observation for the file.
    pub(crate) fn note(&mut self, arm: usize, weight: f64, time: f64, energy: Option<f64>) {
        self.is_news = true;
        self.calls += 1;
        self.news[arm][0].add(Sum { count: weight, mean: time });
        if let Some(energy) = energy {
            self.news[arm][1].add(Sum { count: weight, mean: energy });
        }
    }

    /// Takes in the changes of the device, unless the problem noticed as much by itself.
    pub(crate) fn take_in(&mut self, changes: Changes) {
        if changes.count != self.taken_in.count {
            let moved = changes.sum - self.taken_in.sum - self.own;
            (self.taken_in, self.own) = (changes, 0.0);
            if moved.abs() > SLIGHT {
                self.begin_era(moved);
            }
        }
    }

    /// Takes in a change that the problem's own times tell.
    pub(crate) fn notice(&mut self, shift: f64) {
        self.own += shift;
        self.begin_era(shift);
    }

    /// Begins a new era: what was observed before no longer counts, here and in the file.
    fn begin_era(&mut self, shift: f64) {
        self.course.reopen(shift);
        (self.fresh, self.is_news, self.calls) = (false, true, 0);
        // later than what is in the file, also where the clock of the machine that wrote it is ahead
        self.era = (book::now().as_millis() as u64).max(self.era + 1);
        self.news.fill([Sum::default(); 2]);
    }
}
