//! `seqtune evaluate`

use crate::cli::answer::{tell, warn, wrote};
use crate::cli::trainer;
use seqtune_data::Table;
use seqtune_eval::curve::curve;
use seqtune_eval::ktn;
use seqtune_eval::lightgbm::LightGbm;
use seqtune_eval::measured::{self, Given};
use seqtune_eval::plot;
use seqtune_eval::replay;
use seqtune_eval::replay::evaluate;
use seqtune_eval::tuned;
use seqtune_eval::tuned::evaluate as evaluate_tuned;
use seqtune_eval::tuned::report;
use seqtune_kernel::Kernel;
use seqtune_kernel::Objective;
use seqtune_kernel::counted;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits;
use seqtune_kernel::threads::cores;
use seqtune_predict::confidence::FEWEST;
use seqtune_predict::model::Part;
use seqtune_predict::{Model, Predictor, Quality};
use std::path::PathBuf;

mod pages;

/// Evaluates a model and baselines on held-out problems of datasets, by replay
///
/// With --folds, --leave-device-out or --leave-kernel-out, no model is given: the command trains on one part of the data and evaluates on
/// the rest.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of a model or models, then datasets: journals, packed files or folders
    ///
    /// Leave out the model with --folds, --leave-device-out and --leave-kernel-out.
    #[arg(required = true, value_names = ["MODEL", "DATASETS"], num_args = 1..)]
    pub paths: Vec<PathBuf>,
    /// Cross-validate sweeps with N folds, 2 to 100; no model is given
    ///
    /// Each fold's model is trained without one part of the shapes and evaluated on that part.
    #[arg(long, value_name = "N", value_parser = crate::cli::words::count(2..=limits::MEMBERS))]
    pub folds: Option<usize>,
    /// Cross-validate sweeps by device; no model is given
    ///
    /// For each device, a model trained on the other devices is evaluated on it.
    #[arg(long, conflicts_with = "folds")]
    pub leave_device_out: bool,
    /// Evaluate transfer to an unseen kernel, on sweeps; no model is given
    ///
    /// Needs sweeps of three kernels or more. For each kernel, boosted trees trained on the others are evaluated before and after 20
    /// measurements of it.
    #[arg(long, conflicts_with_all = ["folds", "leave_device_out", "kernel", "models", "whole", "distil", "plot", "curve", "html", "measured"])]
    pub leave_kernel_out: bool,
    /// Folder to keep and reuse cross-validation models in [default: not kept]
    ///
    /// The same command then resumes from the models of finished folds.
    #[arg(long, value_name = "FOLDER")]
    pub models: Option<PathBuf>,
    /// Kernel name or folder [default: the kernel named in the datasets]
    #[arg(long)]
    pub kernel: Option<String>,
    /// Quantity by which configs are compared
    #[arg(long, value_parser = crate::cli::words::objective(), default_value_t = Objective::Time)]
    pub objective: Objective,
    /// Evaluate only the problems of this device (tuned datasets)
    #[arg(long)]
    pub device: Option<String>,
    /// Part of the split to evaluate on (tuned datasets) [default: test]
    ///
    /// Use `validation` to choose settings without looking at the test part.
    #[arg(long, value_parser = crate::cli::words::part(), value_name = "PART")]
    pub part: Option<Part>,
    /// Evaluate all problems of sweeps that the model was not trained on
    ///
    /// Baselines that would have to learn from these problems are left out.
    #[arg(long, conflicts_with_all = ["folds", "leave_device_out"])]
    pub whole: bool,
    /// Also evaluate LightGBM regression and ranking (sweeps)
    ///
    /// Both are fitted to the problems that the model was trained on.
    #[arg(long, conflicts_with_all = ["folds", "leave_device_out", "leave_kernel_out", "whole", "no_trees"])]
    pub light_gbm: bool,
    /// Leave out the LightGBM baselines, so that LightGBM is not needed
    ///
    /// They are the chained boosted trees of tuned datasets, and the rankers of --folds and --leave-device-out.
    #[arg(long)]
    pub no_trees: bool,
    /// Also evaluate two classifiers of whole configs (tuned datasets)
    ///
    /// They are LightGBM and extremely randomized trees.
    #[arg(long, conflicts_with_all = ["folds", "leave_device_out", "no_trees"])]
    pub whole_configs: bool,
    /// Second model, to evaluate and compare with the first (tuned datasets)
    ///
    /// The folder may also hold models of one kernel each.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["folds", "leave_device_out"])]
    pub beside: Option<PathBuf>,
    /// Folder of MIOpen's KernelTuningNet, to evaluate it too (tuned datasets)
    ///
    /// The folder holds its networks as files `*.ktn.model`.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["folds", "leave_device_out"])]
    pub ktn: Option<PathBuf>,
    /// Also distil each fold's model and evaluate the small decoder
    ///
    /// Needs --folds or --leave-device-out.
    #[arg(long)]
    pub distil: bool,
    /// Form of the model to evaluate
    #[arg(long, value_parser = crate::cli::words::quality(), default_value_t = Quality::Auto)]
    pub quality: Quality,
    /// SVG file for a plot of the comparison (sweeps)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// SVG file for a plot of the best speed after N measurements (sweeps)
    ///
    /// The plot compares the model's predictions with search.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folds", "leave_device_out"])]
    pub curve: Option<PathBuf>,
    /// HTML file for the report with its plots
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folds", "leave_device_out"])]
    pub html: Option<PathBuf>,
    /// Evaluate with part of each problem already measured (sweeps)
    ///
    /// For a number N, 0 to 10,000, the N most promising configs count as measured, one after the other. Each number is one row of the
    /// report. Configs that are written out count as measured together.
    #[arg(long, value_name = "NUMBERS or CONFIGS", num_args = 1.., conflicts_with_all = ["folds", "leave_device_out", "plot", "curve", "html"])]
    pub measured: Vec<String>,
    /// Replace files of --plot, --curve and --html that seqtune did not write
    #[arg(long)]
    pub force: bool,
    /// Datasets of a second tuning of the same problems (tuned datasets)
    ///
    /// The report then shows how often both tunings agree, and how often the model matches either.
    #[arg(long, value_name = "DATASETS", num_args = 1.., conflicts_with_all = ["folds", "leave_device_out"])]
    pub retuned: Vec<PathBuf>,
    /// Evaluate raw probabilities, not those lowered for a device (tuned datasets)
    ///
    /// By default probabilities are evaluated as `predict` prints them, lowered or calibrated for the device.
    #[arg(long, conflicts_with_all = ["folds", "leave_device_out"])]
    pub as_stated: bool,
    /// Number of worst predicted problems to list, 0 to 1,000,000 (sweeps)
    ///
    /// A cross-validation lists the shapes that lose most.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = crate::cli::words::count(0..=limits::SAMPLE))]
    pub worst: usize,
    /// Seed of cross-validations and of all fitted trees
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs `seqtune evaluate`.
///
/// # Errors
/// The error of the model, the datasets or the evaluation.
pub fn run(args: Args) -> Result<()> {
    let drawings = [args.plot.as_ref(), args.curve.as_ref(), args.html.as_ref()];
    crate::cli::outputs::claim_drawings(&drawings, args.force, &args.paths)?;
    if args.folds.is_some() || args.leave_device_out || args.leave_kernel_out {
        return trainer::hand_over();
    }
    if args.models.is_some() {
        return input("--models keeps those of --folds or --leave-device-out; pass one of them");
    }
    if args.distil {
        return input(
            "--distil is for --folds or --leave-device-out; `seqtune distil` makes the small decoder of one model",
        );
    }
    let [_, datasets @ ..] = &args.paths[..] else { return input("name a model and datasets") };
    if datasets.is_empty() {
        return input("name datasets behind the model, or pass --folds to judge without one");
    }
    let corpus = crate::cli::inputs::tables(datasets, args.kernel.as_deref())?;
    if corpus.iter().all(|(_, table)| table.is_tuned()) {
        if args.whole {
            return input("--whole judges sweeps; these datasets hold what tuners chose");
        }
        if args.light_gbm {
            return input(
                "--light-gbm ranks what was measured; these datasets hold what tuners chose, and trees are judged unless --no-trees",
            );
        }
        return tuned(&args, &corpus);
    }
    refuse_tuned_only(&args)?;
    if args.beside.is_some() {
        return input("--beside compares models on what tuners chose; these datasets are sweeps");
    }
    match &corpus[..] {
        [(kernel, table)] => swept(&args, &model(&args, kernel, table)?, kernel, table),
        _ => input("sweeps are judged one kernel at a time"),
    }
}

