//! The start and the end of a program: its command line, its log, its exit code.

use crate::answer::{answer, tell, warn};
use crate::renamed_options;
use seqtune_kernel::error::Result;
use std::ffi::OsString;
use std::process::ExitCode;

/// The option `--verbose` of every program.
#[derive(clap::Args)]
pub struct Verbosity {
    /// Print details of workers, compilers and caches to standard error
    ///
    /// Give the option twice for more.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

impl Verbosity {
    /// Sends what is logged to standard error, down to the level that was asked for.
    pub fn log(&self) {
        let level = match self.verbose {
            0 => tracing::Level::WARN,
            1 => tracing::Level::DEBUG,
            _ => tracing::Level::TRACE,
        };
        tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false).init();
    }
}

/// What the command line says.
pub struct CommandLine<A> {
    /// Verb and options.
    pub args: A,
    /// The words that they were read from, the program's name first, in today's spelling.
    pub words: Vec<OsString>,
}

/// Reads the words of the command line, `command` being what `A` reads: options by older names too, with a warning. Wrong words end the
/// program with a message.
pub fn parse<A: clap::FromArgMatches>(command: clap::Command, words: Vec<OsString>) -> CommandLine<A> {
    let (words, renamed) = renamed_options::modern(words);
    renamed.iter().for_each(|row| warn(&row.warning()));
    let args = command.try_get_matches_from(&words).and_then(|matches| A::from_arg_matches(&matches));
    CommandLine { args: args.unwrap_or_else(|e| unread(&e)), words }
}

/// Ends the program where the command line is no call of a verb: with the help that was asked for, or with what is wrong.
fn unread(e: &clap::Error) -> ! {
    let text = e.render();
    if !e.use_stderr() {
        answer(text.to_string().trim_end());
        std::process::exit(0);
    }
    // one sentence, as for any other wrong input: without the usage and the advice behind it
    let text = text.to_string();
    let sentence =
        text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next()).unwrap_or_default();
    let sentence = sentence.trim().trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = sentence.replacen(" tip: ", "; ", 1);
    // a problem that a blank or a missing option has cut apart
    let advice = match sentence.strip_prefix("unexpected argument '").and_then(|rest| rest.split_once('\'')) {
        Some((word, _)) if !word.starts_with('-') && word.contains('=') => {
            "a problem is one word, as M=64,N=32; `sweep` takes it behind --problems".to_string()
        }
        _ => "see --help".into(),
    };
    tell(&format!("seqtune: {sentence}; {advice}"));
    std::process::exit(e.exit_code());
}

/// Lets a fault of the program's own end it with a sentence that asks for a report.
pub fn catch_panics() {
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
