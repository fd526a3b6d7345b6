//! The chooser: a config for each call, by what was predicted and what was reported.

use crate::book::{Book, Owner, Place};
use crate::course::{Call, Course, Decision, Lesson, SHIFT};
use crate::device_state::DeviceState;
use crate::entry::{Beginning, Held};
use crate::goal::{Goal, Measured};
use crate::locks::{lock, reading, writing};
use crate::normal::Normal;
use crate::options::Options;
use crate::points::{Point, Points, Predicted};
use crate::standing::Standing;
use crate::table::Table;
use seqtune_kernel::ConfigSpace;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_predict::{Config, Device, Kernel, Model, Problem};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

/// Configs that are set up already and considered for a new problem, at most.
const SET_UP: usize = 16;
/// A config that was chosen for a call. It holds what [`Chooser::report`] needs; a copy costs a count.
#[derive(Clone)]
pub struct Pick {
    held: Arc<Held>,
    arm: usize,
    settled: bool,
}

impl Pick {
    /// The config to run.
    pub fn config(&self) -> &Config {
        &self.held.configs[self.arm]
    }

    /// Whether it is the settled choice; otherwise its time is awaited.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// A number that stands for the pick in [`Chooser::report_id`], for callers that hold no objects.
    pub fn id(&self) -> u64 {
        self.held.serial << 8 | self.arm as u64
    }
}

impl std::fmt::Debug for Pick {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Pick({:?}, settled: {})", self.config(), self.settled)
    }
}

/// Chooses a config for each call, learns from the times that the caller reports, and settles. Any number of threads may share one.
///
/// ```
/// use seqtune_choose::{Chooser, Measured, Options};
/// use seqtune_predict::{Device, Kernel, Model};
/// use std::path::Path;
///
/// # fn main() -> seqtune_predict::Result<()> {
/// # let toy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../predict/toy");
/// # let model_folder = toy.join("model");
/// let kernel = Kernel::open(&toy.display().to_string())?;
/// let model = Model::load(&model_folder)?;
/// let chooser = Chooser::of_model(&kernel, &model, &Device::find_described("A100")?, Options::default())?;
///
/// let problem = kernel.problem("M=1000")?;
/// for _ in 0..100 {
///     let pick = chooser.pick(&problem)?;
///     // launch with pick.config(), and take the time
///     let time_us = if kernel.value(pick.config(), "width") == Some(2) { 40.0 } else { 50.0 };
///     chooser.report(&pick, Measured { time_us, joules: None })?;
/// }
/// let settled = chooser.settled_config(&problem).expect("a hundred calls are enough");
/// assert_eq!(kernel.value(&settled, "width"), Some(2));
/// # Ok(())
/// # }
/// ```
pub struct Chooser {
    pub(crate) kernel: Kernel,
    device: Device,
    points: Box<dyn Points>,
    pub(crate) options: Options,
    goal: RwLock<Goal>,
    /// Changes of the goal and of the device: a choice of an older epoch is thought over.
    epoch: AtomicU64,
    pub(crate) table: RwLock<Table>,
    state: Mutex<DeviceState>,
    set_up: RwLock<HashSet<Config>>,
    pub(crate) owner: Owner,
    remembered: Book,
    pub(crate) written: Mutex<Instant>,
    pub(crate) warnings: Mutex<Vec<String>>,
}

impl Chooser {
    /// A chooser among what a model predicts for a device.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where the model is of another kernel, [`Error::Input`] where an option makes no sense.
    pub fn of_model(kernel: &Kernel, model: &Model, device: &Device, options: Options) -> Result<Chooser> {
        Chooser::new(kernel, device, Box::new(Predicted::new(kernel, model, device)?), options)
    }

    /// A chooser among the configs of any source. What was remembered of the kernel, device, driver and source is read from the file
    /// of [`Options::memory`]; where that is damaged, [`Chooser::warnings`] says so and choices start afresh.
    ///
    /// # Errors
    /// [`Error::Input`] where an option makes no sense.
    pub fn new(kernel: &Kernel, device: &Device, points: Box<dyn Points>, options: Options) -> Result<Chooser> {
        options.check()?;
        let driver = if options.driver.is_empty() { &device.driver } else { &options.driver };
        let owner = Owner {
            kernel: kernel.name.clone(),
            device: device.name.clone(),
            driver: driver.clone(),
            space: kernel.space_hash_on(device),
            older_space: kernel.identity_on(device).older.clone(),
            source: points.identity(),
        };
        let (remembered, warning) = match &options.memory {
            Some(path) => Place(path.clone()).read().unwrap_or_else(|e| (Book::default(), Some(e.to_string()))),
            None => (Book::default(), None),
        };
        let chooser = Chooser {
            kernel: kernel.clone(),
            device: device.clone(),
            points,
            goal: RwLock::default(),
            epoch: AtomicU64::new(1),
            table: RwLock::new(Table::new(options.problems)),
            state: Mutex::new(DeviceState::new()),
            set_up: RwLock::default(),
            owner,
            remembered,
            written: Mutex::new(Instant::now()),
            warnings: Mutex::default(),
            options,
        };
        warning.into_iter().for_each(|warning| chooser.warn(warning));
        Ok(chooser)
    }

