//! Database files of MIOpen, in SQLite or text form.

use crate::formats::miopen::rows::{Row, Times};
use crate::formats::miopen::{sqlite, text};
use seqtune_predict::error::{Error, Result, input, io};
use std::io::Read;
use std::path::Path;

/// Reads a performance database in SQLite or text form.
///
/// # Errors
/// [`Error::File`] where the file is missing, [`Error::Input`] where it is damaged or not a database.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    let bytes = contents(path)?;
    let at = |e: Error| e.at(path.display());
    match bytes.starts_with(sqlite::MAGIC) {
        true => sqlite::read(&bytes).map_err(at),
        false => text::read(utf8(&bytes).map_err(at)?).map_err(at),
    }
}

/// Adds the times of a find database to `times`.
///
/// # Errors
/// [`Error::File`] where the file is missing, [`Error::Input`] where it is damaged or not a database.
pub fn read_times(path: &Path, times: &mut Times) -> Result<()> {
    let bytes = contents(path)?;
    let at = |e: Error| e.at(path.display());
    text::read_times(utf8(&bytes).map_err(at)?, times).map_err(at)
}

/// Reads the bytes of a file, decompressed where it is bzip2.
fn contents(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(io(path))?;
    if !bytes.starts_with(b"BZh") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    match bzip2::read::MultiBzDecoder::new(&bytes[..]).read_to_end(&mut plain) {
        Ok(_) => Ok(plain),
        Err(e) => input(format!("{}: the bzip2 data is truncated or damaged ({e}); fetch it again", path.display())),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => input("is neither SQLite nor text: not a database of MIOpen"),
    }
}
