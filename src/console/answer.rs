//! Answers on standard output; progress and warnings on standard error.

use console::Term;
use seqtune_eval::pages::markdown::fit_width;
use seqtune_kernel::error::{Error, Result, printable};
use seqtune_kernel::spelling::{json, lines};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Writes a line to standard error, of what is done or what went wrong: one line that a terminal can show. Where it cannot be
/// written, nothing is to be done about it.
pub fn tell(text: &str) {
    writeln!(std::io::stderr(), "{}", printable(text)).ok();
}

/// Warns of what is done otherwise than a user may expect.
pub fn warn(text: &str) {
    tell(&format!("seqtune: warning: {text}"));
}

/// Names a file that was written beside the answer, such as a plot.
pub fn wrote(path: &Path) {
    tell(&format!("wrote {}", path.display()));
}

/// Writes an answer to standard output, of which a terminal shows every character and obeys none: names in it come from files. A reader that
/// has gone (`| head`) ends the program quietly, a full disk does not. A terminal is shown tables as wide as it is.
pub fn answer(text: &str) {
    let mut out = std::io::stdout().lock();
    let width = if out.is_terminal() { Term::stdout().size_checked() } else { None };
    let laid_out = width.map(|(_, columns)| fit_width(text, columns.into()));
    let text = laid_out.as_deref().unwrap_or(text);
    match writeln!(out, "{}", lines(text)).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(e) => {
            tell(&format!("seqtune: standard output: {e}; the answer is not whole"));
            std::process::exit(1);
        }
    }
}

/// An answer as one JSON line.
///
/// # Errors
/// `Error::Failed` where the value cannot be written as JSON.
pub fn answer_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|e| Error::Failed(format!("writing JSON: {e}")))?;
    answer(&json(&text));
    Ok(())
}