    /// The kernel whose configs are chosen.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The config for a call of `problem`. The first call of a problem asks the model; a settled choice is looked up.
    ///
    /// # Errors
    /// As [`Points::best`]; [`Error::NoLegalConfig`] where every config was reported as failed.
    pub fn pick(&self, problem: &Problem) -> Result<Pick> {
        let found = reading(&self.table).find(problem).cloned();
        let held = match found {
            Some(held) => held,
            None => self.hold(problem)?,
        };
        let picks = held.picks.fetch_add(1, Ordering::Relaxed);
        if let Some(arm) = held.settled_in(self.epoch.load(Ordering::Acquire)) {
            if picks == 0 && self.options.setup_us > 0.0 {
                writing(&self.set_up).insert(held.configs[arm].clone());
            }
            return Ok(Pick { held, arm, settled: true });
        }
        self.think(held)
    }

    /// Decides anew.
    fn think(&self, held: Arc<Held>) -> Result<Pick> {
        let epoch = self.epoch.load(Ordering::Acquire);
        let mut inner = held.lock();
        if held.epoch() != epoch {
            inner.take_in(lock(&self.state).changes);
        }
        let goal = *reading(&self.goal);
        let rules = self.options.rules();
        let decided = match rules.setup_us > 0.0 {
            true => {
                let set_up = reading(&self.set_up);
                inner.course.decide(&goal, &rules, &|at| set_up.contains(&held.configs[at]))
            }
            false => inner.course.decide(&goal, &rules, &|_| true),
        };
        let Some(Decision { arm, settled, review }) = decided else {
            let problem = self.kernel.brief_problem(&held.problem);
            return Err(Error::NoLegalConfig(format!("every config that is known for {problem} failed")));
        };
        held.settle(settled.then_some(arm), epoch, review);
        inner.is_news |= settled && inner.course.calls > 0;
        drop(inner);
        if rules.setup_us > 0.0 {
            writing(&self.set_up).insert(held.configs[arm].clone());
        }
        if settled {
            self.save_sometimes();
        }
        Ok(Pick { held, arm, settled })
    }

    /// Takes a problem up that was not called before.
    fn hold(&self, problem: &Problem) -> Result<Arc<Held>> {
        let space = ConfigSpace::new(&self.kernel, problem, &self.device);
        let serial = writing(&self.table).next_serial();
        let (ratio, changes) = {
            let state = lock(&self.state);
            (state.ratio(), state.changes)
        };
        let known = self.remembered.choices_of(&self.owner).and_then(|all| all.get(&self.kernel.show_problem(problem)));
        let epoch = self.epoch.load(Ordering::Acquire);
        let recalled = known.and_then(|known| {
            let beginning = Beginning { serial, spread: self.options.spread, epoch, taken_in: changes };
            Held::recall(&self.kernel, problem, known, beginning, &|c| space.is_legal(c))
        });
        let held = match recalled {
            Some(held) => held,
            None => {
                let points = self.points_of(problem, &space)?;
                let course = Course::new(&points, self.options.spread, Normal { mean: ratio, sd: SHIFT });
                Held::new(serial, problem.clone(), &points, course, changes)
            }
        };
        let (held, gone) = writing(&self.table).insert(Arc::new(held));
        self.save_those(&gone);
        Ok(held)
    }

    /// The legal configs that are considered for a problem.
    fn points_of(&self, problem: &Problem, space: &ConfigSpace) -> Result<Vec<Point>> {
        let objective = reading(&self.goal).objective;
        let mut points = self.points.best(problem, objective, self.options.top)?;
        if let Some(first) = points.first().filter(|_| self.options.setup_us > 0.0) {
            let set_up: Vec<Config> = reading(&self.set_up).iter().cloned().collect();
            let mut others = self.points.expect(problem, objective, first, &set_up)?;
            others.retain(|other| points.iter().all(|point| point.config != other.config));
            let time = |point: &Point| point.time_us.unwrap_or(f64::INFINITY);
            others.sort_by(|a, b| time(a).total_cmp(&time(b)).then(a.config.cmp(&b.config)));
            points.extend(others.into_iter().take(SET_UP));
        }
        points.retain(|point| point.config.0.len() == self.kernel.parameters.len() && space.is_legal(&point.config));
        match points.is_empty() {
            true => {
                let problem = self.kernel.brief_problem(problem);
                Err(Error::NoLegalConfig(format!("none of the configs that were given is legal for {problem}")))
            }
            false => Ok(points),
        }
    }

