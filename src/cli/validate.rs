//! `seqtune validate`

use super::progress::Bar;
use crate::dataset::{Invalidity, Objective, Outcome};
use crate::error::{Result, input};
use crate::eval::plot;
use crate::executor::child::{Child, Setup, compile_all};
use crate::executor::peaks::{Bound, Peaks};
use crate::executor::{Policy, live_device};
use crate::kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use crate::model::{Candidate, Model, Predictor};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

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
    #[arg(long, value_enum, default_value_t = Objective::Time)]
    objective: Objective,
    /// Also meters the joules of each config, which takes three seconds each
    #[arg(long)]
    energy: bool,
    /// Also draws the comparison as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Time after which a silent config counts as hanging
    #[arg(long, default_value = "20s", value_parser = super::duration)]
    timeout: Duration,
    /// Seed of the random configs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object per problem
    #[arg(long)]
    json: bool,
}

/// What was measured for one problem. Times in microseconds.
#[derive(Serialize)]
struct Answer {
    problem: String,
    device: String,
    predictions: Vec<Predicted>,
    /// The kernel's default; null where it is illegal or fails.
    default_us: Option<f64>,
    default_joules: Option<f64>,
    /// The best of the random search; null without one.
    search_us: Option<f64>,
    search_config: Option<String>,
    best_us: Option<f64>,
    flops: f64,
    /// Least bytes that are moved.
    bytes: f64,
    /// Shares of the device's measured peaks that the first choice reaches, and what bounds it. Null where it failed, and the first
    /// where the kernel does not compute on the units that the peak is of.
    compute_share: Option<f64>,
    memory_share: Option<f64>,
    bound: Option<Bound>,
}

#[derive(Serialize)]
struct Predicted {
    config: String,
    probability: f64,
    predicted_us: f64,
    measured_us: Option<f64>,
    /// Joules per launch, where metered.
    measured_joules: Option<f64>,
    failure: Option<Invalidity>,
}

pub fn run(args: Args) -> Result<()> {
    if args.top == 0 {
        return input("--top must be at least 1");
    }
    let kernel = Kernel::open(&args.kernel)?;
    kernel.source()?;
    let problems = super::problems(&kernel, &args.problems)?;
    let model = Model::load_for(&args.model, &kernel.name)?;
    let predictor = Predictor::new(&kernel, &model)?;
    model.check_objective(args.objective)?;
    let device = live_device(&args.device)?;
    super::warn_of_unseen(&model, &device);
    let predicted = predictor.predict(&problems, &device, args.objective, (args.top, args.top.max(5)), 1)?;
    let setup = Setup::new(&args.kernel, &args.device, args.timeout)?;
    let policy =
        Policy { energy: args.energy, min_samples: 5, max_samples: 60, budget_ms: 100.0, ..Policy::of(&device) };
    let mut bench = Bench::new(setup, policy, args.search, args.seed);
    let peaks = bench.measurer.peaks()?;
    let mut bar = Bar::new("validate", problems.len() as u64);
    let mut answers = Vec::new();
    for (i, (problem, candidates)) in problems.iter().zip(&predicted).enumerate() {
        bar.at(i, &kernel.brief_problem(problem));
        let mut answer = bench.problem(&kernel, &device, problem, candidates)?;
        answer.judge(&kernel, &peaks);
        answers.push(answer);
    }
    bar.end();
    if let Some(reason) = &bench.unmetered {
        eprintln!("seqtune: warning: no energy was metered: {reason}");
    }
    if let Some(path) = &args.plot {
        draw(path, &kernel, &problems, &answers, &device)?;
    }
    if args.json {
        return answers.iter().try_for_each(super::answer_json);
    }
    super::answer(&table(&kernel, &problems, &answers));
    super::answer(&format!(
        "The device reaches {:.0} GFLOP/s in f32 and {:.0} GB/s here at best; below 40 % of both a kernel is bound by latency.",
        peaks.f32_gflops, peaks.bandwidth_gbs
    ));
    Ok(())
}

