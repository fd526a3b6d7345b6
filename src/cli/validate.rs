//! `seqtune validate`

use crate::cli::progress::Bar;
use answer::{Answer, Predicted, draw, page, table};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::recipe::{Policy, Provenance};
use seqtune_data::{Header, Journal, Observed, Outcome, Record};
use seqtune_measure::batch::{Batch, Contender, Ending};
use seqtune_measure::engine::Engine;
use seqtune_measure::measuring::roofline::{Peaks, device_fill};
use seqtune_measure::registry::live_device;
use seqtune_measure::verify::workload::geometry;
use seqtune_measure::worker::client::Setup;
use seqtune_predict::Query;
use seqtune_predict::candidate::Candidate;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::files::write_whole;
use seqtune_predict::kernel::Objective;
use seqtune_predict::kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use seqtune_predict::model::Model;
use seqtune_predict::predictor::Predictor;
use seqtune_predict::threads::cores;
use std::path::PathBuf;
use std::time::{Duration, Instant};

mod answer;

/// Measures the top K predicted configs on the live device, interleaved, beside the kernel's default
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model
    model: PathBuf,
    /// Kernel name, or the path of its folder
    kernel: String,
    /// Problems, files of problems (one a line), or `-` for standard input
    #[arg(required = true)]
    problems: Vec<String>,
    /// Predicted configs measured per problem
    #[arg(long, default_value_t = 5, value_name = "K")]
    top: usize,
    /// Also measures so many random legal configs per problem
    #[arg(long, default_value_t = 0, value_name = "N")]
    search: usize,
    /// Device: `live`, `cuda:0` or `opencl:0`
    #[arg(long, default_value = "live")]
    device: String,
    /// What the first choice is to be best at, and what configs are compared by; energy and EDP are metered
    #[arg(long, value_parser = crate::cli::words::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Also meters the joules of each config, which takes three seconds each
    #[arg(long)]
    energy: bool,
    /// Appends what is measured to this journal, for `train --from MODEL` to learn
    #[arg(long, value_name = "JOURNAL")]
    learn: Option<PathBuf>,
    /// Also draws the comparison as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Also writes the comparison as one HTML page with its plot
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Begins no further problem after this long (90s, 10m, 2h), and shows those that were measured
    #[arg(long, value_parser = crate::cli::inputs::duration)]
    budget: Option<Duration>,
    /// Time after which a silent config counts as hanging
    #[arg(long, default_value = "20s", value_parser = crate::cli::inputs::duration)]
    timeout: Duration,
    /// Seed of the random configs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object per problem
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    let began = Instant::now();
    if args.top == 0 {
        return input("--top must be at least 1");
    }
    for file in [&args.plot, &args.html].into_iter().flatten() {
        crate::cli::outputs::check_writable(file)?;
    }
    let kernel = Kernel::open(&args.kernel)?;
    kernel.source()?;
    let model = Model::load_for(&args.model, &kernel.name)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let problems = crate::cli::inputs::problems(&kernel, &args.problems)?;
    model.check_objective(args.objective)?;
    let device = live_device(&args.device)?;
    crate::cli::inputs::warn_of_unseen(&model, &device);
    let predicted =
        predictor.predict(&problems, &Query { objective: args.objective, top: args.top, ..Query::new(&device) })?;
    let setup = Setup::new(&args.kernel, &args.device, args.timeout)?;
    let energy = args.energy || args.objective != Objective::Time;
    let policy = Policy { energy, min_samples: 5, max_samples: 60, budget_ms: 100.0, ..Policy::of(&device) };
    let header =
        Header::new(&kernel, &device, args.seed, Provenance::measured(policy), crate::cli::outputs::command_line());
    let learn = args.learn.as_ref().map(|path| Journal::open(path, header)).transpose()?;
    let mut bench = Bench::new(setup, policy, args.objective, (args.search, args.seed));
    bench.learn = learn;
    let before = bench.engine.measurer.peaks()?;
    let library = bench.engine.measurer.library()?;
    bench.library = library.clone().ok();
    let mut bar = Bar::new("validate", problems.len() as u64);
    let mut validated = Validated::default();
    for (i, (problem, candidates)) in problems.iter().zip(&predicted).enumerate() {
        if i > 0 && args.budget.is_some_and(|budget| began.elapsed() >= budget) {
            break;
        }
        bar.at(i, &kernel.brief_problem(problem));
        validated.seen += 1;
        match bench.problem(&kernel, &device, problem, candidates)? {
            Ok(answer) => validated.add(problem, answer),
            Err(reason) => {
                let failed = format!("{} could not be measured: {reason}", kernel.brief_problem(problem));
                validated.failed.push(failed);
                continue;
            }
        }
        validated.check_energy(args.objective, bench.unmetered.as_deref())?;
    }
    bar.end();
    // again: the machine may have been busy at first
    let peaks = before.higher(bench.engine.measurer.peaks()?);
    validated.answers.iter_mut().for_each(|answer| answer.place(&kernel, &peaks, policy.cache));
    validated.warn(problems.len(), bench.unmetered.as_deref())?;
    let Validated { measured, answers, .. } = &validated;
    if let Some(path) = &args.plot {
        write_whole(path, draw(&kernel, measured, answers, &device)?.as_bytes())?;
    }
    if let Some(path) = &args.html {
        let model = format!("{}, {}", args.model.display(), model.digest());
        page(&kernel, measured, answers, &device, model)?.write(path)?;
    }
    if args.json {
        return answers.iter().try_for_each(crate::cli::answer::answer_json);
    }
    crate::cli::answer::answer(&table(&kernel, measured, answers));
    if let (true, Err(reason)) = (kernel.source()?.gemm.is_some(), &library) {
        crate::cli::answer::answer(&format!("Nothing of the vendor's is measured beside it: {reason}."));
    }
    crate::cli::answer::answer(&roofline(&peaks, answers.iter().any(|a| a.filled.is_some())));
    Ok(())
}

