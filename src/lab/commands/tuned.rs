//! `seqtune-lab tuned`

use crate::ktn;
use crate::tuned::{Options, evaluate, report};
use clap::ArgAction;
use seqtune_console::answer::{answer, answer_json, tell};
use seqtune_console::arguments::evaluate::{ModelAndDatasets, TunedOptions, trees};
use seqtune_console::inputs::tables;
use seqtune_console::value_parsers::on_off;
use seqtune_data::KernelTable;
use seqtune_eval::tuned;
use seqtune_kernel::Kernel;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::threads::cores;
use seqtune_predict::model::Part;
use std::path::PathBuf;

/// Evaluates a model on tuned datasets beside further baselines
///
/// They are classifiers of whole configs, MIOpen's own predictor, and a second tuning of the same problems. `seqtune evaluate model` has
/// the other baselines, which are evaluated here too.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    on: ModelAndDatasets,
    /// Also evaluate LightGBM as a chain of classifiers
    #[arg(long, value_name = "on|off", action = ArgAction::Set, value_parser = on_off(), default_value = "on", hide_possible_values = true)]
    lightgbm: bool,
    /// Also evaluate two classifiers of whole configs
    ///
    /// They are LightGBM and extremely randomized trees.
    #[arg(long)]
    config_classifiers: bool,
    /// Folder of MIOpen's KernelTuningNet, to evaluate it too
    ///
    /// The folder holds its networks as files `*.ktn.model`.
    #[arg(long, value_name = "FOLDER")]
    kernel_tuning_net: Option<PathBuf>,
    /// Datasets of a second tuning of the same problems
    ///
    /// The report then shows how often both tunings agree, and how often the model matches either.
    #[arg(long, value_name = "DATASETS", num_args = 1..)]
    second_tuning: Vec<PathBuf>,
    /// Seed of all fitted trees
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tuned: TunedOptions,
}

/// Runs `seqtune-lab tuned`.
///
/// # Errors
/// `Error::Input` where a dataset holds no tuned configs, else the error of the model or a baseline.
pub fn run(args: &Args) -> Result<()> {
    let corpus = args.on.tables()?;
    if !corpus.iter().all(|data| data.table.is_tuned()) {
        return input("the baselines of tuned configs need what tuners chose; these datasets are sweeps");
    }
    args.kernel_tuning_net.as_deref().map_or(Ok(()), ktn::check_folder)?;
    let device = args.tuned.device_in(&corpus)?;
    if args.config_classifiers && !args.lightgbm {
        return input("--config-classifiers needs LightGBM, which --lightgbm=off leaves out");
    }
    let library = trees(args.lightgbm)?;
    let retuned = read_retuned(args, &corpus)?;
    let ask = Options {
        plain: tuned::TunedSettings {
            device: device.as_ref(),
            part: args.tuned.part.unwrap_or(Part::Test),
            library: library.as_ref(),
            as_stated: args.tuned.raw_probabilities,
            threads: cores(),
            seed: args.seed,
        },
        config_classifiers: args.config_classifiers,
        ktn: args.kernel_tuning_net.as_deref(),
        retuned: &retuned,
    };
    let mut reports = Vec::new();
    for (i, KernelTable { kernel, table }) in corpus.iter().enumerate() {
        let mut tell = |what: &str| tell(&format!("evaluate: {} ({} of {}): {what}", kernel.name, i + 1, corpus.len()));
        let baseline = args.tuned.load_baseline(kernel)?;
        let model = args.on.load(kernel, table, false)?;
        reports.extend(evaluate(kernel, table, &model, baseline.as_ref(), &ask, &mut tell)?);
    }
    if reports.is_empty() {
        return input("none of the problem shapes falls into that part of the model's split");
    }
    if args.json {
        return answer_json(&reports);
    }
    answer(report::text(&reports).trim_end());
    Ok(())
}

/// Reads the second tunings, each of a kernel that is evaluated.
fn read_retuned(args: &Args, corpus: &[KernelTable]) -> Result<Vec<KernelTable>> {
    if args.second_tuning.is_empty() {
        return Ok(Vec::new());
    }
    let retuned = tables(&args.second_tuning, args.on.kernel.as_deref())?;
    let is_judged = |of: &Kernel| corpus.iter().any(|data| data.kernel.name == of.name);
    match retuned.iter().find(|data| !is_judged(&data.kernel)) {
        Some(KernelTable { kernel, .. }) => {
            input(format!("--second-tuning: holds problems of {}, which no other dataset here is of", kernel.name))
        }
        None => Ok(retuned),
    }
}
