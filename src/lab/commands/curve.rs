//! `seqtune-lab curve`

use seqtune_console::answer::{answer, answer_json, wrote};
use seqtune_console::arguments::evaluate::ModelAndDatasets;
use seqtune_console::outputs::claim_drawings;
use seqtune_console::value_parsers::objective;
use seqtune_data::KernelTable;
use seqtune_eval::measures::curve::curve;
use seqtune_eval::measures::replay;
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use std::path::PathBuf;

/// Plots the best speed after N measurements: predictions versus search
///
/// The held-out problems of a sweep are replayed.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    on: ModelAndDatasets,
    /// SVG file for the plot
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Quantity by which configs are compared
    #[arg(long, value_parser = objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Evaluate all problems that the model was not trained on
    #[arg(long)]
    all_problems: bool,
    /// Replace a file that seqtune did not write
    #[arg(long)]
    force: bool,
    /// Print the shares as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune-lab curve`.
///
/// # Errors
/// `Error::Input` where the datasets are no sweeps of one kernel, else the error of the model or the file.
pub fn run(args: &Args) -> Result<()> {
    let read = [std::slice::from_ref(&args.on.model), &args.on.datasets[..]].concat();
    claim_drawings(&[Some(&args.output)], args.force, &read)?;
    let corpus = args.on.tables()?;
    let [KernelTable { kernel, table }] = &corpus[..] else { return input("sweeps are judged one kernel at a time") };
    if table.is_tuned() {
        return input("a curve is drawn by replay of sweeps; these datasets hold what tuners chose");
    }
    let model = args.on.load(kernel, table, args.all_problems)?;
    model.check_objective(args.objective)?;
    let ask = replay::ReplayOptions { objective: args.objective, whole: args.all_problems, trees: None };
    let curve = curve(kernel, &model, table, ask)?;
    curve.draw(&args.output)?;
    wrote(&args.output);
    match args.json {
        true => answer_json(&curve),
        false => {
            answer(curve.table().trim_end());
            Ok(())
        }
    }
}
