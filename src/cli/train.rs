//! `seqtune train`: what is asked of the program that trains.

use crate::cli::trainer;
use seqtune_predict::error::Result;
use seqtune_predict::limits;
use seqtune_predict::settings::Hparams;
use seqtune_predict::settings::Target;
use std::path::PathBuf;

/// Trains a model on datasets; started again after an interruption, it goes on
///
/// Sweeps and databases of tuned configs are learned with different defaults, given below as sweeps/tuned.
#[derive(clap::Args)]
pub struct Args {
    /// Datasets: journals, packed files, or folders of them; of one kernel or several
    #[arg(required = true)]
    pub datasets: Vec<PathBuf>,
    /// Folder of the model or models
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Goes on from this model (its folder), a few minutes: give its data too, or they are forgotten. Its split holds: what it
    /// learned is never judged as held out. --test may only be less, --validation other
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["width", "layers", "members", "target", "together"])]
    pub from: Option<PathBuf>,
    /// Kernel name or folder [default: the one that the datasets name]
    #[arg(long)]
    pub kernel: Option<String>,
    /// What the decoder is trained towards [default: soft/best]
    #[arg(long, value_parser = crate::cli::words::target())]
    pub target: Option<Target>,
    /// Temperature of the soft target, 0.0001 to 1000 [default: 0.05 to 0.2, by the noise of the data]
    #[arg(long, value_parser = crate::cli::words::real(1e-4..=1e3))]
    pub tau: Option<f64>,
    /// Passes over the training problems, 1 to 1,000,000 [default: enough for about 1500 updates/12]
    #[arg(long, value_parser = crate::cli::words::count(1..=limits::SAMPLE))]
    pub epochs: Option<usize>,
    /// Problems per update, 1 to 10,000 [default: 16 to 48, by how many there are/128]
    #[arg(long, value_parser = crate::cli::words::count(1..=limits::WIDTH))]
    pub batch: Option<usize>,
    /// Networks whose probabilities are averaged, 1 to 100 [default: 3/6]
    #[arg(long, value_parser = crate::cli::words::count(1..=limits::MEMBERS))]
    pub members: Option<usize>,
    /// Share of each layer's output that training leaves out, 0 to 0.99 [default: 0/0.15]
    #[arg(long, value_parser = crate::cli::words::real(0.0..=0.99))]
    pub dropout: Option<f64>,
    /// Share of the target that goes to all legal values alike, 0 to 0.99
    #[arg(long, value_parser = crate::cli::words::real(0.0..=0.99))]
    pub smoothing: Option<f64>,
    /// Unmeasured problems per measured one that a cost model labels for the decoder, 0 to 10,000; 0 for none [default: 12/0]
    #[arg(long, value_name = "N", value_parser = crate::cli::words::count(0..=limits::WIDTH))]
    pub pseudo_labels: Option<usize>,
    /// Highest learning rate, 0.000001 to 1 [default: 0.0015/0.001]
    #[arg(long, value_parser = crate::cli::words::real(1e-6..=1.0))]
    pub rate: Option<f64>,
    /// Width of the network, 1 to 1,024 and a multiple of 4 [default: 64/96]
    #[arg(long, value_parser = crate::cli::words::count(1..=1_024))]
    pub width: Option<usize>,
    /// Encoder and decoder layers, each 1 to 64
    #[arg(long, default_value_t = Hparams::default().encoder_layers, value_parser = crate::cli::words::count(1..=64))]
    pub layers: usize,
    /// Share of problem shapes held out for testing, 0 to 0.99 [default: 0.2/0.1]
    #[arg(long, value_parser = crate::cli::words::real(0.0..=0.99))]
    pub test: Option<f64>,
    /// Share of problem shapes that choose the weights, 0 to 0.99 [default: 0.1/0.05]
    #[arg(long, value_parser = crate::cli::words::real(0.0..=0.99))]
    pub validation: Option<f64>,
    /// Seed of the split [default: 1]
    #[arg(long)]
    pub split_seed: Option<u64>,
    /// Seed of weights and order: the same one gives the same model on one machine with one number of threads (OMP_NUM_THREADS)
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// One model for all kernels [default: one for each, in FOLDER/KERNEL]
    #[arg(long)]
    pub together: bool,
    /// Learns from few sizes without leaving them out in turn, so that what the model is worth is not known
    #[arg(long)]
    pub quick: bool,
    /// Replaces models that are already in the folder, but for those of the same data and settings
    #[arg(long)]
    pub overwrite: bool,
    /// The scores as one JSON object
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
