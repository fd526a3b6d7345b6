//! `seqtune validate`

use crate::cli::precompile;
use answer::{MeasuredAnswer, draw, page, table};
use bench::{Bench, Validation};
use certified_rows::{CertifiedRow, CertifiedRows};
use contenders::Rivals;
use seqtune_console::answer::{answer as print, answer_json, tell, warn, wrote};
use seqtune_console::inputs::ModelAndProblems;
use seqtune_console::outputs::{Kind, Replace, claim};
use seqtune_console::progress::Bar;
use seqtune_console::signals::{end_with, stop_at_signal};
use seqtune_data::recipe::{Policy, Provenance, Recipe};
use seqtune_data::{Header, Journal};
use seqtune_eval::pages::plot;
use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::files::write_whole;
use seqtune_kernel::limits;
use seqtune_kernel::{Device, Kernel, Objective, Problem};
use seqtune_measure::batch::VendorLibrary;
use seqtune_measure::engine::Engine;
use seqtune_measure::measuring::roofline::Peaks;
use seqtune_measure::programs::check_machine;
use seqtune_measure::registry::{compilers, device_for};
use seqtune_measure::sweep::plan::Planned;
use seqtune_measure::worker::setup::Setup;
use seqtune_predict::{Model, Predictor, Quality, Query};
use std::path::PathBuf;
use std::time::{Duration, Instant};

mod answer;
mod bench;
pub mod certified_rows;
mod certify;
mod contenders;

/// Measures the top K predicted configs and the kernel's default on a live device
///
/// The measurements of a problem are interleaved.
#[derive(clap::Args)]
#[command(override_usage = "seqtune validate [OPTIONS] <MODEL> [KERNEL] <PROBLEM>...")]
pub struct Args {
    #[command(flatten)]
    asked: ModelAndProblems,
    /// Number of predicted configs to measure per problem, 1 to 10,000
    #[arg(long, default_value_t = 5, value_name = "K", value_parser = seqtune_console::value_parsers::count(1..=limits::WIDTH))]
    top: usize,
    /// Number of random legal configs to measure too, per problem, 0 to 1,000,000
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = seqtune_console::value_parsers::count(0..=limits::SAMPLE))]
    random: usize,
    /// Further config to measure, such as `A=1,B=2`; may be repeated
    ///
    /// It is left out for problems where it is illegal.
    #[arg(long, value_name = "CONFIG")]
    also: Vec<String>,
    /// Compile the programs into the cache on disk and measure nothing
    ///
    /// Use it to prepare a run on a machine that is available only for minutes. The device may be a described one. This works for
    /// NVIDIA and AMD GPUs.
    #[arg(long, conflicts_with_all = ["record", "plot", "html", "json"])]
    compile_only: bool,
    /// Device to measure on: `live` or an id such as `cuda:0`, `hip:0` or `opencl:0`
    ///
    /// `live` is the first device found, GPUs before processors. For a program, `live` means the processors of this machine, and the
    /// name of a described device is allowed too.
    #[arg(long, default_value = "live")]
    device: String,
    /// Quantity that the first prediction minimizes and configs are compared by
    ///
    /// With `energy` and `edp`, energy is measured.
    #[arg(long, value_parser = seqtune_console::value_parsers::objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Also measure the energy of each config; takes three seconds per config
    #[arg(long)]
    energy: bool,
    /// Time window for measuring the energy of a config, 0.1 to 60 seconds
    ///
    /// A shorter window takes less time and repeats less well.
    #[arg(long, default_value_t = Recipe::default().window, value_name = "SECONDS", value_parser = seqtune_console::value_parsers::real(0.1..=60.0))]
    energy_window: f64,
    /// Skip the checks of the best configs with other data
    ///
    /// By default, the best config, the best predicted one and the first prediction must also be right with data of other seeds and
    /// other kinds, and on smaller problems of odd sizes.
    #[arg(long)]
    no_confirm: bool,
    /// Journal to append the measurements to, for `train --fine-tune MODEL`
    #[arg(long, value_name = "JOURNAL")]
    record: Option<PathBuf>,
    /// SVG file for a plot of the comparison
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// HTML file for the comparison with its plot
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace files of --plot and --html that seqtune did not write
    #[arg(long)]
    force: bool,
    /// JSON file for a row per problem that is never slower than the default
    ///
    /// The best predicted config and the default are measured once more, as a pair, eight times. A row has the predicted config only where the
    /// interval of 95 % of their difference excludes 0, else the default. The file keeps the evidence.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compile_only", "energy"])]
    certify: Option<PathBuf>,
    /// Measure the certified configs of this file again, instead of the best predicted ones
    #[arg(long, value_name = "FILE", requires = "certify")]
    certified: Option<PathBuf>,
    /// Config to certify against, in the place of the kernel's default
    ///
    /// Name what your program uses now. Where it is illegal, the default stands for it.
    #[arg(long, value_name = "CONFIG", requires = "certify")]
    against: Option<String>,
    /// Replace a file of --certify
    #[arg(long, requires = "certify")]
    overwrite: bool,
    /// Time after which no further problem is begun (90s, 10m, 2h, or seconds)
    ///
    /// The problems measured until then are shown.
    #[arg(long, value_parser = seqtune_console::inputs::duration)]
    budget: Option<Duration>,
    /// Time after which an unresponsive config counts as hung (90s, 10m, 2h, or seconds)
    ///
    /// [default: 20s, or the timeout in the kernel's [run]]
    ///
    /// The environment variable SEQTUNE_SILENCE changes the 20 s.
    #[arg(long, value_parser = seqtune_console::inputs::duration)]
    timeout: Option<Duration>,
    /// Seed of the random configs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Form of the model to use
    #[arg(long, value_parser = seqtune_console::value_parsers::quality(), default_value_t = Quality::Auto)]
    quality: Quality,
    /// Print one JSON object per problem
    #[arg(long)]
    json: bool,
}