/// Refuses what only tuned datasets have.
///
/// # Errors
/// `Error::Input` where an option for databases of tuned configs is given.
pub fn refuse_tuned_only(args: &Args) -> Result<()> {
    if !args.retuned.is_empty() {
        return input("--retuned compares with other tunings; these datasets are sweeps");
    }
    if args.as_stated {
        return input("--as-stated judges models of what tuners chose; these datasets are sweeps");
    }
    match args.device.is_some() || args.part.is_some() {
        true => input("--device and --part choose among tuned datasets; these are sweeps"),
        false => Ok(()),
    }
}

/// The model to judge on a kernel; warns if it was trained on other data.
fn model(args: &Args, kernel: &Kernel, table: &Table) -> Result<Model> {
    let model = Model::load_as(&args.paths[0], &kernel.name, args.quality)?;
    let unknown: Vec<&String> = table.hashes.iter().filter(|h| !model.meta.data.contains(h)).collect();
    if args.whole {
        if unknown.len() < table.hashes.len() {
            return input(
                "the model learned from some of these data; leave out --whole to judge by what was held out of them",
            );
        }
        if let Some(device) = table.devices.iter().find(|d| model.meta.devices.iter().any(|known| known.name == d.name))
        {
            warn(&format!(
                "the model learned from other data of {}; sizes that are in both are not new to it",
                device.name
            ));
        }
        return Ok(model);
    }
    if !unknown.is_empty() {
        let way_out = if table.is_tuned() { "" } else { "; --whole judges by all that it never saw" };
        warn(&format!(
            "the model of {} learned from other data than {} of these {}: what it held out is judged, and baselines learn from the rest{way_out}",
            kernel.name,
            unknown.len(),
            table.hashes.len()
        ));
    }
    Ok(model)
}

