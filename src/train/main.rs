//! The program `seqtune-train`, which `seqtune train`, `seqtune distil` and `seqtune evaluate --folds` become.

use seqtune::cli::{self, Verb};
use seqtune_kernel::error::input;
use seqtune_train::commands;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::finish(match cli::parse() {
        Verb::Train(args) => commands::train::run(args),
        Verb::Distil(args) => commands::distil::run(args),
        Verb::Evaluate(args) => commands::cross_validate::run(&args),
        _ => input("seqtune-train trains, distils and cross-validates; call `seqtune` for everything else"),
    })
}