/// What a signal leaves.
fn kept_sentence(args: &Args) -> String {
    match &args.record {
        Some(path) => format!("{} keeps what was measured", path.display()),
        None => "nothing is kept; with --record FILE what was measured is".into(),
    }
}

pub fn run(args: Args) -> Result<()> {
    let began = Instant::now();
    check(&args)?;
    let (named, words) = args.asked.split()?;
    let kernel = seqtune_console::inputs::kernel(&named)?;
    kernel.check_runs()?;
    let model = Model::load_as(&args.asked.model, &kernel.name, args.quality)?;
    let predictor = Predictor::new(&kernel, &model)?;
    let problems = seqtune_console::inputs::problems(&kernel, words)?;
    model.check_objective(args.objective)?;
    let device = match args.compile_only {
        true => seqtune_console::inputs::device(&args.device)?,
        false => {
            check_machine(&kernel)?;
            device_for(&kernel, &args.device)?
        }
    };
    seqtune_console::inputs::warn_of_unseen(&model.meta, &device);
    let query = Query { objective: args.objective, top: args.top, ..Query::new(&device) };
    let predicted = predictor.predict(&problems, &query)?;
    let rivals = rivals(&args, &kernel)?;
    if args.compile_only {
        let planned = problems.iter().zip(&predicted).map(|(problem, prediction)| {
            let configs = rivals.contenders_of(&kernel, &device, problem, &prediction.candidates)?.all;
            Ok(Planned { problem: problem.clone(), configs })
        });
        let (plan, until) = (planned.collect::<Result<Vec<_>>>()?, args.budget.map(|budget| began + budget));
        return precompile::run(&kernel, &device, &plan, until, stop_at_signal()?.as_ref());
    }
    let kept = kept_sentence(&args);
    end_with(move || kept.clone())?;
    let mut bench = bench(&args, &named, &kernel, &device, rivals)?;
    let before = peaks_before(&kernel, &mut bench)?;
    let library = bench.engine.measurer.library()?;
    bench.library = library.name().map(String::from);
    let mut bar = Bar::new("validate", problems.len() as u64);
    let mut validated = Validated::default();
    for (i, (problem, prediction)) in problems.iter().zip(&predicted).enumerate() {
        if i > 0 && args.budget.is_some_and(|budget| began.elapsed() >= budget) {
            break;
        }
        bar.move_to(i, &kernel.brief_problem(problem));
        validated.seen += 1;
        match bench.problem(&kernel, &device, problem, &prediction.candidates)? {
            Validation::Measured(answer) => validated.add(problem, *answer),
            Validation::Unmeasurable(reason) => {
                let failed = format!("{} could not be measured: {reason}", kernel.brief_problem(problem));
                validated.failed.push(failed);
                continue;
            }
        }
        validated.check_energy(args.objective, bench.unmetered.as_deref())?;
    }
    bar.end();
    // again: the machine may have been busy at first
    let peaks = before.map(|before| bench.engine.measurer.peaks().map_or(before, |after| before.higher(after)));
    if let Some(peaks) = &peaks {
        validated.answers.iter_mut().for_each(|answer| answer.place(&kernel, peaks, bench.policy.cache));
    }
    validated.warn(problems.len(), bench.unmetered.as_deref())?;
    validated.save(&args, &kernel, &model, &device)?;
    validated.show(&args, &kernel, peaks.as_ref(), &library)
}

