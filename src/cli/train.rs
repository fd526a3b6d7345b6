//! `seqtune train`

use super::progress::Bar;
use crate::dataset::Split;
use crate::error::{Result, input};
use crate::model::{Epoch, Hparams, Model, Progress, Settings, Target, train};
use std::path::PathBuf;

/// Trains a model on datasets of one kernel; started again after an interruption, it goes on
#[derive(clap::Args)]
pub struct Args {
    /// Datasets: journals or packed files, of one kernel
    #[arg(required = true)]
    datasets: Vec<PathBuf>,
    /// Folder of the model
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Kernel name or folder [default: the one that the datasets name]
    #[arg(long)]
    kernel: Option<String>,
    /// What the decoder is trained towards
    #[arg(long, value_enum, default_value_t = Target::Soft)]
    target: Target,
    /// Temperature of the soft target
    #[arg(long, default_value_t = Settings::default().tau)]
    tau: f64,
    /// Passes over the training problems [default: enough for about 1500 updates]
    #[arg(long)]
    epochs: Option<usize>,
    /// Unmeasured problems per measured one that a cost model labels for the decoder; 0 for none
    #[arg(long, default_value_t = Settings::default().imagined, value_name = "N")]
    imagined: usize,
    /// Highest learning rate
    #[arg(long, default_value_t = Settings::default().rate)]
    rate: f64,
    /// Width of the network
    #[arg(long, default_value_t = Hparams::default().width)]
    width: usize,
    /// Encoder and decoder layers, each
    #[arg(long, default_value_t = Hparams::default().encoder_layers)]
    layers: usize,
    /// Share of problem shapes held out for testing
    #[arg(long, default_value_t = 0.2)]
    test: f64,
    /// Share of problem shapes that choose the weights
    #[arg(long, default_value_t = 0.1)]
    validation: f64,
    /// Seed of the split
    #[arg(long, default_value_t = 1)]
    split_seed: u64,
    /// Seed of weights and order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replaces a model that is already in the folder
    #[arg(long)]
    overwrite: bool,
    /// The scores as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<()> {
    if Model::file(&args.output).exists() && !args.overwrite {
        return input(format!(
            "{} already holds a model; name another folder, or pass --overwrite",
            args.output.display()
        ));
    }
    if !(args.tau > 0.0
        && args.rate > 0.0
        && args.test >= 0.0
        && args.validation >= 0.0
        && args.test + args.validation < 1.0)
    {
        return input(
            "--tau and --rate must be positive, --test and --validation shares that leave something to train on",
        );
    }
    if args.width == 0 || !args.width.is_multiple_of(Hparams::default().heads) || args.layers == 0 {
        return input(format!("--width must be a multiple of {}, --layers at least 1", Hparams::default().heads));
    }
    let (kernel, table) = super::table(&args.datasets, args.kernel.as_deref())?;
    let settings = Settings {
        hparams: Hparams {
            width: args.width,
            feed_forward: 2 * args.width,
            encoder_layers: args.layers,
            decoder_layers: args.layers,
            ..Hparams::default()
        },
        target: args.target,
        tau: args.tau,
        epochs: args.epochs,
        imagined: args.imagined,
        rate: args.rate,
        split: Split { seed: args.split_seed, test: args.test, validation: args.validation },
        seed: args.seed,
        command: super::command_line(),
        ..Settings::default()
    };
    eprintln!("{} problems, {} records, {} devices", table.tried.len(), table.records(), table.devices.len());
    let mut labelling: Option<Bar> = None;
    let mut epochs: Option<Bar> = None;
    let model = train(&kernel, &table, &settings, &args.output, &mut |progress| match progress {
        Progress::Labelling(done, all) => {
            labelling.get_or_insert_with(|| Bar::new("label", all as u64)).at(done, "problems by the cost model");
        }
        Progress::Epoch(e) => {
            if let Some(bar) = labelling.take() {
                bar.end();
            }
            let Epoch { epoch, loss, validation: v, best, .. } = e;
            let message = format!(
                "loss {loss:.3}, validation divergence {:.3} (best {best:.3}), share of best {:.3}",
                v.divergence, v.share
            );
            epochs.get_or_insert_with(|| Bar::new("train", e.epochs as u64)).at(epoch, &message);
        }
    })?;
    if let Some(bar) = epochs {
        bar.end();
    }
    if args.json {
        return super::answer_json(&model.meta);
    }
    let scores: Vec<String> = model.meta.scores.iter().map(|(name, score)| format!("  {name}: {score:.4}")).collect();
    super::answer(&format!("{}: {} weights\n{}", Model::file(&args.output).display(), model.size(), scores.join("\n")));
    Ok(())
}