/// What the device reaches at best, how that was measured, and how a bound is told from it.
fn roofline(peaks: &Peaks, fill_is_known: bool) -> String {
    let matrix = peaks.matrix_gflops.map_or(String::new(), |peak| format!(", {peak:.0} in f16 on tensor cores"));
    let cached = peaks
        .cache_gbs
        .map_or(String::new(), |gbs| format!(", {gbs:.0} GB/s within {:.0} MB of cache", peaks.cache_bytes / 1e6));
    let sparse = if fill_is_known { ", below 60 % where it fills less than a quarter of the device" } else { "" };
    format!(
        "Peak here: {:.0} GFLOP/s in f32{matrix} (chains of multiply-adds in registers), {:.0} GB/s from memory{cached} (copies): the fastest \
         launches before and after the validation. Below 40 % of both a kernel is bound by latency{sparse}.",
        peaks.f32_gflops, peaks.bandwidth_gbs
    )
}

/// What came of all problems.
#[derive(Default)]
struct Validated {
    /// Problems that were begun, and those that were measured.
    seen: usize,
    measured: Vec<Problem>,
    answers: Vec<Answer>,
    /// Why others were not.
    failed: Vec<String>,
}

impl Validated {
    fn add(&mut self, problem: &Problem, answer: Answer) {
        self.measured.push(problem.clone());
        self.answers.push(answer);
    }

    /// Refuses to go on for an objective that nothing meters.
    fn check_energy(&self, objective: Objective, unmetered: Option<&str>) -> Result<()> {
        match (&self.answers[..], unmetered) {
            ([first], Some(reason)) if objective != Objective::Time && first.best_joules.is_none() => {
                Err(Error::Unavailable(format!("--objective {objective}: no energy is metered: {reason}")))
            }
            _ => Ok(()),
        }
    }

    /// Warnings of what is missing; an error where nothing was measured.
    fn warn(&self, problems: usize, unmetered: Option<&str>) -> Result<()> {
        if let ([], [first, ..]) = (&self.answers[..], &self.failed[..]) {
            return Err(Error::Failed(first.clone()));
        }
        self.failed.iter().for_each(|failed| eprintln!("seqtune: warning: {failed}"));
        if self.seen < problems {
            eprintln!("seqtune: the budget is spent at {} of {problems} problems", self.seen);
        }
        if let Some(reason) = unmetered {
            eprintln!("seqtune: warning: no energy was metered: {reason}");
        }
        Ok(())
    }
}

/// What is measured of each problem, and by what.
struct Bench {
    engine: Engine,
    policy: Policy,
    objective: Objective,
    /// Random configs per problem.
    search: usize,
    rng: ChaCha8Rng,
    /// Where what is measured is kept.
    learn: Option<Journal>,
    /// The vendor's library, where there is one.
    library: Option<String>,
    /// Why a config has no energy where it was asked for.
    unmetered: Option<String>,
}

/// What was measured for a problem: its configs with what came of each.
struct Found {
    configs: Vec<Config>,
    results: Vec<Option<(Outcome, Observed)>>,
    library: Option<Outcome>,
}

impl Found {
    fn outcome(&self, config: &Config) -> Option<&Outcome> {
        let at = self.configs.iter().position(|c| c == config)?;
        self.results[at].as_ref().map(|(outcome, _)| outcome)
    }

    fn time(&self, config: &Config) -> Option<f64> {
        self.outcome(config).and_then(Outcome::time_us)
    }

    fn joules(&self, config: &Config) -> Option<f64> {
        self.outcome(config).and_then(Outcome::joules)
    }

