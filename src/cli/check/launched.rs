//! `seqtune check KERNEL --device DEVICE`: a config launched on every kind of data that it is to be right on.

use seqtune_console::answer::tell;
use seqtune_console::inputs::problems;
use seqtune_console::signals::end_with;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use seqtune_measure::engine::Engine;
use seqtune_measure::races::{Races, find_races};
use seqtune_measure::registry::device_for;
use seqtune_measure::verify::case::Case;
use seqtune_measure::verify::other_problems::{LARGE, other_problems};
use seqtune_measure::verify::workload::SEED;
use seqtune_measure::worker::setup::Setup;

/// Problems drawn where the config is not legal for that of middle sizes.
const DRAWN: usize = 40;

/// What is launched, and where.
#[derive(clap::Args)]
pub struct Launch {
    /// Device to launch a kernel's config on: `live` or an id such as `cuda:0` or `opencl:0`
    ///
    /// The result is compared with the reference, on other kinds of input, in other orders of work-items and at odd sizes, as `validate` does with
    /// the best configs. Without it nothing is launched.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Problem to launch it for; may be repeated
    ///
    /// [default: one of middle sizes]
    #[arg(long, value_name = "PROBLEM", requires = "device")]
    problem: Vec<String>,
    /// Config to launch
    ///
    /// [default: the kernel's default]
    #[arg(long, value_name = "CONFIG", requires = "device")]
    config: Option<String>,
}

impl Launch {
    /// Whether something is to be launched.
    pub fn is_wanted(&self) -> bool {
        self.device.is_some()
    }

    /// Launches a kernel's config, and returns the cases that it was right on.
    ///
    /// # Errors
    /// [`Error::Failed`] where a result is wrong, with the case; [`Error::Input`] where the config is not legal for a problem.
    pub fn run(&self, kernel: &Kernel, folder: &str) -> Result<Vec<String>> {
        let Some(named) = &self.device else { return Ok(Vec::new()) };
        kernel.source()?;
        let device = device_for(kernel, named)?;
        let config = match &self.config {
            Some(text) => kernel.config(text).map_err(|e| e.at_place("--config"))?,
            None => kernel.default_config(),
        };
        let problems = match self.problem.is_empty() {
            true => vec![usual_problem(kernel, &device, &config)?],
            false => problems(kernel, &self.problem)?,
        };
        for problem in &problems {
            if let Some(why) = ConfigSpace::new(kernel, problem, &device).violation(&config) {
                let (config, problem) = (kernel.show_config(&config), kernel.brief_problem(problem));
                return input(format!("{config} is not legal for {problem}: {why}; name another with --config"));
            }
        }
        end_with(|| "nothing is kept of a check".into())?;
        let setup = Setup::new(kernel, folder, named, None)?;
        let mut engine = Engine::new(setup.clone(), 1);
        let mut launched = Vec::new();
        for problem in &problems {
            let (shown, brief) = (kernel.show_config(&config), kernel.brief_problem(problem));
            tell(&format!("launching {shown} for {brief}"));
            let mut cases = check(&mut engine, kernel, &device, problem, &config)?;
            match find_races(&setup, kernel, &device, problem, &config)? {
                Races::Found(race) => {
                    return Err(Error::Failed(format!("{}: {shown} is wrong on Oclgrind: {race}", kernel.place)));
                }
                Races::Absent(small) => cases.push(format!("without races for {}", kernel.brief_problem(&small))),
                Races::Unknown(why) => cases.push(format!("races unknown: {why}")),
            }
            launched.push(format!("{shown} for {brief} on {}: {}", device.name, cases.join("; ")));
        }
        Ok(launched)
    }
}

/// A problem of middle sizes, or a smaller one where the config is not legal for that.
fn usual_problem(kernel: &Kernel, device: &Device, config: &Config) -> Result<Problem> {
    let middle = kernel.problem(&kernel.middle_problem())?;
    let mut all = std::iter::once(middle.clone()).chain(other_problems(kernel, &middle, DRAWN, LARGE));
    let legal = all.find(|problem| ConfigSpace::new(kernel, problem, device).is_legal(config));
    legal.ok_or_else(|| {
        Error::Input("no problem was found for which the config is legal; name one with --problem".into())
    })
}

/// The cases of a problem that a config is right on.
fn check(
    engine: &mut Engine,
    kernel: &Kernel,
    device: &Device,
    problem: &Problem,
    config: &Config,
) -> Result<Vec<String>> {
    let configs = [config.clone()];
    let wrong = |detail: &str| {
        let (config, problem) = (kernel.show_config(config), kernel.brief_problem(problem));
        Error::Failed(format!("{}: {config} is wrong for {problem}: {detail}", kernel.place))
    };
    let first = engine.measurer.check(kernel, problem, &configs, Case::of_seed(SEED))?;
    let first = first.map_err(|reason| {
        let problem = kernel.brief_problem(problem);
        Error::Failed(format!("{}: nothing can be checked for {problem}: {reason}", kernel.place))
    })?;
    if let Some(fault) = first.into_iter().flatten().next() {
        return Err(wrong(&fault.detail));
    }
    let confirmation = engine.confirm(kernel, device, problem, &configs)?;
    match confirmation.faults.into_iter().flatten().next() {
        Some(fault) => Err(wrong(&fault.detail)),
        None => Ok(confirmation.cases),
    }
}
