//! The program `seqtune-train`, which `seqtune train`, `seqtune distil` and `seqtune evaluate --folds` become.

use clap::{Parser, Subcommand};
use seqtune_console::arguments::{distil, evaluate, train};
use seqtune_console::program::{Verbosity, finish, parse};
use seqtune_train::commands;
use std::process::ExitCode;

/// Trains, distils and cross-validates for `seqtune`, which documents the verbs
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Train(train::Args),
    Distil(distil::Args),
    Evaluate(evaluate::Args),
}

fn main() -> ExitCode {
    let Args { verbosity, verb } = parse();
    verbosity.log();
    finish(match verb {
        Verb::Train(args) => commands::train::run(args),
        Verb::Distil(args) => commands::distil::run(args),
        Verb::Evaluate(args) => commands::cross_validate::run(&args),
    })
}