    /// Learns what the call of a pick took.
    ///
    /// # Errors
    /// [`Error::Input`] where a time or an energy is no number above 0; nothing is learned then.
    pub fn report(&self, pick: &Pick, measured: impl Into<Measured>) -> Result<()> {
        let measured: Measured = measured.into();
        if !measured.is_sound() {
            let joules = measured.joules.map_or(String::new(), |joules| format!(" and {joules} joules"));
            return input(format!("a call took {} us{joules}: times and joules are numbers above 0", measured.time_us));
        }
        let goal = *reading(&self.goal);
        let rules = self.options.rules();
        let mut inner = pick.held.lock();
        let told = inner.course.tells(pick.arm);
        let call = Call { goal: &goal, rules: &rules, arm: pick.arm, settled: pick.settled };
        let Lesson { change, learned } = inner.course.learn(&call, &measured);
        inner.note(pick.arm, learned.weight, measured.time_us.ln(), measured.joules.map(f64::ln));
        if let Some(shift) = change {
            tracing::debug!("times of {} changed by {:.2}", self.kernel.brief_problem(&pick.held.problem), shift.exp());
            inner.notice(shift);
            pick.held.settle(None, pick.held.epoch(), None);
        } else if pick.settled && inner.course.breaks(&goal, pick.arm) {
            pick.held.settle(None, pick.held.epoch(), None);
        }
        let ratio = (!pick.settled && inner.fresh).then(|| inner.course.time.shift_now().mean);
        drop(inner);
        let mut state = lock(&self.state);
        ratio.into_iter().for_each(|ratio| state.add_ratio(ratio));
        let alone = change.and_then(|shift| state.add_change(pick.held.serial, shift));
        let changed = alone.or_else(|| if told { state.add(learned.residual, learned.standardised) } else { None });
        if let Some(shift) = changed {
            tracing::debug!("times on {} changed by {:.2}", self.device.name, shift.exp());
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// As [`Chooser::report`], by [`Pick::id`]; whether the problem is still held.
    ///
    /// # Errors
    /// As [`Chooser::report`].
    pub fn report_id(&self, id: u64, measured: impl Into<Measured>) -> Result<bool> {
        match self.pick_of(id) {
            Some(pick) => self.report(&pick, measured).map(|()| true),
            None => Ok(false),
        }
    }

    fn pick_of(&self, id: u64) -> Option<Pick> {
        let held = reading(&self.table).by_serial(id >> 8).cloned()?;
        let arm = (id & 0xff) as usize;
        let settled = held.settled_in(self.epoch.load(Ordering::Acquire)) == Some(arm);
        (arm < held.configs.len()).then_some(Pick { held, arm, settled })
    }

    /// Books a config as failed for its problem: it did not compile, launch, or compute what it should. It is not chosen again.
    pub fn book_failure(&self, pick: &Pick) {
        let mut inner = pick.held.lock();
        inner.course.failed[pick.arm] = true;
        inner.is_news = true;
        pick.held.settle(None, pick.held.epoch(), None);
    }

    /// As [`Chooser::book_failure`], by [`Pick::id`]; whether the problem is still held.
    pub fn failed_id(&self, id: u64) -> bool {
        self.pick_of(id).map(|pick| self.book_failure(&pick)).is_some()
    }

    /// Changes what is minimised and what limits are kept, from the next pick of every problem on: by what is known of its configs.
    ///
    /// # Errors
    /// As [`Goal::check`].
    pub fn set_goal(&self, goal: Goal) -> Result<()> {
        goal.check()?;
        *writing(&self.goal) = goal;
        self.epoch.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// What is minimised and what limits are kept.
    pub fn goal(&self) -> Goal {
        *reading(&self.goal)
    }

    /// The config that a problem has settled on, if it has.
    pub fn settled_config(&self, problem: &Problem) -> Option<Config> {
        let held = reading(&self.table).find(problem).cloned()?;
        held.settled_in(self.epoch.load(Ordering::Acquire)).map(|arm| held.configs[arm].clone())
    }

    /// What is known of a problem's configs; `None` before its first call.
    pub fn standing(&self, problem: &Problem) -> Option<Standing> {
        let held = reading(&self.table).find(problem).cloned()?;
        let settled = held.settled_in(self.epoch.load(Ordering::Acquire));
        let inner = held.lock();
        Some(Standing::from_beliefs(&held.configs, &inner.course, settled))
    }
}
