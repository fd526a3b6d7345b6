//! `seqtune evaluate`

mod measured;
mod model;
mod pages;
mod speed;

use seqtune_console::arguments::evaluate::{DevicesArgs, FoldsArgs};
use seqtune_console::siblings::TRAINER;
use seqtune_kernel::error::Result;
use std::ffi::OsString;

/// Evaluates models on held-out problems, by cross-validation, and by speed
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    by: By,
}

#[derive(clap::Subcommand)]
enum By {
    Model(model::Args),
    Measured(measured::Args),
    Folds(FoldsArgs),
    Devices(DevicesArgs),
    Speed(speed::Args),
}

/// Runs `seqtune evaluate`; `words` are the arguments, for the program that trains.
///
/// # Errors
/// The error of the model, the datasets or the evaluation.
pub fn run(args: Args, words: &[OsString]) -> Result<()> {
    match args.by {
        By::Model(args) => model::run(&args),
        By::Measured(args) => measured::run(&args),
        By::Folds(_) | By::Devices(_) => TRAINER.hand_over(words),
        By::Speed(args) => speed::run(args),
    }
}
