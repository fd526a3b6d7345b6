//! `seqtune validate`

use crate::cli::progress::Bar;
use answer::{Answer, Predicted, draw, table};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_data::recipe::{Policy, Provenance};
use seqtune_data::{Header, Journal, Observed, Outcome, Record};
use seqtune_measure::measuring::roofline::device_fill;
use seqtune_measure::registry::live_device;
use seqtune_measure::verify::workload::geometry;
use seqtune_measure::worker::client::{Client, Setup, compile_all};
use seqtune_predict::candidate::Candidate;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::Objective;
use seqtune_predict::kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use seqtune_predict::model::Model;
use seqtune_predict::predictor::{Predictor, WIDTH};
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
    args.plot.as_deref().map_or(Ok(()), crate::cli::outputs::check_writable)?;
    let kernel = Kernel::open(&args.kernel)?;
    kernel.source()?;
    let model = Model::load_for(&args.model, &kernel.name)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let problems = crate::cli::inputs::problems(&kernel, &args.problems)?;
    model.check_objective(args.objective)?;
    let device = live_device(&args.device)?;
    crate::cli::inputs::warn_of_unseen(&model, &device);
    let predicted = predictor.predict(&problems, &device, args.objective, (args.top, args.top.max(WIDTH)), 1)?;
    let setup = Setup::new(&args.kernel, &args.device, args.timeout)?;
    let energy = args.energy || args.objective != Objective::Time;
    let policy = Policy { energy, min_samples: 5, max_samples: 60, budget_ms: 100.0, ..Policy::of(&device) };
    let header =
        Header::new(&kernel, &device, args.seed, Provenance::measured(policy), crate::cli::outputs::command_line());
    let learn = args.learn.as_ref().map(|path| Journal::open(path, header)).transpose()?;
    let mut bench = Bench::new(setup, policy, args.objective, (args.search, args.seed));
    bench.learn = learn;
    let peaks = bench.measurer.peaks()?;
    let library = bench.measurer.library()?;
    bench.library = library.clone().ok();
    let mut bar = Bar::new("validate", problems.len() as u64);
    let (mut measured, mut answers, mut failed, mut seen) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (i, (problem, candidates)) in problems.iter().zip(&predicted).enumerate() {
        if i > 0 && args.budget.is_some_and(|budget| began.elapsed() >= budget) {
            break;
        }
        bar.at(i, &kernel.brief_problem(problem));
        seen += 1;
        let mut answer = match bench.problem(&kernel, &device, problem, candidates)? {
            Ok(answer) => answer,
            Err(reason) => {
                failed.push(format!("{} could not be measured: {reason}", kernel.brief_problem(problem)));
                continue;
            }
        };
        if let (true, None, Some(reason)) =
            (answers.is_empty() && args.objective != Objective::Time, answer.best_joules, &bench.unmetered)
        {
            return Err(Error::Unavailable(format!("--objective {}: no energy is metered: {reason}", args.objective)));
        }
        answer.judge(&kernel, &peaks);
        measured.push(problem.clone());
        answers.push(answer);
    }
    bar.end();
    if let ([], [first, ..]) = (&answers[..], &failed[..]) {
        return Err(Error::Failed(first.clone()));
    }
    failed.iter().for_each(|failed| eprintln!("seqtune: warning: {failed}"));
    if seen < problems.len() {
        eprintln!("seqtune: the budget is spent at {seen} of {} problems", problems.len());
    }
    if let Some(reason) = &bench.unmetered {
        eprintln!("seqtune: warning: no energy was metered: {reason}");
    }
    if let Some(path) = &args.plot {
        draw(path, &kernel, &measured, &answers, &device)?;
    }
    if args.json {
        return answers.iter().try_for_each(crate::cli::answer::answer_json);
    }
    crate::cli::answer::answer(&table(&kernel, &measured, &answers));
    if let (true, Err(reason)) = (kernel.source()?.gemm.is_some(), &library) {
        crate::cli::answer::answer(&format!("Nothing of the vendor's is measured beside it: {reason}."));
    }
    let matrix = peaks.matrix_gflops.map_or(String::new(), |peak| format!(", {peak:.0} in f16 on tensor cores"));
    let sparse = match answers.iter().any(|a| a.filled.is_some()) {
        true => ", below 60 % where it fills less than a quarter of the device",
        false => "",
    };
    crate::cli::answer::answer(&format!(
        "The device reaches {:.0} GFLOP/s in f32{matrix} and {:.0} GB/s here at best; below 40 % of both a kernel is bound by latency{sparse}.",
        peaks.f32_gflops, peaks.bandwidth_gbs
    ));
    Ok(())
}

/// Workers that compile and measure one problem after the other.
struct Bench {
    compilers: Vec<Client>,
    measurer: Client,
    policy: Policy,
    objective: Objective,
    search: usize,
    rng: ChaCha8Rng,
    /// Where what is measured is kept.
    learn: Option<Journal>,
    /// The vendor's library, where there is one.
    library: Option<String>,
    /// Why a config has no energy where it was asked for.
    unmetered: Option<String>,
}

