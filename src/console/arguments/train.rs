//! The arguments of `seqtune train`.

use seqtune_kernel::limits;
use seqtune_predict::Hparams;
use seqtune_predict::model::Target;
use std::path::PathBuf;

/// Trains a model on datasets; resumes if interrupted
///
/// To resume, run the same command again.
///
/// Sweeps and databases of tuned configs have different defaults, given below as sweeps/tuned.
#[derive(clap::Args)]
pub struct Args {
    /// Datasets: journals, packed files, or folders of them
    ///
    /// They may be of one kernel or several.
    #[arg(required = true)]
    pub datasets: Vec<PathBuf>,
    /// Folder of the model or models
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Folder of a model to fine-tune, which takes a few minutes
    ///
    /// Also pass its original datasets, or the model forgets them. Its split is kept, so that no problem it was trained on is evaluated
    /// as held-out. --test can only shrink, --split-seed must stay the same, --validation may change.
    ///
    /// Defaults that differ: --epochs enough for about 300 updates, --batch-size 16 to 48/32, --learning-rate 0.0004/0.0003.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["width", "layers", "members", "target", "together"])]
    pub fine_tune: Option<PathBuf>,
    /// Kernel name or folder [default: the kernel named in the datasets]
    #[arg(long)]
    pub kernel: Option<String>,
    /// Training target of the decoder [default: soft/best]
    #[arg(long, value_parser = crate::value_parsers::target())]
    pub target: Option<Target>,
    /// Temperature of the soft target, 0.0001 to 1000
    ///
    /// [default: 0.05 to 0.2, by the noise of the data]
    #[arg(long, value_parser = crate::value_parsers::real(1e-4..=1e3))]
    pub target_temperature: Option<f64>,
    /// Passes over the training problems, 1 to 1,000,000
    ///
    /// [default: enough for about 1500 updates/12]
    #[arg(long, value_parser = crate::value_parsers::count(1..=limits::SAMPLE))]
    pub epochs: Option<usize>,
    /// Problems per update, 1 to 10,000
    ///
    /// [default: 16 to 48, by the number of problems/128]
    #[arg(long, value_parser = crate::value_parsers::count(1..=limits::WIDTH))]
    pub batch_size: Option<usize>,
    /// Networks in the ensemble, 1 to 100 [default: 3/6]
    ///
    /// Their probabilities are averaged.
    #[arg(long, value_parser = crate::value_parsers::count(1..=limits::MEMBERS))]
    pub members: Option<usize>,
    /// Dropout rate, 0 to 0.99 [default: 0/0.15]
    ///
    /// It is the share of each layer's output that training leaves out.
    #[arg(long, value_parser = crate::value_parsers::real(0.0..=0.99))]
    pub dropout: Option<f64>,
    /// Label smoothing, 0 to 0.99 [default: 0]
    ///
    /// It is the share of the target that is spread evenly over all legal values.
    #[arg(long, value_parser = crate::value_parsers::real(0.0..=0.99))]
    pub label_smoothing: Option<f64>,
    /// Pseudo-labelled problems per measured one, 0 to 10,000 [default: 12/0]
    ///
    /// A cost model labels these unmeasured problems for the decoder. 0 is for none. Together with the measured problems they are at
    /// most 2,000, unless more were measured.
    #[arg(long, value_name = "N", value_parser = crate::value_parsers::count(0..=limits::WIDTH))]
    pub pseudo_labels: Option<usize>,
    /// Highest learning rate, 0.000001 to 1 [default: 0.0015/0.001]
    #[arg(long, value_parser = crate::value_parsers::real(1e-6..=1.0))]
    pub learning_rate: Option<f64>,
    /// Width of the network, 1 to 1,024 and a multiple of 4 [default: 64/96]
    #[arg(long, value_parser = crate::value_parsers::count(1..=1_024))]
    pub width: Option<usize>,
    /// Number of encoder layers, and of decoder layers, 1 to 64
    #[arg(long, default_value_t = Hparams::default().encoder_layers, value_parser = crate::value_parsers::count(1..=64))]
    pub layers: usize,
    /// Share of problem shapes held out for testing, 0 to 0.99 [default: 0.2/0.1]
    #[arg(long, value_parser = crate::value_parsers::real(0.0..=0.99))]
    pub test: Option<f64>,
    /// Share of problem shapes for validation, 0 to 0.99 [default: 0.1/0.05]
    ///
    /// These select the weights.
    #[arg(long, value_parser = crate::value_parsers::real(0.0..=0.99))]
    pub validation: Option<f64>,
    /// Seed of the split [default: 1]
    #[arg(long)]
    pub split_seed: Option<u64>,
    /// Seed of the weights and of the order of the data
    ///
    /// The same seed gives the same model on one machine with one number of threads (OMP_NUM_THREADS).
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Train one model for all kernels [default: one each, in FOLDER/KERNEL]
    #[arg(long)]
    pub together: bool,
    /// Skip the cross-validation of sweeps with few sizes
    ///
    /// Sweeps are cross-validated if they have too few sizes for a validation split. Without this, the quality of the model is unknown.
    #[arg(long)]
    pub no_cross_validation: bool,
    /// Replace models in the folder, except those of the same data and settings
    #[arg(long)]
    pub overwrite: bool,
    /// Print the description and scores of the model as JSON
    ///
    /// Several models give one array.
    #[arg(long)]
    pub json: bool,
}
