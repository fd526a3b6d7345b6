//! `seqtune evaluate model`

use crate::cli::evaluate::pages;
use seqtune_console::answer::{answer, answer_json, tell, warn, wrote};
use seqtune_console::arguments::evaluate::{ModelAndDatasets, TunedOptions, trees};
use seqtune_console::outputs::claim_drawings;
use seqtune_console::value_parsers::{count, objective, on_off};
use seqtune_data::{KernelTable, Table};
use seqtune_eval::baselines::lightgbm::LightGbm;
use seqtune_eval::measures::curve::curve;
use seqtune_eval::measures::replay;
use seqtune_eval::pages::plot;
use seqtune_eval::tuned;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::cores;
use seqtune_kernel::{Kernel, Objective, count_noun, limits};
use seqtune_predict::Model;
use seqtune_predict::confidence::MIN_PROBLEMS;
use seqtune_predict::model::Part;
use std::path::PathBuf;

/// Evaluates a model and baselines on held-out problems of datasets, by replay
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    on: ModelAndDatasets,
    /// Also evaluate LightGBM, fitted to the model's training problems
    ///
    /// For sweeps it is a regression and a ranking, for tuned datasets a chain of classifiers.
    ///
    /// [default: off for sweeps, on for tuned datasets]
    #[arg(long, value_name = "on|off", value_parser = on_off(), hide_possible_values = true)]
    lightgbm: Option<bool>,
    /// HTML file for the report with its plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace files of --plot and --html that seqtune did not write
    #[arg(long)]
    force: bool,
    /// Seed of all fitted trees
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sweeps: SweepOptions,
    #[command(flatten)]
    tuned: TunedOptions,
}

/// What only sweeps have.
#[derive(clap::Args)]
#[command(next_help_heading = "Options for sweeps")]
struct SweepOptions {
    /// Quantity by which configs are compared
    #[arg(long, value_parser = objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Evaluate all problems that the model was not trained on
    ///
    /// Baselines that would have to learn from these problems are left out.
    #[arg(long)]
    all_problems: bool,
    /// SVG file for a plot of the comparison
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Number of worst predicted problems to list, 0 to 1,000,000
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = count(0..=limits::SAMPLE))]
    worst: usize,
}

/// Runs `seqtune evaluate model`.
///
/// # Errors
/// The error of the model, the datasets or the evaluation.
pub fn run(args: &Args) -> Result<()> {
    let read = [std::slice::from_ref(&args.on.model), &args.on.datasets[..]].concat();
    claim_drawings(&[args.sweeps.plot.as_ref(), args.html.as_ref()], args.force, &read)?;
    let corpus = args.on.tables()?;
    if corpus.iter().all(|data| data.table.is_tuned()) {
        return judge_by_tuned(args, &corpus);
    }
    if let Some(option) = args.tuned.first_given() {
        return input(format!("{option} is for tuned datasets; these are sweeps"));
    }
    match &corpus[..] {
        [KernelTable { kernel, table }] => {
            swept(args, &args.on.load(kernel, table, args.sweeps.all_problems)?, kernel, table)
        }
        _ => input("sweeps are judged one kernel at a time"),
    }
}

/// Judges by what tuners chose.
fn judge_by_tuned(args: &Args, corpus: &[KernelTable]) -> Result<()> {
    if args.sweeps.plot.is_some() || args.sweeps.all_problems {
        let option = if args.sweeps.all_problems { "--all-problems" } else { "--plot" };
        return input(format!("{option} is for sweeps; these datasets hold what tuners chose"));
    }
    let device = args.tuned.device_in(corpus)?;
    let library = trees(args.lightgbm.unwrap_or(true))?;
    let ask = tuned::TunedSettings {
        device: device.as_ref(),
        part: args.tuned.part.unwrap_or(Part::Test),
        library: library.as_ref(),
        as_stated: args.tuned.raw_probabilities,
        threads: cores(),
        seed: args.seed,
    };
    let mut reports = Vec::new();
    for (i, KernelTable { kernel, table }) in corpus.iter().enumerate() {
        let mut tell = |what: &str| tell(&format!("evaluate: {} ({} of {}): {what}", kernel.name, i + 1, corpus.len()));
        let baseline = args.tuned.load_baseline(kernel)?;
        let model = args.on.load(kernel, table, false)?;
        let evaluation = tuned::evaluate(kernel, table, &model, baseline.as_ref(), &ask, &mut tell)?;
        reports.extend(evaluation.map(|evaluation| evaluation.report));
    }
    if reports.is_empty() {
        return input("none of the problem shapes falls into that part of the model's split");
    }
    if let Some(path) = &args.html {
        pages::of_tuned(&args.on, &reports)?.write(path)?;
        wrote(path);
    }
    if args.json {
        return answer_json(&reports);
    }
    answer(tuned::report::text(&reports).trim_end());
    Ok(())
}

/// Judges by replay of sweeps.
fn swept(args: &Args, model: &Model, kernel: &Kernel, table: &Table) -> Result<()> {
    let SweepOptions { objective, all_problems, plot, worst } = &args.sweeps;
    if *all_problems && args.lightgbm == Some(true) {
        return input("--all-problems leaves LightGBM no problem to learn from");
    }
    let library = if args.lightgbm == Some(true) { Some(LightGbm::open()?) } else { None };
    let trees = library.as_ref().map(|library| (library, args.seed));
    let ask = replay::ReplayOptions { objective: *objective, whole: *all_problems, trees };
    let report = replay::evaluate(kernel, model, table, ask, &mut |what| tell(&format!("evaluate: {what}")))?;
    if let Some(path) = plot {
        plot::write(path, &pages::bars(&report)?)?;
        wrote(path);
    }
    if let Some(path) = &args.html {
        tell("evaluate: curve");
        let curve = curve(kernel, model, table, ask)?;
        pages::of_swept(&args.on, model, &report, &curve)?.write(path)?;
        wrote(path);
    }
    if args.json {
        return answer_json(&report);
    }
    if report.test_problems < MIN_PROBLEMS {
        warn(&format!(
            "{} held out: so few say little of other sizes; `evaluate folds DATASETS` judges all in turn",
            count_noun(report.test_problems, "problem")
        ));
    }
    let mut text = report.table();
    if *worst > 0 {
        text += "\nLowest shares of the model's first choice:\n";
        for (problem, share) in report.problems.iter().take(*worst) {
            text += &format!("  {:5.1} %  {problem}\n", 100.0 * share);
        }
    }
    answer(text.trim_end());
    Ok(())
}