/// Workers that compile and measure one problem after the other.
struct Bench {
    compilers: Vec<Child>,
    measurer: Child,
    policy: Policy,
    search: usize,
    rng: ChaCha8Rng,
    /// Why a config has no energy where it was asked for.
    unmetered: Option<String>,
}

impl Bench {
    fn new(setup: Setup, policy: Policy, search: usize, seed: u64) -> Bench {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Bench {
            compilers: (0..cores).map(|_| Child::new(setup.clone())).collect(),
            measurer: Child::new(setup),
            policy,
            search,
            rng: ChaCha8Rng::seed_from_u64(seed),
            unmetered: None,
        }
    }

    fn problem(
        &mut self,
        kernel: &Kernel,
        device: &Device,
        problem: &Problem,
        candidates: &[Candidate],
    ) -> Result<Answer> {
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
        compile_all(&mut self.compilers, kernel, &jobs, None, &mut |i, fault| {
            outcomes[i] = fault.map(Outcome::Invalid);
        })?;
        let sound: Vec<usize> = (0..configs.len()).filter(|i| outcomes[*i].is_none()).collect();
        let to_measure: Vec<Config> = sound.iter().map(|i| configs[*i].clone()).collect();
        let unmetered = &mut self.unmetered;
        self.measurer.measure(
            kernel,
            problem,
            &to_measure,
            &self.policy,
            f64::INFINITY,
            &mut |i, outcome, observed| {
                outcomes[sound[i]] = Some(outcome);
                *unmetered = unmetered.take().or(observed.unmetered);
                Ok(())
            },
        )?;
        let of = |config: &Config| configs.iter().position(|c| c == config).and_then(|i| outcomes[i].as_ref());
        let time = |config: &Config| of(config).and_then(Outcome::time_us);
        let least = |configs: &[Config]| {
            let timed = configs.iter().filter_map(|c| Some((c.clone(), time(c)?)));
            timed.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let found = least(&random);
        Ok(Answer {
            problem: kernel.show_problem(problem),
            device: device.name.clone(),
            predictions: candidates
                .iter()
                .map(|c| Predicted {
                    config: kernel.show_config(&c.config),
                    probability: c.probability,
                    predicted_us: c.time_us,
                    measured_us: time(&c.config),
                    measured_joules: of(&c.config).and_then(Outcome::joules),
                    failure: match of(&c.config) {
                        Some(Outcome::Invalid(invalidity)) => Some(invalidity.clone()),
                        _ => None,
                    },
                })
                .collect(),
            default_us: default_legal.then(|| time(&default)).flatten(),
            default_joules: default_legal.then(|| of(&default).and_then(Outcome::joules)).flatten(),
            search_config: found.as_ref().map(|(c, _)| kernel.show_config(c)),
            search_us: found.map(|(_, t)| t),
            best_us: least(&configs).map(|(_, t)| t),
            flops: kernel.flops(problem),
            bytes: kernel.bytes(problem),
            compute_share: None,
            memory_share: None,
            bound: None,
        })
    }
}

impl Answer {
    fn judge(&mut self, kernel: &Kernel, peaks: &Peaks) {
        let Some(time) = self.first_us() else { return };
        let (compute, memory, bound) = peaks.judge(self.flops, self.bytes, time);
        self.memory_share = Some(memory);
        // CUDA sources are there for tensor cores, whose peak is not measured
        if kernel.source().is_ok_and(|s| s.program.file.ends_with(".cl")) {
            (self.compute_share, self.bound) = (Some(compute), Some(bound));
        }
    }

    fn first_us(&self) -> Option<f64> {
        self.predictions.first().and_then(|p| p.measured_us)
    }

    fn first_joules(&self) -> Option<f64> {
        self.predictions.first().and_then(|p| p.measured_joules)
    }

