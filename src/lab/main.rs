//! The program `seqtune-lab`.

use clap::{CommandFactory, Parser, Subcommand};
use seqtune_console::program::{Verbosity, catch_panics, finish, parse};
use seqtune_lab::commands::{breakpoints, curve, kernels, selection, tuned, tuners};
use std::process::ExitCode;

/// Compares models with tuning methods of the literature, for research
///
/// Exit codes: 0 done, 1 the run failed, 2 wrong input, 3 a device or library is missing.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Args {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    verb: Verb,
}

#[allow(missing_docs)] // a word here would take the place of that in --help, which stands at each verb's options
#[derive(Subcommand)]
enum Verb {
    #[command(visible_alias = "rivals")]
    Tuners(tuners::Args),
    Tuned(tuned::Args),
    Kernels(kernels::Args),
    Curve(curve::Args),
    Breakpoints(breakpoints::Args),
    Selection(selection::Args),
}

fn main() -> ExitCode {
    catch_panics();
    let Args { verbosity, verb } = parse(Args::command(), std::env::args_os().collect()).args;
    verbosity.log();
    finish(match verb {
        Verb::Tuners(args) => tuners::run(args),
        Verb::Tuned(args) => tuned::run(&args),
        Verb::Kernels(args) => kernels::run(&args),
        Verb::Curve(args) => curve::run(&args),
        Verb::Breakpoints(args) => breakpoints::run(&args),
        Verb::Selection(args) => selection::run(&args),
    })
}

#[cfg(test)]
mod tests {
    use super::Args;
    use clap::CommandFactory;
    use seqtune_console::renamed_options;

    #[test]
    fn verbs_have_todays_names_of_options_alone() {
        let command = Args::command();
        command.clone().debug_assert();
        let faults = [renamed_options::stale(&command), renamed_options::missing(&command)].concat();
        assert!(faults.is_empty(), "{faults:?}");
    }
}