/// Peaks of the device that a kernel's source runs on; `None`, with a warning, where their own kernels fail there.
fn peaks_before(kernel: &Kernel, bench: &mut Bench) -> Result<Option<Peaks>> {
    match kernel.source.as_ref().map(|_| bench.engine.measurer.peaks()).transpose() {
        Err(Error::Failed(why)) => {
            warn(&format!("{why}; no bounds are told"));
            Ok(None)
        }
        found => found,
    }
}

/// Refuses options that cannot work, before anything is measured.
fn check(args: &Args) -> Result<()> {
    let read: Vec<PathBuf> = args.record.iter().cloned().chain([args.asked.model.clone()]).collect();
    if let Some(path) = &args.certify {
        let replace = Replace { overwrite: args.overwrite, ..Replace::default() };
        let read: Vec<PathBuf> = read.iter().chain(&args.certified).cloned().collect();
        claim(path, Kind::CertifiedRows, replace, &read)?;
    }
    seqtune_console::outputs::claim_drawings(&[args.plot.as_ref(), args.html.as_ref()], args.force, &read)
}

/// What is measured beside predictions.
fn rivals(args: &Args, kernel: &Kernel) -> Result<Rivals> {
    let named = args.also.iter().map(|text| kernel.config(text)).collect::<Result<_>>();
    Ok(Rivals { search: args.random, seed: args.seed, named: named.map_err(|e| e.at_place("--also"))? })
}

/// What measures, with the journal that is to be learned from.
fn bench(args: &Args, named: &str, kernel: &Kernel, device: &Device, rivals: Rivals) -> Result<Bench> {
    let setup = Setup::new(kernel, named, &args.device, args.timeout)?;
    let energy = args.energy || args.objective != Objective::Time;
    let standard = Policy { energy_window: args.energy_window, ..Policy::of_kernel(kernel, device) };
    let policy = match kernel.run {
        Some(_) => Policy { energy, max_samples: 2 * standard.max_samples, budget_ms: 100.0, ..standard },
        None => Policy { energy, min_samples: 5, max_samples: 60, budget_ms: 100.0, ..standard },
    };
    let provenance = Provenance::of_measurement(policy);
    let header = Header::new(kernel, device, args.seed, provenance, seqtune_console::outputs::command_line());
    let against = args.against.as_deref().map(|text| kernel.config(text)).transpose();
    let certified = match &args.certified {
        Some(path) => CertifiedRows::read(path, kernel)?.certified_configs(kernel)?,
        None => Default::default(),
    };
    let learn = args.record.as_ref().map(|path| Journal::open(path, header)).transpose()?;
    let begun = learn.as_ref().and_then(|journal| journal.dataset.header.provenance.policy().copied());
    Ok(Bench {
        engine: Engine::new(setup, compilers(device)),
        policy: begun.unwrap_or(policy),
        objective: args.objective,
        rivals,
        confirm: !args.no_confirm,
        learn,
        library: None,
        unmetered: None,
        certify: args.certify.is_some(),
        against: against.map_err(|e| e.at_place("--against"))?,
        certified,
    })
}

