//! Programs of the user's own, which measure themselves: built, started, watched and understood as `[run]` of kernel.toml says.

pub mod answer;
pub mod build;
mod check;
mod number;
mod patterns;
mod places;
pub mod powercap;
mod served;
pub mod step;

use crate::executor::Timing;
use crate::measuring::energy::EnergyMeter;
use crate::measuring::roofline::Peaks;
use crate::measuring::subject::Subject;
use crate::verify::case::Case;
use answer::Reported;
pub use check::{check, check_machine};
use patterns::{Patterns, Read};
use places::Places;
use seqtune_data::{Attempt, Energy, Invalidity, InvalidityKind, Observed};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Config, Device, Kernel, Problem, Run, Surroundings};
use served::Served;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use step::{Ended, ProcessStep};

/// Text of a place by its name.
type Place<'a> = &'a dyn Fn(&str) -> Result<String>;

/// A program with the problem that it is prepared for.
pub struct Program {
    kernel: Kernel,
    run: Run,
    device: Device,
    patterns: Patterns,
    places: Places,
    /// Time after which a run counts as hanging.
    limit: Duration,
    loaded: Option<(Problem, u64)>,
    served: Option<Served>,
    /// What was reported of each prepared config.
    reported: Vec<Reported>,
    /// What the machine lacked.
    trouble: Option<Error>,
    /// Whether a search goes on that nothing can end but the end of this process.
    is_searching: bool,
}

/// A prepared config.
pub struct Prepared {
    config: Config,
    at: usize,
    /// Folder of its build, where something is built.
    build: Option<PathBuf>,
}

impl Program {
    /// Prepares a kernel with `[run]` on a device, in the folder `scratch`.
    ///
    /// # Errors
    /// `Error::Input` where the kernel has no `[run]` or one of its regular expressions is none, [`Error::Failed`] where the folder cannot
    /// be used.
    pub fn new(kernel: &Kernel, device: Device, scratch: &Path, limit: Duration) -> Result<Program> {
        let Some(run) = kernel.run.clone() else {
            return Err(Error::Input(format!("kernel {} has no [run]", kernel.name)));
        };
        let (patterns, places) = (Patterns::new(&run)?, Places::new(kernel, scratch)?);
        let (loaded, served, reported, trouble, is_searching) = (None, None, Vec::new(), None, false);
        let kernel = kernel.clone();
        Ok(Program { kernel, run, device, patterns, places, limit, loaded, served, reported, trouble, is_searching })
    }

    fn problem(&self) -> Attempt<(Problem, u64)> {
        self.loaded.clone().ok_or_else(|| Invalidity::new(InvalidityKind::Runtime, "no problem is loaded"))
    }

    /// Slots of a problem, and of a config where there is one.
    fn env(&self, problem: &Problem, config: Option<&Config>) -> Vec<f64> {
        match config {
            Some(config) => self.kernel.env_of(problem, Some(&self.device), config),
            None => self.kernel.env(problem, Some(&self.device)),
        }
    }

    /// Makes a step of words in the working folder.
    fn step(&self, words: Vec<String>, env: &[f64], place: Place, limit: Duration) -> Result<ProcessStep> {
        let all = Surroundings { environment: self.run.environment.iter().collect(), cores: self.run.cores.as_ref() };
        self.step_with(words, all, env, place, limit)
    }

    /// [`Program::step`] with these variables and cores.
    fn step_with(
        &self,
        words: Vec<String>,
        with: Surroundings,
        env: &[f64],
        place: Place,
        limit: Duration,
    ) -> Result<ProcessStep> {
        let variables = with.environment.into_iter().map(|(name, text)| Ok((name.clone(), text.fill(env, place)?)));
        let cores = with.cores.map(|text| step::cores(&text.fill(env, place)?)).transpose()?;
        Ok(ProcessStep {
            words,
            environment: variables.collect::<Result<_>>()?,
            folder: self.places.work.clone(),
            cores: cores.unwrap_or_default(),
            limit,
        })
    }

    /// Runs set-up or teardown of a problem.
    fn around(&self, what: &str, problem: &Problem, seed: u64) -> Result<()> {
        let templates = if what == "setup" { &self.run.setup } else { &self.run.teardown };
        if templates.is_empty() {
            return Ok(());
        }
        let env = self.env(problem, None);
        let limit = Duration::from_secs_f64(self.run.setup_timeout());
        let place = |name: &str| self.places.text(name, seed, None);
        // what a config decides is not set here
        let with = self.run.around(self.kernel.parameters.len());
        let ended = self.step_with(build::words(templates, &env, &place)?, with, &env, &place, limit)?.run()?;
        match ended.failure() {
            Some(fault) => Err(Error::Failed(format!("{what}: {}", fault.detail))),
            None => Ok(()),
        }
    }

    /// Ends the problem that was loaded before, also by a process that was killed since.
    fn unload(&mut self) -> Result<()> {
        self.served = None;
        self.loaded = None;
        if let Some(left) = self.places.left_behind() {
            let problem = self.kernel.problem(&left.problem);
            let torn_down = problem.and_then(|problem| self.around("teardown", &problem, left.seed));
            self.places.forget()?;
            torn_down?;
        }
        Ok(())
    }

    /// Builds what a config needs; returns the folder, where something is built.
    fn build(&self, problem: &Problem, config: &Config) -> Result<Attempt<Option<PathBuf>>> {
        if self.run.build.is_empty() {
            return Ok(Ok(None));
        }
        let env = self.env(problem, Some(config));
        let limit = Duration::from_secs_f64(self.run.build_timeout());
        let built = build::build(&self.kernel, &self.run, &env, &|name| self.places.text(name, 0, None), limit)?;
        Ok(built.map(Some))
    }