/// What fits the trees, unless they are left out.
///
/// # Errors
/// `Error::Unavailable` where LightGBM is wanted and not installed.
pub fn trees(args: &Args) -> Result<Option<LightGbm>> {
    if args.no_trees { Ok(None) } else { LightGbm::open().map(Some) }
}

/// Judges by what tuners chose.
fn tuned(args: &Args, corpus: &[(Kernel, Table)]) -> Result<()> {
    if args.plot.is_some() || args.curve.is_some() {
        return input(
            "--plot and --curve show replays of sweeps; these datasets hold what tuners chose (--html shows those)",
        );
    }
    let device = args.device.as_deref().map(crate::cli::inputs::device).transpose()?;
    if let Some(device) = &device
        && !corpus.iter().flat_map(|(_, table)| &table.devices).any(|d| d.name == device.name)
    {
        return input(format!("the datasets hold no problem of {}", device.name));
    }
    args.ktn.as_deref().map_or(Ok(()), ktn::check_folder)?;
    let threads = cores();
    let library = trees(args)?;
    let retuned = match &args.retuned[..] {
        [] => Vec::new(),
        paths => crate::cli::inputs::tables(paths, args.kernel.as_deref())?,
    };
    let is_judged = |of: &Kernel| corpus.iter().any(|(kernel, _)| kernel.name == of.name);
    if let Some((other, _)) = retuned.iter().find(|(kernel, _)| !is_judged(kernel)) {
        return input(format!("--retuned: holds problems of {}, which no other dataset here is of", other.name));
    }
    let ask = tuned::Options {
        device: device.as_ref(),
        part: args.part.unwrap_or(Part::Test),
        library: library.as_ref(),
        whole_configs: args.whole_configs,
        ktn: args.ktn.as_deref(),
        retuned: &retuned,
        as_stated: args.as_stated,
        threads,
        seed: args.seed,
    };
    let mut reports = Vec::new();
    for (i, (kernel, table)) in corpus.iter().enumerate() {
        let mut tell = |what: &str| tell(&format!("evaluate: {} ({} of {}): {what}", kernel.name, i + 1, corpus.len()));
        let beside = args.beside.as_ref().map(|path| Model::load_as(path, &kernel.name, Quality::Auto)).transpose()?;
        let models = (&model(args, kernel, table)?, beside.as_ref());
        reports.extend(evaluate_tuned(kernel, table, models, &ask, &mut tell)?);
    }
    if reports.is_empty() {
        return input("none of the problem shapes falls into that part of the model's split");
    }
    if let Some(path) = &args.html {
        pages::of_tuned(&args.paths, &reports)?.write(path)?;
        wrote(path);
    }
    if args.json {
        return crate::cli::answer::answer_json(&reports);
    }
    crate::cli::answer::answer(report::text(&reports).trim_end());
    Ok(())
}