    fn best_predicted_us(&self) -> Option<f64> {
        self.predictions.iter().filter_map(|p| p.measured_us).min_by(f64::total_cmp)
    }
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> String {
    let known: Vec<f64> = values.flatten().collect();
    if known.is_empty() { "-".into() } else { format!("{:.1}", known.iter().sum::<f64>() / known.len() as f64) }
}

/// A line per problem, and the means.
fn table(kernel: &Kernel, problems: &[Problem], answers: &[Answer]) -> String {
    let show = |x: Option<f64>, digits: usize| x.map_or("-".to_string(), |x| format!("{x:.digits$}"));
    let metered = answers.iter().any(|a| a.default_joules.is_some() || a.first_joules().is_some());
    let mut text = String::from(
        "| problem | first choice | predicted us | measured us | GFLOP/s | GB/s | of peak, % | bound by | x default | % of best found | best of top, % |",
    );
    text += if metered {
        " mJ | of the default's, % |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    } else {
        "\n|---|---|---|---|---|---|---|---|---|---|---|\n"
    };
    let share = |a: &Answer, t: Option<f64>| Some(100.0 * a.best_us? / t?);
    for (problem, answer) in problems.iter().zip(answers) {
        let Some(first) = answer.predictions.first() else { continue };
        let measured = match (&first.failure, first.measured_us) {
            (Some(failure), _) => format!("failed ({:?})", failure.kind),
            (None, time) => show(time, 1),
        };
        let time = answer.first_us();
        text += &format!(
            "| {} | {} | {:.1} | {measured} | {} | {} | {} | {} | {} | {} | {} |",
            kernel.brief_problem(problem),
            first.config,
            first.predicted_us,
            show(time.map(|t| answer.flops / t / 1e3), 2),
            show(time.map(|t| answer.bytes / t / 1e3), 2),
            show(answer.compute_share.zip(answer.memory_share).map(|(c, m)| 100.0 * c.max(m)), 1),
            answer.bound.map_or("-".to_string(), |bound| format!("{bound:?}").to_lowercase()),
            show(answer.default_us.zip(time).map(|(d, t)| d / t), 2),
            show(share(answer, time), 1),
            show(share(answer, answer.best_predicted_us()), 1),
        );
        if metered {
            let joules = answer.first_joules();
            let of_default = joules.zip(answer.default_joules).map(|(j, d)| 100.0 * j / d);
            text += &format!(" {} | {} |", show(joules.map(|j| 1e3 * j), 3), show(of_default, 1));
        }
        text.push('\n');
    }
    let speed_up = |a: &Answer| Some((a.default_us? / a.first_us()?).ln());
    let logs: Vec<f64> = answers.iter().filter_map(speed_up).collect();
    let speed_up = match logs.is_empty() {
        true => "-".to_string(),
        false => format!("{:.2}", (logs.iter().sum::<f64>() / logs.len() as f64).exp()),
    };
    text += &format!(
        "\n{} problems: first choice {speed_up} x the default (geometric mean), {} % of the best found, best of the top {} %.",
        answers.len(),
        mean(answers.iter().map(|a| share(a, a.first_us()))),
        mean(answers.iter().map(|a| share(a, a.best_predicted_us()))),
    );
    text
}

fn draw(
    path: &std::path::Path,
    kernel: &Kernel,
    problems: &[Problem],
    answers: &[Answer],
    device: &Device,
) -> Result<()> {
    let rate = |a: &Answer, t: Option<f64>| t.map_or(0.0, |t| a.flops / t / 1e3);
    let searched = answers.iter().any(|a| a.search_us.is_some());
    let groups: Vec<plot::Group> = problems
        .iter()
        .zip(answers)
        .map(|(problem, a)| {
            let mut values = vec![rate(a, a.default_us), rate(a, a.first_us()), rate(a, a.best_predicted_us())];
            if searched {
                values.push(rate(a, a.search_us));
            }
            plot::Group { label: kernel.brief_problem(problem), values }
        })
        .collect();
    let series = ["kernel default", "first choice", "best of the top", "best of random search"];
    let title = format!("{} on {}", kernel.name, device.name);
    plot::bars(path, &title, "GFLOP/s", &series[..3 + searched as usize], &groups)
}