/// Peaks of the device, how they were measured, and how a bound follows from them.
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
    answers: Vec<MeasuredAnswer>,
    /// Why others were not.
    failed: Vec<String>,
}

impl Validated {
    fn add(&mut self, problem: &Problem, answer: MeasuredAnswer) {
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
        self.failed.iter().for_each(|failed| warn(failed));
        if self.seen < problems {
            tell(&format!("seqtune: the budget is spent at {} of {}", self.seen, count_noun(problems, "problem")));
        }
        if let Some(reason) = unmetered {
            warn(&format!("no energy was metered: {reason}"));
        }
        Ok(())
    }

    /// Writes the plot and the page that were asked for.
    fn save(&self, args: &Args, kernel: &Kernel, model: &Model, device: &Device) -> Result<()> {
        let Validated { measured, answers, .. } = self;
        if let Some(path) = &args.plot {
            plot::write(path, &draw(kernel, measured, answers, device)?)?;
            wrote(path);
        }
        if let Some(path) = &args.html {
            let model = format!("{}, {}", args.asked.model.display(), model.digest());
            page(kernel, measured, answers, device, model)?.write(path)?;
            wrote(path);
        }
        if let Some(path) = &args.certify {
            let rows: Vec<CertifiedRow> = answers.iter().filter_map(|answer| answer.row.clone()).collect();
            tell(&format!("seqtune: {}", certified_rows::words(&rows)));
            write_whole(path, CertifiedRows::text(rows, kernel, device, model)?.as_bytes())?;
            wrote(path);
        }
        args.record.iter().for_each(|path| wrote(path));
        Ok(())
    }

    /// Shows the table, why no library stands beside it, and the peaks.
    fn show(&self, args: &Args, kernel: &Kernel, peaks: Option<&Peaks>, library: &VendorLibrary) -> Result<()> {
        let Validated { measured, answers, .. } = self;
        if args.json {
            return answers.iter().try_for_each(answer_json);
        }
        if let Some(first) = answers.first() {
            print(&format!("On {}:", first.device));
        }
        print(&table(kernel, measured, answers));
        if !args.no_confirm {
            let with = match &kernel.run {
                Some(run) if !run.is_seeded() => "when run again",
                Some(_) => "with data of two other seeds",
                None => "with data of other seeds and kinds",
            };
            let unchecked = kernel.run.as_ref().is_some_and(|run| run.spec.right.is_none() && run.spec.wrong.is_none());
            print(&match unchecked {
                true => format!(
                    "[run] has neither `right` nor `wrong`: results count as right unless the program's own answer says otherwise, \
                     also {with} and at odd sizes."
                ),
                false => {
                    format!("What is called the best, and each first choice, is also right {with} and at odd sizes.")
                }
            });
        }
        if let (true, VendorLibrary::Absent(reason)) =
            (kernel.source.as_ref().is_some_and(|s| s.gemm.is_some()), library)
        {
            print(&format!("Nothing of the vendor's is measured beside it: {reason}."));
        }
        if let Some(peaks) = peaks {
            print(&roofline(peaks, answers.iter().any(|a| a.filled.is_some())));
        }
        Ok(())
    }
}
