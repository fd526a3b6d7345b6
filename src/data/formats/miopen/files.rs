//! Database files of MIOpen, in SQLite or text form.

use crate::bad_rows::BadRows;
use crate::formats::miopen::rows::{Rows, Times};
use crate::formats::miopen::{sqlite, text};
use crate::formats::opened::contents;
use seqtune_predict::error::{Error, Result, input};
use std::path::Path;

/// Reads a performance database in SQLite or text form.
///
/// # Errors
/// [`Error::File`] where the file is missing, [`Error::Input`] where it is damaged or not a database.
pub fn read(path: &Path) -> Result<Rows> {
    parse(&contents(path)?).map_err(|e| e.at(path.display()))
}

/// [`read`] of the bytes of a file, unpacked.
///
/// # Errors
/// [`Error::Input`] where they are damaged or not a database.
pub fn parse(bytes: &[u8]) -> Result<Rows> {
    match bytes.starts_with(sqlite::MAGIC) {
        true => sqlite::read(bytes),
        false => text::read(utf8(bytes)?),
    }
}

/// Adds the times of a find database to `times`; gives the number of entries, and those that cannot be read.
///
/// # Errors
/// [`Error::File`] where the file is missing, [`Error::Input`] where it is damaged or not a database.
pub fn read_times(path: &Path, times: &mut Times) -> Result<(usize, BadRows)> {
    let bytes = contents(path)?;
    let at = |e: Error| e.at(path.display());
    Ok(text::read_times(utf8(&bytes).map_err(at)?, times))
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => input("is neither SQLite nor text: not a database of MIOpen"),
    }
}