    /// The cheapest of these configs.
    fn best(&self, among: &[Config], objective: Objective) -> Option<Config> {
        let known = among.iter().filter_map(|c| Some((c, self.outcome(c)?.cost(objective)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(config, _)| config.clone())
    }
}

impl Bench {
    fn new(setup: Setup, policy: Policy, objective: Objective, (search, seed): (usize, u64)) -> Bench {
        Bench {
            engine: Engine::new(setup, cores()),
            policy,
            objective,
            search,
            rng: ChaCha8Rng::seed_from_u64(seed),
            learn: None,
            library: None,
            unmetered: None,
        }
    }

    /// Measures a problem; the reason where its data or reference cannot be made.
    fn problem(
        &mut self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        candidates: &[Candidate],
    ) -> Result<std::result::Result<Answer, String>> {
        let space = ConfigSpace::new(kernel, problem, device);
        let mut configs: Vec<Config> = candidates.iter().map(|c| c.config.clone()).collect();
        let default = Some(kernel.default_config()).filter(|default| space.is_legal(default));
        let random = space.counter().sample_distinct(self.search, &mut self.rng);
        for config in default.iter().chain(&random) {
            if !configs.contains(config) {
                configs.push(config.clone());
            }
        }
        let found = match self.measure(kernel, problem, configs)? {
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        self.keep(kernel, problem, &found)?;
        let filled = candidates.first().and_then(|first| filled(kernel, device, problem, &first.config, &found));
        let (searched, best) = (found.best(&random, self.objective), found.best(&found.configs, self.objective));
        let time = |config: Option<&Config>| config.and_then(|config| found.time(config));
        let joules = |config: Option<&Config>| config.and_then(|config| found.joules(config));
        Ok(Ok(Answer {
            problem: kernel.show_problem(problem),
            device: device.name.clone(),
            objective: self.objective,
            predictions: candidates.iter().map(|candidate| predicted(kernel, candidate, &found)).collect(),
            default_us: time(default.as_ref()),
            default_joules: joules(default.as_ref()),
            search_config: searched.as_ref().map(|c| kernel.show_config(c)),
            search_us: time(searched.as_ref()),
            search_joules: joules(searched.as_ref()),
            best_us: time(best.as_ref()),
            best_joules: joules(best.as_ref()),
            library: self.library.clone(),
            library_us: found.library.as_ref().and_then(Outcome::time_us),
            library_joules: found.library.as_ref().and_then(Outcome::joules),
            flops: kernel.flops(problem),
            bytes: kernel.bytes(problem),
            compute_share: None,
            memory_share: None,
            bound: None,
            filled,
        }))
    }

    fn measure(
        &mut self,
        kernel: &Kernel,
        problem: &Problem,
        configs: Vec<Config>,
    ) -> Result<std::result::Result<Found, String>> {
        let mut results = vec![None; configs.len()];
        let (mut by_library, unmetered) = (None, &mut self.unmetered);
        let batch = Batch { problem, configs: &configs, library: self.library.is_some(), best_us: f64::INFINITY };
        let ending = self.engine.measure(kernel, batch, &self.policy, &mut |measured| {
            *unmetered = unmetered.take().or(measured.observed.unmetered.clone());
            match measured.contender {
                Contender::Config(at) => results[at] = Some((measured.outcome, measured.observed)),
                Contender::Library => by_library = Some(measured.outcome),
            }
            Ok(())
        })?;
        Ok(match ending {
            Ending::Complete => Ok(Found { configs, results, library: by_library }),
            Ending::Unmeasurable(reason) => Err(reason),
        })
    }

    /// Appends what was found to the journal that is learned from, where one was named.
    fn keep(&mut self, kernel: &Kernel, problem: &Problem, found: &Found) -> Result<()> {
        let Some(journal) = &mut self.learn else { return Ok(()) };
        let library_us = found.library.as_ref().and_then(Outcome::time_us).map(|us| us as f32);
        for (config, result) in found.configs.iter().zip(&found.results) {
            let Some((outcome, observed)) = result.clone() else { continue };
            let (problem, config) = (kernel.show_problem(problem), kernel.show_config(config));
            journal.append(Record { problem, config, outcome, observed: Observed { library_us, ..observed } })?;
        }
        Ok(())
    }
}

/// Share of the device's places for work-items that a config fills, where the compiler tells what it needs.
fn filled(kernel: &Kernel, device: &Device, problem: &Problem, config: &Config, found: &Found) -> Option<f64> {
    let at = found.configs.iter().position(|c| c == config)?;
    let resources = found.results[at].as_ref()?.1.resources.as_ref()?;
    let groups = geometry(kernel, device, &kernel.source().ok()?.program, problem, Some(config)).groups();
    Some(device_fill(resources, groups, device.limits.compute_units?))
}

/// A prediction beside what was measured of it.
fn predicted(kernel: &Kernel, candidate: &Candidate, found: &Found) -> Predicted {
    Predicted {
        config: kernel.show_config(&candidate.config),
        probability: candidate.probability,
        predicted_us: candidate.time_us,
        measured_us: found.time(&candidate.config),
        measured_joules: found.joules(&candidate.config),
        failure: match found.outcome(&candidate.config) {
            Some(Outcome::Invalid(invalidity)) => Some(invalidity.clone()),
            _ => None,
        },
    }
}
