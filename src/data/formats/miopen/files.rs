//! Database files of MIOpen, in SQLite or text form.

use crate::formats::miopen::rows::{ReadTimes, Rows, Times};
use crate::formats::miopen::{sqlite, text};
use crate::formats::opened::contents;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::limits;
use std::path::Path;

/// Reads a performance database in SQLite or text form.
///
/// # Errors
/// [`Error::File`] where the file is missing, [`Error::Input`] where it is damaged or not a database.
pub fn read(path: &Path) -> Result<Rows> {
    let bytes = contents(path)?;
    let log = if sqlite::has_log(&bytes) { log_of(path)? } else { None };
    let read = if bytes.starts_with(sqlite::MAGIC) { sqlite::read(&bytes, log.as_deref()) } else { parse(&bytes) };
    read.map_err(|e| e.at_place(path.display()))
}

/// The log beside a database, which may have its newest rows; `None` where there is none, or an empty one.
fn log_of(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let path = Path::new(&name);
    match path.exists() {
        true => Ok(Some(seqtune_kernel::files::read(path, limits::FOREIGN)?).filter(|log| !log.is_empty())),
        false => Ok(None),
    }
}

/// [`read`] of the bytes of a file, unpacked.
///
/// # Errors
/// [`Error::Input`] where they are damaged or not a database.
pub fn parse(bytes: &[u8]) -> Result<Rows> {
    match bytes.starts_with(sqlite::MAGIC) {
        true => sqlite::read(bytes, None),
        false => text::read(utf8(bytes)?),
    }
}

/// Adds the times of a find database to `times`.
///
/// # Errors
/// [`Error::File`] where the file is missing, [`Error::Input`] where it is damaged or no find database.
pub fn read_times(path: &Path, times: &mut Times) -> Result<ReadTimes> {
    let bytes = contents(path)?;
    let at = |e: Error| e.at_place(path.display());
    if bytes.starts_with(sqlite::MAGIC) {
        return input("is no find database, but one of SQLite; a performance database is imported without --find-db")
            .map_err(at);
    }
    utf8(&bytes).and_then(|text| text::read_times(text, times)).map_err(at)
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => input("is neither SQLite nor text: not a database of MIOpen"),
    }
}
