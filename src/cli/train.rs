//! `seqtune train`

use super::progress::Bar;
use crate::dataset::Split;
use crate::error::{Result, input};
use crate::model::{Epoch, Hparams, Model, Progress, Settings, Target, train};
use std::path::PathBuf;

/// Trains a model on datasets; started again after an interruption, it goes on
///
/// Sweeps and databases of tuned configs are learned with different defaults, given below as sweeps/tuned.
#[derive(clap::Args)]
pub struct Args {
    /// Datasets: journals, packed files, or folders of them; of one kernel or several
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
    /// Passes over the training problems [default: enough for about 1500 updates/10]
    #[arg(long)]
    epochs: Option<usize>,
    /// Problems per update [default: 16/128]
    #[arg(long)]
    batch: Option<usize>,
    /// Networks whose probabilities are averaged [default: 1/2]
    #[arg(long)]
    members: Option<usize>,
    /// Share of each layer's output that training leaves out [default: 0/0.1]
    #[arg(long)]
    dropout: Option<f64>,
    /// Share of the target that goes to all legal values alike
    #[arg(long)]
    smoothing: Option<f64>,
    /// Computes in single precision even where bfloat16 is faster
    #[arg(long)]
    single: bool,
    /// Unmeasured problems per measured one that a cost model labels for the decoder; 0 for none
    #[arg(long, default_value_t = Settings::default().imagined, value_name = "N")]
    imagined: usize,
    /// Highest learning rate [default: 0.0015/0.001]
    #[arg(long)]
    rate: Option<f64>,
    /// Width of the network [default: 64/128]
    #[arg(long)]
    width: Option<usize>,
    /// Encoder and decoder layers, each
    #[arg(long, default_value_t = Hparams::default().encoder_layers)]
    layers: usize,
    /// Share of problem shapes held out for testing [default: 0.2/0.1]
    #[arg(long)]
    test: Option<f64>,
    /// Share of problem shapes that choose the weights [default: 0.1/0.05]
    #[arg(long)]
    validation: Option<f64>,
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
    let corpus = super::tables(&args.datasets, args.kernel.as_deref())?;
    let tuned = corpus.iter().all(|(_, table)| table.is_tuned());
    if !tuned && (corpus.len() > 1 || corpus.iter().any(|(_, t)| t.tried.iter().any(|t| t.tuned().is_some()))) {
        return input("sweeps are learned one kernel at a time, and apart from databases of tuned configs");
    }
    let default = if tuned { Settings::tuned() } else { Settings::default() };
    let width = args.width.unwrap_or(default.hparams.width);
    let split = Split {
        seed: args.split_seed,
        test: args.test.unwrap_or(default.split.test),
        validation: args.validation.unwrap_or(default.split.validation),
    };
    let settings = Settings {
        hparams: Hparams {
            width,
            feed_forward: 2 * width,
            encoder_layers: args.layers,
            decoder_layers: args.layers,
            ..default.hparams
        },
        members: args.members.unwrap_or(default.members),
        target: args.target,
        tau: args.tau,
        epochs: args.epochs.or(default.epochs),
        batch: args.batch.unwrap_or(default.batch),
        dropout: args.dropout.unwrap_or(default.dropout),
        smoothing: args.smoothing.unwrap_or(default.smoothing),
        half: default.half && !args.single,
        imagined: args.imagined,
        rate: args.rate.unwrap_or(default.rate),
        split,
        seed: args.seed,
        command: super::command_line(),
        ..default
    };
    check(&settings)?;
    let problems: usize = corpus.iter().map(|(_, table)| table.tried.len()).sum();
    let records: usize = corpus.iter().map(|(_, table)| table.records()).sum();
    eprintln!("{} kernels, {problems} problems, {records} records", corpus.len());
    let mut preparing: Option<Bar> = None;
    let (mut epochs, mut trained): (Option<Bar>, Vec<usize>) = (None, Vec::new());
    let what = if tuned { "problems are spelled" } else { "problems are labelled by the cost model" };
    let model = train(&corpus, &settings, &args.output, &mut |progress| match progress {
        Progress::Preparing(done, all) => {
            preparing.get_or_insert_with(|| Bar::new("prepare", all as u64)).at(done, what);
        }
        Progress::Epoch(e) => {
            if let Some(bar) = preparing.take() {
                bar.end();
            }
            let Epoch { member, members, epoch, loss, validation: v, best, .. } = e;
            let of = if members > 1 { format!("network {} of {members}: ", member + 1) } else { String::new() };
            let (nats, share) = if tuned { ("nats", "greedy exact") } else { ("divergence", "share of best") };
            let message = format!(
                "{of}loss {loss:.3}, validation {nats} {:.3} (best {best:.3}), {share} {:.3}",
                v.divergence, v.share
            );
            let all = (members * e.epochs) as u64;
            trained.resize(members, 0);
            trained[member] = epoch;
            epochs.get_or_insert_with(|| Bar::new("train", all)).at(trained.iter().sum(), &message);
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

/// Refuses settings that cannot work.
fn check(settings: &Settings) -> Result<()> {
    let Settings { tau, rate, split, dropout, smoothing, batch, members, hparams, .. } = settings;
    if !(*tau > 0.0
        && *rate > 0.0
        && split.test >= 0.0
        && split.validation >= 0.0
        && split.test + split.validation < 1.0)
    {
        return input(
            "--tau and --rate must be positive, --test and --validation shares that leave something to train on",
        );
    }
    if !((0.0..1.0).contains(dropout) && (0.0..1.0).contains(smoothing) && *batch > 0 && *members > 0) {
        return input("--dropout and --smoothing must be shares below 1, --batch and --members at least 1");
    }
    if hparams.width == 0 || !hparams.width.is_multiple_of(hparams.heads) || hparams.encoder_layers == 0 {
        return input(format!("--width must be a multiple of {}, --layers at least 1", hparams.heads));
    }
    Ok(())
}