impl Bench {
    fn new(setup: Setup, policy: Policy, objective: Objective, (search, seed): (usize, u64)) -> Bench {
        let cores = cores();
        Bench {
            compilers: (0..cores).map(|_| Client::new(setup.clone())).collect(),
            measurer: Client::new(setup),
            policy,
            objective,
            search,
            rng: ChaCha8Rng::seed_from_u64(seed),
            learn: None,
            library: None,
            unmetered: None,
        }
    }

    /// Measures a problem; the inner error is of it alone.
    fn problem(
        &mut self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        candidates: &[Candidate],
    ) -> Result<std::result::Result<Answer, String>> {
        let space = ConfigSpace::new(kernel, problem, device);
        let mut configs: Vec<Config> = candidates.iter().map(|c| c.config.clone()).collect();
        let default = kernel.default_config();
        let random = space.counter().sample_distinct(self.search, &mut self.rng);
        let default_legal = space.is_legal(&default);
        for config in default_legal.then_some(&default).into_iter().chain(&random) {
            if !configs.contains(config) {
                configs.push(config.clone());
            }
        }
        let jobs: Vec<(&Problem, &Config)> = configs.iter().map(|c| (problem, c)).collect();
        let mut outcomes: Vec<Option<Outcome>> = vec![None; configs.len()];
        compile_all(&mut self.compilers, kernel, &jobs, &|| true, &mut |i, fault| {
            outcomes[i] = fault.map(Outcome::Invalid);
        })?;
        let sound: Vec<usize> = (0..configs.len()).filter(|i| outcomes[*i].is_none()).collect();
        let to_measure: Vec<Config> = sound.iter().map(|i| configs[*i].clone()).collect();
        let mut by_library = None;
        let mut notes: Vec<Observed> = vec![Observed::default(); configs.len()];
        let unmetered = &mut self.unmetered;
        let measured = self.measurer.measure(
            kernel,
            problem,
            (&to_measure, self.library.is_some()),
            &self.policy,
            f64::INFINITY,
            &mut |i, outcome, observed| {
                *unmetered = unmetered.take().or(observed.unmetered.clone());
                match sound.get(i) {
                    Some(config) => (outcomes[*config], notes[*config]) = (Some(outcome), observed),
                    None => by_library = Some(outcome),
                }
                Ok(())
            },
        )?;
        if let Err(reason) = measured {
            return Ok(Err(reason));
        }
        let filled = candidates.first().and_then(|first| {
            let at = configs.iter().position(|c| *c == first.config)?;
            let launch = &kernel.source().ok()?.program;
            let groups = geometry(kernel, device, launch, problem, Some(&first.config)).groups();
            Some(device_fill(notes[at].resources.as_ref()?, groups, device.limits.compute_units?))
        });
        if let Some(journal) = &mut self.learn {
            let library_us = by_library.as_ref().and_then(Outcome::time_us).map(|us| us as f32);
            for ((config, outcome), note) in configs.iter().zip(&outcomes).zip(notes) {
                let Some(outcome) = outcome.clone() else { continue };
                let (problem, config) = (kernel.show_problem(problem), kernel.show_config(config));
                journal.append(Record { problem, config, outcome, observed: Observed { library_us, ..note } })?;
            }
        }
        let of = |config: &Config| configs.iter().position(|c| c == config).and_then(|i| outcomes[i].as_ref());
        let time = |config: &Config| of(config).and_then(Outcome::time_us);
        let joules = |config: &Config| of(config).and_then(Outcome::joules);
        let least = |configs: &[Config]| {
            let known = configs.iter().filter_map(|c| Some((c.clone(), of(c)?.cost(self.objective)?)));
            known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(config, _)| config)
        };
        let (found, best) = (least(&random), least(&configs));
        Ok(Ok(Answer {
            problem: kernel.show_problem(problem),
            device: device.name.clone(),
            objective: self.objective,
            predictions: candidates
                .iter()
                .map(|c| Predicted {
                    config: kernel.show_config(&c.config),
                    probability: c.probability,
                    predicted_us: c.time_us,
                    measured_us: time(&c.config),
                    measured_joules: joules(&c.config),
                    failure: match of(&c.config) {
                        Some(Outcome::Invalid(invalidity)) => Some(invalidity.clone()),
                        _ => None,
                    },
                })
                .collect(),
            default_us: default_legal.then(|| time(&default)).flatten(),
            default_joules: default_legal.then(|| joules(&default)).flatten(),
            search_config: found.as_ref().map(|c| kernel.show_config(c)),
            search_us: found.as_ref().and_then(time),
            search_joules: found.as_ref().and_then(joules),
            best_us: best.as_ref().and_then(time),
            best_joules: best.as_ref().and_then(joules),
            library: self.library.clone(),
            library_us: by_library.as_ref().and_then(Outcome::time_us),
            library_joules: by_library.as_ref().and_then(Outcome::joules),
            flops: kernel.flops(problem),
            bytes: kernel.bytes(problem),
            compute_share: None,
            memory_share: None,
            bound: None,
            filled,
        }))
    }
}
