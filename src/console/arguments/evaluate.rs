//! The arguments of `seqtune evaluate`.

use seqtune_eval::lightgbm::LightGbm;
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::limits;
use seqtune_predict::Quality;
use seqtune_predict::model::Part;
use std::path::PathBuf;

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
    #[arg(long, value_name = "N", value_parser = crate::value_parsers::count(2..=limits::MEMBERS))]
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
    #[arg(long, value_parser = crate::value_parsers::objective(), default_value_t = Objective::Time)]
    pub objective: Objective,
    /// Evaluate only the problems of this device (tuned datasets)
    #[arg(long)]
    pub device: Option<String>,
    /// Part of the split to evaluate on (tuned datasets) [default: test]
    ///
    /// Use `validation` to choose settings without looking at the test part.
    #[arg(long, value_parser = crate::value_parsers::part(), value_name = "PART")]
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
    #[arg(long, value_parser = crate::value_parsers::quality(), default_value_t = Quality::Auto)]
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
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = crate::value_parsers::count(0..=limits::SAMPLE))]
    pub worst: usize,
    /// Seed of cross-validations and of all fitted trees
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
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

/// What fits the trees, unless they are left out.
///
/// # Errors
/// `Error::Unavailable` where LightGBM is wanted and not installed.
pub fn trees(args: &Args) -> Result<Option<LightGbm>> {
    if args.no_trees { Ok(None) } else { LightGbm::open().map(Some) }
}
