//! Answers on standard output; progress and warnings on standard error.

use seqtune_predict::error::{Error, Result, printable};
use std::io::Write;

/// Writes a line to standard error, of what is done or what went wrong: one line that a terminal can show. Where it cannot be
/// written, nothing is to be done about it.
pub fn tell(text: &str) {
    writeln!(std::io::stderr(), "{}", printable(text)).ok();
}

/// Warns of what is done otherwise than a user may expect.
pub fn warn(text: &str) {
    tell(&format!("seqtune: warning: {text}"));
}

/// Writes an answer to standard output; a reader that has gone (`| head`) ends the program quietly, a full disk does not.
pub fn answer(text: &str) {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
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
    answer(&text);
    Ok(())
}