/// Judges with some configs of each problem measured.
fn with_measured(args: &Args, model: &Model, kernel: &Kernel, table: &Table, ask: replay::Options) -> Result<()> {
    let numbers: Vec<Option<usize>> = args.measured.iter().map(|given| given.parse().ok()).collect();
    let given = match numbers.iter().all(Option::is_some) {
        true => numbers.into_iter().flatten().map(Given::First).collect(),
        false => {
            let configs = args.measured.iter().map(|text| kernel.config(text));
            let configs = configs.collect::<Result<Vec<_>>>().map_err(|e| e.at("--measured"))?;
            vec![Given::These(Vec::new()), Given::These(configs)]
        }
    };
    if given.iter().any(|given| matches!(given, Given::First(count) if *count > limits::WIDTH)) {
        return input(format!("--measured: at most {} first choices", limits::WIDTH));
    }
    let tests = replay::held_out(kernel, model, table, ask)?;
    let rows = measured::replay(&Predictor::new(kernel, model)?, table, &tests, args.objective, &given)?;
    if args.json {
        return crate::cli::answer::answer_json(&rows);
    }
    crate::cli::answer::answer(measured::markdown(kernel, args.objective, &rows).trim_end());
    Ok(())
}

/// Judges by replay of sweeps.
fn swept(args: &Args, model: &Model, kernel: &Kernel, table: &Table) -> Result<()> {
    let library = if args.light_gbm { Some(LightGbm::open()?) } else { None };
    let trees = library.as_ref().map(|library| (library, args.seed));
    let ask = replay::Options { objective: args.objective, whole: args.whole, trees };
    if !args.measured.is_empty() {
        return with_measured(args, model, kernel, table, ask);
    }
    let report = evaluate(kernel, model, table, ask, &mut |what| tell(&format!("evaluate: {what}")))?;
    if let Some(path) = &args.plot {
        plot::write(path, &pages::bars(&report)?)?;
        wrote(path);
    }
    let curve = (args.curve.is_some() || args.html.is_some()).then(|| {
        tell("evaluate: curve");
        curve(kernel, model, table, ask)
    });
    let curve = curve.transpose()?;
    if let (Some(path), Some(curve)) = (&args.curve, &curve) {
        curve.draw(path)?;
    }
    if let (Some(path), Some(curve)) = (&args.html, &curve) {
        pages::of_swept(&args.paths, model, &report, curve)?.write(path)?;
        wrote(path);
    }
    if args.json {
        return crate::cli::answer::answer_json(&report);
    }
    if report.test_problems < FEWEST {
        warn(&format!(
            "{} held out: so few say little of other sizes; `evaluate --folds 5 DATASETS` judges all in turn",
            counted(report.test_problems, "problem")
        ));
    }
    let mut text = report.table();
    if let (Some(curve), true) = (&curve, args.curve.is_some()) {
        text += &format!("\n{}", curve.table());
    }
    if args.worst > 0 {
        text += "\nLowest shares of the model's first choice:\n";
        for (problem, share) in report.problems.iter().take(args.worst) {
            text += &format!("  {:5.1} %  {problem}\n", 100.0 * share);
        }
    }
    crate::cli::answer::answer(text.trim_end());
    Ok(())
}
