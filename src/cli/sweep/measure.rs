//! `seqtune sweep`

use crate::cli::precompile;
use crate::cli::shards;
use crate::cli::sweep::summary;
use seqtune_console::answer::{answer_json, tell, warn, wrote};
use seqtune_console::outputs::{Kind, Replace, check_journal, claim};
use seqtune_console::progress::Bar;
use seqtune_console::signals::stop_at_signal;
use seqtune_data::recipe::{Cache, Policy, Provenance, Recipe};
use seqtune_data::{Dataset, Header, Journal, MeasuredProblem, NamedDataset, Table};
use seqtune_kernel::Objective;
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits;
use seqtune_kernel::threads::cores;
use seqtune_kernel::{ConfigSpace, Device, Kernel, Problem, ruled_out};
use seqtune_measure::programs::check_machine;
use seqtune_measure::registry::{check_language, compilers, device_for, open};
use seqtune_measure::sweep::Run;
use seqtune_measure::sweep::plan::{Choice, Planned, check_size, plan, pool_plan};
use seqtune_measure::worker::setup::Setup;
use seqtune_predict::{Acquisition, Model, Predictor, Query};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Batches of configs whose programs are compiled while a GPU measures.
const AHEAD: usize = 8;
/// Configs that a model is asked for, as a multiple of those measured, where those are kept that problems share; its beam is as much wider
/// again.
const SHARED: usize = 4;

/// What a sweep measures, and how.
#[derive(clap::Args)]
#[group(id = "measure")]
pub struct Args {
    /// Kernel name, or the path of its folder
    kernel: String,
    /// Problems, files of problems (one per line), or `-` for standard input
    #[arg(long, required = true, num_args = 1.., value_name = "PROBLEM|FILE")]
    problems: Vec<String>,
    /// Journal to write or resume
    #[arg(
        short,
        long,
        value_name = "FILE",
        required = false,
        required_unless_present = "compile_only",
        default_value_if("compile_only", "true", ".")
    )]
    output: PathBuf,
    /// Number of configs per problem, 1 to 1,000,000
    ///
    /// The default config comes first, then sampled ones.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = seqtune_console::value_parsers::count(1..=limits::SAMPLE))]
    sample: usize,
    /// Measure every legal config
    #[arg(long, conflicts_with = "sample")]
    exhaustive: bool,
    /// Folder of a model; measure the configs that it expects to be the best
    ///
    /// --sample is then the average per problem: many configs where the model is unsure, few where it is sure.
    #[arg(long, value_name = "MODEL", conflicts_with = "exhaustive")]
    guided: Option<PathBuf>,
    /// Quantity that a guided sweep minimizes
    ///
    /// With `energy` and `edp`, energy is measured.
    #[arg(long, value_parser = seqtune_console::value_parsers::objective(), default_value_t = Objective::Time, requires = "guided")]
    objective: Objective,
    /// Size of the pool of configs that problems share, 1 to 1,000,000
    ///
    /// [default: twice --sample; none with --guided]
    ///
    /// With --guided, the pool keeps the configs that the model ranks best for most problems, so that few programs are compiled.
    #[arg(long, value_name = "N", value_parser = seqtune_console::value_parsers::count(1..=limits::SAMPLE))]
    pool: Option<usize>,
    /// Earlier sweep whose configs become the pool
    ///
    /// It serves problems that share programs with the problems of that sweep. They need no more programs, and compare with the others.
    #[arg(long, value_name = "DATASET", conflicts_with_all = ["exhaustive", "guided"])]
    pool_of: Option<PathBuf>,
    /// Share of a problem's configs drawn for it alone, 0 to 1
    #[arg(long, default_value_t = 0.05, value_name = "SHARE", value_parser = seqtune_console::value_parsers::real(0.0..=1.0))]
    private_share: f64,
    /// Time after which the sweep stops (90s, 10m, 2h, or seconds)
    #[arg(long, visible_alias = "max-time", value_parser = seqtune_console::inputs::duration)]
    budget: Option<Duration>,
    /// Part of the problems to measure, such as `3/8` or `auto`
    ///
    /// `3/8` is part 3 of 8. Each part has its own journal. `auto` reads the part from an array of Slurm, LSF or Grid Engine. Write
    /// `auto/8` in an array of PBS or under GNU parallel.
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// Device to measure on: `live` or an id such as `cuda:0`, `hip:0` or `opencl:0`
    ///
    /// `live` is the first device found, GPUs before processors. For a program, `live` means the processors of this machine, and the
    /// name of a described device is allowed too.
    #[arg(long, default_value = "live")]
    device: String,
    /// Caches before each timed launch [default: cold on a GPU, warm on a CPU]
    #[arg(long, value_parser = seqtune_console::value_parsers::cache())]
    cache: Option<Cache>,
    /// Also measure the energy of each config; takes three seconds per config
    #[arg(long)]
    energy: bool,
    /// Time window for measuring the energy of a config, 0.1 to 60 seconds
    ///
    /// A shorter window takes less time and repeats less well.
    #[arg(long, requires = "energy", default_value_t = Recipe::default().window, value_name = "SECONDS", value_parser = seqtune_console::value_parsers::real(0.1..=60.0))]
    energy_window: f64,
    /// Also measure the vendor's library (cuBLAS)
    ///
    /// It is measured once for each problem that is not yet complete.
    #[arg(long)]
    library: bool,
    /// Compile the programs into the cache on disk and measure nothing
    ///
    /// The device may be a described one, so that no GPU is needed. This works for NVIDIA and AMD GPUs.
    #[arg(long, conflicts_with_all = ["output", "shard", "energy", "library", "pack", "timeout", "cache"])]
    compile_only: bool,
    /// Time after which an unresponsive config counts as hung (90s, 10m, 2h, or seconds)
    ///
    /// [default: 20s, or the timeout in the kernel's [run]]
    ///
    /// The environment variable SEQTUNE_SILENCE changes the 20 s.
    #[arg(long, value_parser = seqtune_console::inputs::duration)]
    timeout: Option<Duration>,
    /// Packed dataset (.sqt) to write too when the sweep is complete
    #[arg(long, value_name = "FILE")]
    pack: Option<PathBuf>,
    /// Seed of the random configs and their order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// The plan of a sweep that a model guides: the default config first, to compare with.
