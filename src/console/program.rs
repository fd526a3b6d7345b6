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
    CommandLine { args: args.unwrap_or_else(|e| unread(&e, &words)), words }
}

/// Ends the program where the command line is no call of a verb: with the help that was asked for, or with what is wrong.
fn unread(e: &clap::Error, words: &[OsString]) -> ! {
    let text = e.render();
    if !e.use_stderr() {
        answer(text.to_string().trim_end());
        std::process::exit(0);
    }
    tell(&format!("seqtune: {}", sentence(&text.to_string(), words)));
    std::process::exit(e.exit_code());
}

/// What is wrong with the words of a command line, as clap says it, in one sentence: without the usage, and with advice of our own.
fn sentence(text: &str, words: &[OsString]) -> String {
    let text = text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next()).unwrap_or_default();
    let mut sentence = text.trim().trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    for (theirs, ours) in [
        ("invalid digit found in string", "write a whole number"),
        ("cannot parse integer from empty string", "write a whole number"),
        ("invalid float literal", "write a number"),
        ("cannot parse float from empty string", "write a number"),
    ] {
        sentence = sentence.replace(theirs, ours);
    }
    let (what, tip) = match sentence.split_once(" tip: ") {
        // a value that looks like an option: nobody means that
        Some((what, tip)) if tip.starts_with("to pass") => (what.to_string(), String::new()),
        Some((what, tip)) => (what.to_string(), format!("; {tip}")),
        None => (sentence, String::new()),
    };
    format!("{what}{tip}; {}", advice(&what, words))
}

/// What to do about it.
fn advice(what: &str, words: &[OsString]) -> String {
    const PROBLEM: &str = "a problem is one word, as M=64,N=32; `sweep` takes it behind --problems";
    let quoted = what.split_once('\'').and_then(|(_, rest)| rest.split_once('\'')).map(|(word, _)| word);
    let is_unknown = what.starts_with("unexpected argument") || what.starts_with("the subcommand");
    let Some(word) = quoted.filter(|_| is_unknown) else { return "see --help".into() };
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let whole = words.iter().find(|whole| whole.starts_with(word) && whole.len() > 2);
    let next = words.iter().skip_while(|found| **found != word).nth(1);
    match (word, whole, next) {
        // a problem that a blank or a missing option has cut apart
        (word, _, _) if !word.starts_with('-') && word.contains('=') => PROBLEM.into(),
        (word, Some(whole), _) if word.len() == 2 && !whole.starts_with("--") => {
            format!("did you mean --{}? See --help", whole.trim_start_matches('-'))
        }
        (word, _, Some(next)) if word.starts_with("--") && next.parse::<f64>().is_ok() => {
            format!("see --help; a field of a problem is written {}={next}", word.trim_start_matches('-'))
        }
        _ => "see --help".into(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_words_get_one_sentence_with_what_to_do() {
        let said = |text: &str, words: &str| sentence(text, &words.split(' ').map(OsString::from).collect::<Vec<_>>());
        let unknown =
            "error: unexpected argument '-t' found\n\n  tip: to pass '-t' as a value, use '-- -t'\n\nUsage: x";
        assert_eq!(
            said(unknown, "seqtune predict m n=1 -top 3"),
            "unexpected argument '-t' found; did you mean --top? See --help"
        );
        let field = "error: unexpected argument '--rows' found\n\n  tip: to pass '--rows' as a value, use '-- --rows'\n\nUsage: x";
        let text = said(field, "seqtune predict m --rows 100");
        assert_eq!(text, "unexpected argument '--rows' found; see --help; a field of a problem is written rows=100");
        let similar =
            "error: unexpected argument '--tpo' found\n\n  tip: a similar argument exists: '--top'\n\nUsage: x";
        let text = said(similar, "seqtune predict m n=1 --tpo x");
        assert_eq!(text, "unexpected argument '--tpo' found; a similar argument exists: '--top'; see --help");
        let part = "error: the subcommand 'rows=1' cannot be used with '<KERNEL>'\n\nUsage: x";
        assert!(said(part, "seqtune sweep k rows=1").contains("a problem is one word"));
        let whole = "error: invalid value '1.5' for '--epochs <N>': invalid digit found in string\n\nFor more";
        assert_eq!(said(whole, "x"), "invalid value '1.5' for '--epochs <N>': write a whole number; see --help");
    }
}
