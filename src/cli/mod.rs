//! The program's verbs. Answers go to standard output, progress and warnings to standard error.

mod calibrate;
mod check;
mod choices;
mod completions;
mod devices;
mod doctor;
mod evaluate;
mod evolve;
mod export;
mod goal;
mod help;
mod import;
mod init;
mod measured;
mod older_forms;
mod precompile;
mod predict;
mod select;
mod shards;
mod signature;
mod space;
mod sweep;
mod targets;
mod validate;
mod watched;

use clap::{Parser, Subcommand};
use older_forms::Program;
use seqtune_console::answer::warn;
use seqtune_console::arguments;
use seqtune_console::program::{CommandLine, Verbosity, catch_panics, finish, parse};
use seqtune_console::siblings::{LAB, TRAINER};
use seqtune_measure::worker::server::{Start, serve};
use std::ffi::OsString;
use std::process::ExitCode;

/// Predicts tuning parameters of GPU kernels and validates them on the device
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

/// What the program is asked to do.
#[allow(missing_docs)] // a word here would take the place of that in --help, which stands at each verb's options
#[derive(Subcommand)]
enum Verb {
    Init(init::Args),
    Devices(devices::Args),
    Doctor(doctor::Args),
    Space(space::Args),
    Sweep(sweep::Args),
    Train(arguments::train::Args),
    Distil(arguments::distil::Args),
    Calibrate(calibrate::Args),
    Predict(predict::Args),
    Select(select::Args),
    Validate(validate::Args),
    Evaluate(evaluate::Args),
    Evolve(evolve::Args),
    Import(import::Args),
    Export(export::Args),
    Check(check::Args),
    // the list in --help has sixteen verbs at most
    #[command(hide = true)]
    Completions(completions::Args),
    /// Prints the man page as roff
    #[command(hide = true)]
    Man,
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Restores the default clocks of a device when standard input ends
    #[command(hide = true)]
    RestoreClocks {
        /// `nvml` and a PCI bus address, or `amdgpu` and a sysfs folder
        #[arg(num_args = 2)]
        address: Vec<String>,
    },
}

/// Measures configs for a parent process
#[derive(clap::Args)]
struct WorkerArgs {
    kernel: String,
    /// Digest of the kernel's space and source; the worker ends if it finds another one
    #[arg(long)]
    space: Option<String>,
    #[arg(long)]
    device: String,
    #[arg(long, default_value = ".")]
    scratch: std::path::PathBuf,
    #[arg(long, default_value_t = 20.0, help = "Seconds of a run, 0 to 1e9")]
    limit: f64,
    /// Parent process id; the worker ends when that process ends
    #[arg(long)]
    parent: Option<u32>,
}

/// Runs the program; errors are printed as one sentence.
pub fn main() -> ExitCode {
    catch_panics();
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if let Some(form) = older_forms::modern(&words) {
        warn(&form.warning);
        if form.program == Program::Lab {
            return finish(LAB.hand_over(&form.words[1..]));
        }
        words = form.words;
    }
    if let Some(of_target) = targets::words_of_target(&words) {
        words = of_target;
    }
    let CommandLine { args: Args { verbosity, verb }, words } = parse(command(), words);
    verbosity.log();
    finish(match verb {
        Verb::Init(args) => init::run(args),
        Verb::Devices(args) => devices::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Space(args) => space::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Train(_) | Verb::Distil(_) => TRAINER.hand_over(&words[1..]),
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Predict(args) => predict::run(args),
        Verb::Select(args) => select::run(args),
        Verb::Validate(args) => validate::run(args),
        Verb::Evaluate(args) => evaluate::run(args, &words[1..]),
        Verb::Evolve(args) => evolve::run(args),
        Verb::Import(args) => import::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Completions(args) => completions::run(args, command()),
        Verb::Man => completions::man(command()),
        Verb::RestoreClocks { address } => seqtune_measure::clocks::restore::restore(&address),
        Verb::Worker(args) => {
            let WorkerArgs { kernel, space, device, scratch, limit, parent } = &args;
            let (limit, parent, space) = (*limit, *parent, space.as_deref());
            serve(&Start { kernel, space, device, scratch, limit, parent })
        }
    })
}

/// The command line as clap knows it.
fn command() -> clap::Command {
    help::group_verbs(<Args as clap::CommandFactory>::command())
}

#[cfg(test)]
mod tests {
    use clap::builder::ValueParser;
    use seqtune_console::renamed_options;

    /// Options of a command and of those within it that take a number, without seeds, of which every one is as good.
    fn numbers(command: &clap::Command, found: &mut Vec<(String, String)>) {
        let counts = ValueParser::from(clap::value_parser!(usize)).type_id();
        let reals = ValueParser::from(clap::value_parser!(f64)).type_id();
        for arg in command.get_arguments() {
            if [counts, reals].contains(&arg.get_value_parser().type_id()) {
                let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
                found.push((format!("{} --{}", command.get_name(), arg.get_id()), help));
            }
        }
        command.get_subcommands().for_each(|inner| numbers(inner, found));
    }

    #[test]
    fn verbs_have_todays_names_of_options_alone() {
        let command = super::command();
        command.clone().debug_assert();
        let faults = [renamed_options::stale(&command), renamed_options::missing(&command)].concat();
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn every_number_states_its_range() {
        let mut found = Vec::new();
        numbers(&super::command(), &mut found);
        assert!(found.len() > 25, "{}", found.len());
        for (option, help) in found {
            let words: Vec<&str> = help.split_whitespace().collect();
            let is_number =
                |word: &str| word.trim_end_matches([',', ';', '.', ':']).replace(',', "").parse::<f64>().is_ok();
            let ranges = words.windows(3).any(|w| is_number(w[0]) && w[1] == "to" && is_number(w[2]));
            assert!(ranges, "{option} states no range: {help}");
        }
    }
}
