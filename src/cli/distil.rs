//! `seqtune distil`: what is asked of the program that trains.

use crate::cli::trainer;
use seqtune_predict::error::Result;
use seqtune_predict::limits;
use std::path::PathBuf;

/// Distils a model into a small decoder that answers in a fraction of the time; started again after an interruption, it goes on
///
/// The small decoder learns what the whole model says of measured and of invented problems. `predict` takes it where its first choices are
/// level with the whole model's on the validation problems.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model, or of models of one kernel each
    pub model: PathBuf,
    /// The datasets that the model was trained on
    #[arg(required = true)]
    pub datasets: Vec<PathBuf>,
    /// Folder of the small decoder [default: that of the model]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// A model that went on from it (`train --from`) with the data of some of its devices alone: the small decoder learns from it there
    #[arg(long, value_name = "MODEL")]
    pub refined: Option<PathBuf>,
    /// Problems that are invented between the measured ones, 0 to 1,000,000
    #[arg(long, value_name = "N", value_parser = crate::cli::words::count(0..=limits::SAMPLE))]
    pub invented: Option<usize>,
    /// Updates, 1 to 1,000,000
    #[arg(long, value_name = "N", value_parser = crate::cli::words::count(1..=limits::SAMPLE))]
    pub steps: Option<usize>,
    /// Seed of problems, weights and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Replaces small decoders that are already there
    #[arg(long)]
    pub overwrite: bool,
    /// The comparison with the whole model as JSON
    #[arg(long)]
    pub json: bool,
}

/// Lets the program that trains do it.
///
/// # Errors
/// `Error::Unavailable` where the program that trains or its libraries are missing.
pub fn run(_: Args) -> Result<()> {
    trainer::hand_over()
}
