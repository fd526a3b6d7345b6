//! Updates a second on the shipped sweep of gemm, on one thread: `cargo bench -p seqtune-train --bench updates`.
//!
//! Prints JSON that `scripts/figures/torch_speed.py` reads: how many updates took how long, and the sizes of the network and of a batch. Argument,
//! behind `--`: a number of updates. The problems are the measured ones alone: those that trees
//! label make batches of the same sizes, but for fewer nodes.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use seqtune_console::inputs::tables;
use seqtune_kernel::error::Result;
use seqtune_predict::Settings;
use seqtune_train::ensemble::checkpoint::Checkpoint;
use seqtune_train::ensemble::member::{MemberTrainer, random_weights};
use seqtune_train::ensemble::memory::keep_memory;
use seqtune_train::plan::Plan;
use seqtune_train::prepare::prepare;
use seqtune_train::training_data::batch::Batch;
use seqtune_train::training_data::drawn::Drawn;
use seqtune_train::training_data::{Example, KernelData};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[path = "../../../tests/common/processor.rs"]
mod processor;

use processor::processor_seconds;

/// Updates that are timed at least, unless another number is given; those of whole epochs.
const UPDATES: usize = 100;

fn main() -> Result<()> {
    let wanted = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(UPDATES);
    tch::set_num_threads(1);
    keep_memory();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/gemm/cpu-epyc-2c.sqt");
    let corpus = tables(&[data], None)?;
    let settings = Settings { members: 1, ..Settings::default() };
    // without a re-ranker's loss no trees are fitted, which nothing here would ask
    let plan = Plan::new(None, &corpus, &Settings { rank: 0.0, ..settings.clone() })?;
    let kernels = prepare(&plan, &mut |_| ())?.kernels;
    let settings = Settings { rank: settings.rank, ..plan.settings.clone() };
    let weights = random_weights(&kernels, &plan.vocab, &settings, 0);
    let checkpoint = Checkpoint { path: PathBuf::from("/nonexistent"), key: String::new() };
    let mut trainer = MemberTrainer::begin(&kernels, &weights, &settings, 0, &checkpoint)?;
    let of_epoch = MemberTrainer::updates(&kernels);
    let epoch = |trainer: &mut MemberTrainer| {
        trainer.epoch += 1;
        trainer.epoch_of((10 * UPDATES) as f64)
    };
    epoch(&mut trainer)?;
    let (began, processor) = (Instant::now(), processor_seconds());
    let mut updates = 0;
    while updates < wanted {
        epoch(&mut trainer)?;
        updates += of_epoch;
    }
    let (seconds, processor) = (began.elapsed().as_secs_f64(), processor_seconds() - processor);
    println!(
        "{}",
        json!({
            "updates": updates,
            "seconds": seconds,
            "processor_seconds": if processor > 0.0 { processor } else { seconds },
            "sizes": sizes(&kernels[0], &settings),
        })
    );
    Ok(())
}

/// Sizes of the network and of the first batch.
fn sizes(kernel_data: &KernelData, settings: &Settings) -> Value {
    let (featurizer, hparams) = (&kernel_data.featurizer, &settings.hparams);
    let examples: Vec<&Example> = kernel_data.training.iter().take(kernel_data.batch).collect();
    let drawn = Drawn::new(&examples, kernel_data.rows, &mut ChaCha8Rng::seed_from_u64(1));
    let sizes = Batch::new(featurizer, &drawn.sources, kernel_data.rows, &drawn.sequences).sizes();
    let parameters = &featurizer.kernel.parameters;
    json!({
        "width": hparams.width,
        "heads": hparams.heads,
        "feed_forward": hparams.feed_forward,
        "encoder_layers": hparams.encoder_layers,
        "decoder_layers": hparams.decoder_layers,
        "source": featurizer.vocab.source_widths(),
        "parameters": parameters.len(),
        "step": featurizer.step_width(),
        "choice": featurizer.choice_width(),
        "problems": sizes.problems,
        "rows": sizes.rows,
        "nodes": sizes.nodes,
        "steps": sizes.steps,
        "tokens": parameters.iter().map(|p| p.values.len()).sum::<usize>(),
        "choices": drawn.sequences.iter().flat_map(|s| &s.legal).map(|l| l.len()).max(),
        "columns": (0..parameters.len()).map(|at| featurizer.choice_columns(at).len()).max(),
    })
}