fn guided_plan(
    args: &Args,
    model: &Path,
    kernel: &Kernel,
    device: &Device,
    problems: &[Problem],
) -> Result<Vec<Planned>> {
    let model = Model::load_for(model, &kernel.name)?;
    model.check_objective(args.objective)?;
    seqtune_console::inputs::warn_of_unseen(&model.meta, device);
    check_size(args.sample as f64, problems.len())?;
    let default = kernel.default_config();
    let each = args.sample.saturating_sub(1).max(1);
    let query = Query { objective: args.objective, threads: cores(), ..Query::new(device) };
    // of more configs those are kept that problems share
    let asked = if args.pool.is_some() { (SHARED * each).min(limits::WIDTH / SHARED) } else { each };
    let acquisition = Acquisition { each: asked, fresh: args.private_share, seed: args.seed };
    let guide = Predictor::new(kernel, &model)?.acquire(problems, &query, acquisition)?;
    let guided = problems.iter().cloned().zip(guide);
    let mut plan: Vec<Planned> = guided.map(|(problem, configs)| Planned { problem, configs }).collect();
    if let Some(pool) = args.pool {
        plan = pool_plan(kernel, plan, pool);
        plan.iter_mut().for_each(|planned| planned.configs.truncate(each));
    }
    for Planned { problem, configs } in &mut plan {
        configs.retain(|c| *c != default);
        if ConfigSpace::new(kernel, problem, device).is_legal(&default) {
            configs.insert(0, default.clone());
        }
    }
    Ok(plan)
}

