//! The program `seqtune-train`, which `seqtune train`, `distil`, `evaluate folds` and `evaluate devices` become.

use clap::{CommandFactory, Parser, Subcommand};
use seqtune_console::arguments::evaluate::{DevicesArgs, FoldsArgs};
use seqtune_console::arguments::{distil, train};
use seqtune_console::program::{Verbosity, catch_panics, finish, parse};
use seqtune_train::commands;
use seqtune_train::cross_validation::HeldOut;
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
    #[command(subcommand)]
    Evaluate(Evaluate),
}

/// Cross-validates sweeps
#[derive(Subcommand)]
enum Evaluate {
    Folds(FoldsArgs),
    Devices(DevicesArgs),
}

fn main() -> ExitCode {
    catch_panics();
    let Args { verbosity, verb } = parse(Args::command(), std::env::args_os().collect()).args;
    verbosity.log();
    finish(match verb {
        Verb::Train(args) => commands::train::run(args),
        Verb::Distil(args) => commands::distil::run(args),
        Verb::Evaluate(Evaluate::Folds(args)) => {
            commands::cross_validate::run(&args.cross, HeldOut::Shapes(args.folds))
        }
        Verb::Evaluate(Evaluate::Devices(args)) => commands::cross_validate::run(&args.cross, HeldOut::Devices),
    })
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::CommandFactory;
    use seqtune_console::renamed_options;

    #[test]
    fn verbs_have_todays_names_of_options_alone() {
        Args::command().debug_assert();
        assert_eq!(renamed_options::stale(&Args::command()), [""; 0]);
    }
}