    /// What cannot be tried at all is told as the config's failure, since others may work, where it is not the machine that fails: no more processes,
    /// a disk that is full.
    fn attempt_of_error<T>(&mut self, e: Error) -> Attempt<T> {
        let failure = Invalidity::new(InvalidityKind::Runtime, e.to_string());
        self.trouble = Some(e).filter(|e| matches!(e, Error::Failed(_)));
        Err(failure)
    }

    /// Runs a config once.
    fn once(&mut self, work: &Prepared, samples: usize) -> Result<Attempt<Reported>> {
        let (problem, seed) = match self.problem() {
            Ok(loaded) => loaded,
            Err(fault) => return Ok(Err(fault)),
        };
        if self.run.spec.serve {
            return self.ask(&problem, work, seed, samples);
        }
        let env = self.env(&problem, Some(&work.config));
        let place = |name: &str| self.places.text(name, seed, work.build.as_deref());
        for (file, text) in &self.run.input {
            let text = text.fill(&env, &place)?;
            let path = self.places.work.join(file);
            // what the program has put in its place, as a pipe that nobody reads
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, text).map_err(|e| Error::Failed(format!("{}: {e}", path.display())))?;
        }
        let words = build::words(&self.run.command, &env, &place)?;
        let ended: Ended = self.step(words, &env, &place, self.limit)?.run()?;
        match self.patterns.read(ended, self.kernel.flops(&problem)) {
            Read::Done(found) => Ok(found),
            Read::Endless(fault) => {
                self.is_searching = true;
                Ok(Err(fault))
            }
        }
    }

    /// Asks a program that was started once.
    fn ask(&mut self, problem: &Problem, work: &Prepared, seed: u64, samples: usize) -> Result<Attempt<Reported>> {
        let mut served = match self.served.take().filter(|served| !served.has_ended()) {
            Some(served) => served,
            None => {
                let env = self.env(problem, None);
                let place = |name: &str| self.places.text(name, seed, work.build.as_deref());
                let words = build::words(&self.run.command, &env, &place)?;
                Served::start(&self.step(words, &env, &place, self.limit)?)?
            }
        };
        let build = work.build.as_ref().map(|folder| folder.display().to_string());
        let asked = served::Question { kernel: &self.kernel, problem, config: &work.config, seed, samples, build };
        let answer = served.ask(&asked, self.limit);
        // who did not answer, or not sensibly, is not asked again
        if !served.is_confused() {
            self.served = Some(served);
        }
        Ok(answer)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // a teardown that fails at the end concerns no config
        let _ = self.unload();
    }
}

impl Subject for Program {
    type Work = Prepared;

    fn compile(&mut self, problem: &Problem, config: &Config) -> Result<Option<Invalidity>> {
        Ok(self.build(problem, config)?.err())
    }

    fn load(&mut self, problem: &Problem, case: Case) -> Result<()> {
        let seed = case.seed;
        if case != Case::of_seed(seed) {
            return Err(Error::Failed("a program makes its own data".into()));
        }
        if self.loaded.as_ref() == Some(&(problem.clone(), seed)) {
            return Ok(());
        }
        self.unload()?;
        self.places.begin(&self.kernel.show_problem(problem), seed)?;
        self.around("setup", problem, seed)?;
        self.loaded = Some((problem.clone(), seed));
        Ok(())
    }

    fn make_room(&mut self) {
        self.reported.clear();
    }

    fn prepare(&mut self, config: Option<&Config>) -> Attempt<Prepared> {
        let Some(config) = config else {
            return Err(Invalidity::new(InvalidityKind::Runtime, "a program has no vendor's library beside it"));
        };
        let (problem, _) = self.problem()?;
        let build = self.build(&problem, config).unwrap_or_else(|e| self.attempt_of_error(e))?;
        self.reported.push(Reported::default());
        Ok(Prepared { config: config.clone(), at: self.reported.len() - 1, build })
    }

    fn verify(&mut self, work: &Prepared) -> Result<Attempt<f64>> {
        Ok(self.once(work, 1)?.map(|found| found.times_us.first().copied().unwrap_or_default() as f64))
    }

    fn launch(&mut self, work: &Prepared, repeat: usize, _timing: Timing) -> Attempt<Vec<f32>> {
        let mut times = Vec::new();
        while times.len() < repeat.max(1) {
            let left = repeat.max(1) - times.len();
            let found = self.once(work, left).unwrap_or_else(|e| self.attempt_of_error(e))?;
            times.extend(&found.times_us);
            if let Some(reported) = self.reported.get_mut(work.at) {
                reported.add(found);
            }
        }
        Ok(times)
    }

    fn checks_each_launch(&self) -> bool {
        true
    }

    fn is_poisoned(&self) -> bool {
        self.is_searching
    }

    fn trouble(&mut self) -> Option<Error> {
        self.trouble.take()
    }

    fn reported_energy(&self, work: &Prepared) -> Option<Energy> {
        self.reported.get(work.at)?.energy()
    }

    fn observe(&self, work: &Prepared) -> Observed {
        let counters = self.reported.get(work.at).map_or(BTreeMap::new(), Reported::counters);
        Observed { counters, ..Observed::default() }
    }

    fn energy_meter(&mut self) -> std::result::Result<Box<dyn EnergyMeter>, String> {
        powercap::open()
    }

    fn peaks(&mut self) -> Result<Peaks> {
        Err(Error::Input(
            "a program ([run]) computes on a device that is not opened here, so its peaks are not known".into(),
        ))
    }

    fn library(&mut self) -> std::result::Result<String, String> {
        Err("a program ([run]) has no vendor's library beside it".into())
    }
}