/// Refuses a packed form that would take the place of something else.
fn check(args: &Args) -> Result<()> {
    check_journal(&args.output)?;
    let Some(pack) = &args.pack else { return Ok(()) };
    if pack.extension().is_some_and(|e| e == "jsonl") {
        return input(format!("--pack {}: the packed form ends in .sqt", pack.display()));
    }
    if *pack == args.output || seqtune_console::outputs::is_same(pack, &args.output) {
        return input(format!("--pack {} is the journal; name another file", pack.display()));
    }
    let read: Vec<PathBuf> = args.problems.iter().map(PathBuf::from).collect();
    claim(pack, Kind::Dataset, Replace::OWN, &read).map_err(|e| e.at_place("--pack"))
}

/// Measures what the plan holds and the journal does not.
///
/// # Errors
/// The error of the kernel, the device or the journal; `Error::Failed` where no config works.
pub fn run(mut args: Args) -> Result<()> {
    let began = Instant::now();
    let shard = args.shard.as_deref().map(|text| shards::read_shards(text, &args.output)).transpose()?;
    if let Some(asked) = shard {
        args.output = shards::journal(&args.output, asked);
    }
    check(&args)?;
    let kernel = seqtune_console::inputs::kernel(&args.kernel)?;
    kernel.check_runs()?;
    let problems = problems(&args, &kernel)?;
    if args.compile_only {
        let device = seqtune_console::inputs::device(&args.device)?;
        let plan = make_plan(&args, &kernel, &device, &problems)?;
        let until = args.budget.map(|budget| began + budget);
        return precompile::run(&kernel, &device, &plan, until, stop_at_signal()?.as_ref());
    }
    check_machine(&kernel)?;
    let (device, ahead) = device(&args, &kernel)?;
    let policy = policy(&args, &kernel, &device);
    let provenance = Provenance::of_measurement(policy);
    let mut header = Header::new(&kernel, &device, args.seed, provenance, seqtune_console::outputs::command_line());
    let mut plan = None;
    if let Some(asked) = shard {
        let (part, shard) =
            shards::part(&kernel, make_plan(&args, &kernel, &device, &problems)?, asked, &choice(&args));
        (plan, header.shard) = (Some(part), Some(shard));
    }
    // what cannot be written to is refused before the work, and nothing is begun for a plan of nothing
    let there = args.output.exists().then(|| Journal::open(&args.output, header.clone())).transpose()?;
    let plan = plan.map_or_else(|| make_plan(&args, &kernel, &device, &problems), Ok)?;
    let count: usize = plan.iter().map(|planned| planned.configs.len()).sum();
    // of few problems a shard may get none
    if count == 0 && shard.is_none() {
        return nothing_is_legal(&kernel, &plan, &device);
    }
    let mut journal = there.map_or_else(|| Journal::open(&args.output, header), Ok)?;
    let policy = begun_with(&args, &journal, policy);
    let before = journal.dataset.records.len();
    let run = Run {
        setup: Setup::new(&kernel, &args.kernel, &args.device, args.timeout)?,
        policy,
        // all of a problem's in the same moments; energy takes seconds each, and what was not metered is lost when interrupted
        batch: if policy.energy { 16 } else { 128 },
        // who measures needs a core, and the driver another
        compilers: if ahead > 0 { cores().saturating_sub(2).max(1) } else { compilers(&device) },
        ahead,
        // planning counts too, but is no reason to measure nothing
        budget: args.budget.map(|budget| budget.saturating_sub(began.elapsed()).max(budget / 4)),
        library: args.library,
        stop: stop_at_signal()?,
    };
    let mut bar = Bar::new("sweep", count as u64);
    let report = run.run(&kernel, &plan, &mut journal, &mut |at, what| bar.move_to(at, what))?;
    bar.end();
    for (problem, reason) in &report.failed {
        warn(&format!("{problem} could not be measured: {reason}"));
    }
    match args.json {
        true => answer_json(&report)?,
        false => summary::show(&report, &journal, &args.output, before),
    }
    if let (Some(path), false) = (&args.pack, report.stopped) {
        Dataset::save_packed(&journal.dataset, path)?;
        wrote(path);
    }
    summary::finish(&report, &journal, &args.output, before)
}

