//! `seqtune-lab kernels`

use crate::other_kernels::leave_kernel_out;
use seqtune_console::answer::{answer, answer_json, warn};
use seqtune_console::inputs::tables;
use seqtune_console::value_parsers::objective;
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Evaluates transfer to an unseen kernel, on sweeps of three kernels or more
///
/// For each kernel, boosted trees trained on the others are evaluated before and after 20 measurements of it.
#[derive(clap::Args)]
pub struct Args {
    /// Sweeps: journals, packed files or folders
    #[arg(required = true)]
    datasets: Vec<PathBuf>,
    /// Quantity by which configs are compared
    #[arg(long, value_parser = objective(), default_value_t = Objective::Time)]
    objective: Objective,
    /// Seed of all fitted trees
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `seqtune-lab kernels`.
///
/// # Errors
/// `Error::Input` where the datasets are no sweeps, or of fewer than three kernels.
pub fn run(args: &Args) -> Result<()> {
    let mut corpus = tables(&args.datasets, None)?;
    if corpus.iter().any(|data| data.table.is_tuned()) {
        return input("transfer between kernels is judged by sweeps; some of these datasets hold what tuners chose");
    }
    // trees draw their rows in the order of the kernels: the order of the files is to change nothing
    corpus.sort_by(|a, b| a.kernel.name.cmp(&b.kernel.name));
    let devices: BTreeSet<&str> =
        corpus.iter().flat_map(|data| data.table.devices.iter().map(|d| d.name.as_str())).collect();
    if devices.len() > 1 {
        let named = devices.into_iter().collect::<Vec<_>>().join(", ");
        warn(&format!("the figures are of several devices together ({named}); name the datasets of one for its own"));
    }
    let report = leave_kernel_out(&corpus, args.objective, args.seed)?;
    match args.json {
        true => answer_json(&report),
        false => {
            answer(report.table().trim_end());
            Ok(())
        }
    }
}
