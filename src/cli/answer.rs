//! Answers on standard output.

use seqtune_predict::error::{Error, Result};

/// Writes an answer to standard output; a reader that has gone (`| head`) ends the program quietly, a full disk does not.
pub fn answer(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(e) => {
            eprintln!("seqtune: standard output: {e}; the answer is not whole");
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
