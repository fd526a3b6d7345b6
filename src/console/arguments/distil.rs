//! The arguments of `seqtune distil`.

use seqtune_kernel::limits;
use std::path::PathBuf;

/// Distils a model into a small, fast decoder; resumes if interrupted
///
/// To resume, run the same command again.
///
/// The small decoder learns the predictions of the full model for measured and for synthetic problems. It answers in a fraction of the
/// time. `predict` uses it if its first choices are level with those of the full model on the validation problems.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the model, or of models of one kernel each
    pub model: PathBuf,
    /// Datasets that the model was trained on
    #[arg(required = true)]
    pub datasets: Vec<PathBuf>,
    /// Folder for the small decoder [default: the folder of the model]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Fine-tuned form of the model, to learn from on some devices
    ///
    /// It is this model after `train --fine-tune` with the data of those devices alone. The small decoder learns its predictions on them.
    #[arg(long, value_name = "MODEL")]
    pub fine_tuned: Option<PathBuf>,
    /// Number of synthetic problems between the measured ones, 0 to 1,000,000
    ///
    /// [default: 4,000 for sweeps; as many as training problems, but 4,000 to 10,000, for tuned configs]
    #[arg(long, value_name = "N", value_parser = crate::value_parsers::count(0..=limits::SAMPLE))]
    pub synthetic: Option<usize>,
    /// Number of updates, 1 to 1,000,000
    ///
    /// [default: 12,000 for sweeps, 6,000 with fewer than 1,000 training problems; 10 passes in batches of 64 for tuned configs]
    #[arg(long, value_name = "N", value_parser = crate::value_parsers::count(1..=limits::SAMPLE))]
    pub steps: Option<usize>,
    /// Seed of the problems, the weights and the order of the data
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Replace existing small decoders
    #[arg(long)]
    pub overwrite: bool,
    /// Print the comparison with the full model as JSON
    #[arg(long)]
    pub json: bool,
}