/// The error of a plan without a config, with what rules them out for its first problem.
fn nothing_is_legal(kernel: &Kernel, plan: &[Planned], device: &Device) -> Result<()> {
    let why = plan.first().and_then(|first| ruled_out(kernel, &first.problem, device).map(|why| (&first.problem, why)));
    let why = why.map(|(problem, why)| format!("; for {}, {why}", kernel.show_problem(problem))).unwrap_or_default();
    input(format!("no config of {} is legal for any of the problems on {}{why}", kernel.name, device.name))
}

/// The problems to measure; one that is named twice is measured once.
fn problems(args: &Args, kernel: &Kernel) -> Result<Vec<Problem>> {
    let mut problems = seqtune_console::inputs::problems(kernel, &args.problems)?;
    let mut named = HashSet::new();
    problems.retain(|problem| named.insert(kernel.show_problem(problem)));
    Ok(problems)
}

/// How configs are chosen, for the hash of a plan.
fn choice(args: &Args) -> String {
    let Args { sample, exhaustive, guided, pool, pool_of, private_share: fresh, seed, .. } = args;
    // a plan without it keeps its hash: shards that are begun go on
    let pool_of = pool_of.as_ref().map_or(String::new(), |path| format!(" {}", path.display()));
    let (guided, pool) = (guided.canonical(), pool.canonical());
    format!("{sample} {exhaustive} {guided} {pool} {fresh} {seed}{pool_of}")
}

/// The device, and the batches whose programs are compiled ahead.
fn device(args: &Args, kernel: &Kernel) -> Result<(Device, usize)> {
    if kernel.run.is_some() {
        // what builds disturbs what runs
        return Ok((device_for(kernel, &args.device)?, 0));
    }
    let executor = open(&args.device)?;
    check_language(kernel, executor.device())?;
    // who finishes programs by launching them would disturb what is measured
    let ahead = if executor.finishes_at_launch() { 0 } else { AHEAD };
    Ok((executor.device().clone(), ahead))
}

/// How each config is measured.
fn policy(args: &Args, kernel: &Kernel, device: &Device) -> Policy {
    let standard = Policy::of_kernel(kernel, device);
    Policy {
        cache: args.cache.unwrap_or(standard.cache),
        energy: args.energy || args.objective != Objective::Time,
        energy_window: args.energy_window,
        ..standard
    }
}

/// The policy that a journal was begun with.
fn begun_with(args: &Args, journal: &Journal, policy: Policy) -> Policy {
    let begun = journal.dataset.header.provenance.policy().copied().unwrap_or(policy);
    if begun != policy {
        let path = args.output.display();
        tell(&format!(
            "seqtune: {path} was begun by a version with other rules of when a config is done; it goes on by them"
        ));
    }
    begun
}

/// The configs to measure for each problem.
fn make_plan(args: &Args, kernel: &Kernel, device: &Device, problems: &[Problem]) -> Result<Vec<Planned>> {
    let swept = args.pool_of.as_ref().map_or(Ok(Vec::new()), |path| swept(kernel, path))?;
    let pool = args.pool.unwrap_or(2 * args.sample);
    let choice = match args.exhaustive {
        true => Choice::Exhaustive,
        false => Choice::Sample { configs: args.sample, pool, swept: &swept, fresh: args.private_share },
    };
    match &args.guided {
        Some(model) => guided_plan(args, model, kernel, device, problems),
        None => plan(kernel, device, problems, choice, args.seed),
    }
}

/// The problems of an earlier sweep of the kernel.
fn swept(kernel: &Kernel, path: &Path) -> Result<Vec<MeasuredProblem>> {
    Ok(Table::new(kernel, &[NamedDataset::new(format!("--pool-of {}", path.display()), Dataset::load(path)?)])?
        .problems)
}
