//! The program's verbs. Answers go to standard output, progress and warnings to standard error.

pub mod answer;
mod bench;
mod completions;
mod convert;
mod devices;
mod doctor;
pub mod evaluate;
mod export;
mod import;
pub mod inputs;
pub mod outputs;
mod predict;
pub mod progress;
mod space;
mod sweep;
pub mod train;
mod trainer;
mod validate;
mod words;

use crate::cli::answer::{answer as print, tell};
use clap::{Parser, Subcommand};
use seqtune_predict::error::Result;
use std::process::ExitCode;

/// Predicts the tuning parameters of GPU kernels, and validates them on the device.
///
/// Exit codes: 0 done, 1 the run failed, 2 wrong input, 3 a device or library is missing.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Args {
    /// Shows on standard error what is done beneath: workers, compilers, caches; twice for more
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    #[command(subcommand)]
    verb: Verb,
}

/// What the program is asked to do.
#[allow(missing_docs)] // a word here would take the place of that in --help, which stands at each verb's options
#[derive(Subcommand)]
pub enum Verb {
    Devices(devices::Args),
    Doctor(doctor::Args),
    Space(space::Args),
    Sweep(sweep::Args),
    Train(train::Args),
    Predict(predict::Args),
    Validate(validate::Args),
    Evaluate(evaluate::Args),
    Convert(convert::Args),
    Import(import::Args),
    Export(export::Args),
    Bench(bench::Args),
    Completions(completions::Args),
    /// Prints the man page, as roff
    #[command(hide = true)]
    Man,
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// Serves measurements to a parent process
#[derive(clap::Args)]
pub struct WorkerArgs {
    kernel: String,
    #[arg(long)]
    device: String,
}

/// Runs the program; errors are printed as one sentence.
pub fn main() -> ExitCode {
    finish(match parse() {
        Verb::Devices(args) => devices::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Space(args) => space::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Train(args) => train::run(args),
        Verb::Predict(args) => predict::run(args),
        Verb::Validate(args) => validate::run(args),
        Verb::Evaluate(args) => evaluate::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Import(args) => import::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Completions(args) => completions::run(args, command()),
        Verb::Man => completions::man(command()),
        Verb::Worker(args) => seqtune_measure::worker::server::serve(&args.kernel, &args.device),
    })
}

/// The command line as clap knows it.
fn command() -> clap::Command {
    <Args as clap::CommandFactory>::command()
}

/// Reads the command line; wrong words end the program with a message.
pub fn parse() -> Verb {
    catch_panics();
    let args = Args::try_parse().unwrap_or_else(|e| unread(&e));
    let level = match args.verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false).init();
    args.verb
}

/// Ends the program where the command line is no call of a verb: with the help that was asked for, or with what is wrong.
fn unread(e: &clap::Error) -> ! {
    let text = e.render();
    if !e.use_stderr() {
        print(text.to_string().trim_end());
        std::process::exit(0);
    }
    let styled = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let text = if styled { text.ansi().to_string() } else { text.to_string() };
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).ok();
    std::process::exit(e.exit_code());
}

/// A fault of the program's own ends it with a sentence that asks for a report.
fn catch_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        tell(&format!(
            "seqtune: a fault of seqtune {} itself{place}: {}; please report it with the command line",
            env!("CARGO_PKG_VERSION"),
            text.unwrap_or("no message")
        ));
        std::process::exit(1);
    }));
}

/// The exit code of what was done; an error is printed as one sentence.
pub fn finish(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            tell(&format!("seqtune: {e}"));
            ExitCode::from(e.exit_code() as u8)
        }
    }
}
