//! Journal form of a dataset: a header line, then one JSON line per record, flushed after each.

use crate::dataset::{Dataset, Header, line};
use crate::packed;
use crate::record::Record;
use seqtune_predict::error::{Error, Result, input, io};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Journal open for appending, locked against a second writer.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Header and records, including appended ones.
    pub dataset: Dataset,
}

impl Journal {
    /// Opens a journal for appending, or creates it with `header`.
    ///
    /// An incomplete last line of an interrupted writer is removed. An existing header has to agree in kernel, space, device, driver,
    /// provenance and seed.
    ///
    /// # Errors
    /// [`Error::Input`] where the file is locked, packed, malformed or of another header, else the I/O error of the file.
    pub fn open(path: &Path, header: Header) -> Result<Journal> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io(folder))?;
        }
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(io(path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return input(format!(
                    "{}: another sweep is writing it; wait for it or write to another file",
                    path.display()
                ));
            }
            Err(TryLockError::Error(e)) => return Err(io(path)(e)),
            Ok(()) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io(path))?;
        if packed::is_packed(&bytes) {
            return input(format!("{}: is a packed dataset; a sweep goes on in a journal only", path.display()));
        }
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        file.set_len(whole as u64).map_err(io(path))?;
        file.seek(SeekFrom::End(0)).map_err(io(path))?;
        let mut journal = Journal { path: path.into(), file, dataset: Dataset { header, records: Vec::new() } };
        if whole == 0 {
            let line = line(&journal.dataset.header);
            journal.write(&line)?;
            return Ok(journal);
        }
        let found = decode(&bytes[..whole]).map_err(|e| e.at(path.display()))?;
        let (old, new) = (&found.header, &journal.dataset.header);
        let differs = [
            ("kernel", &old.kernel, &new.kernel),
            ("space", &old.space, &new.space),
            ("device", &old.device.name, &new.device.name),
            ("driver", &old.device.driver, &new.device.driver),
            ("recipe", &recipe(old), &recipe(new)),
            ("seed", &old.seed.to_string(), &new.seed.to_string()),
        ]
        .into_iter()
        .find(|(_, old, new)| old != new)
        .map(|(what, old, new)| format!("was begun with {what} {old}, not {new}"));
        match differs {
            Some(differs) => input(format!("{}: {differs}; write to another file", path.display())),
            None => {
                journal.dataset = found;
                Ok(journal)
            }
        }
    }

    /// Appends a record and flushes it.
    ///
    /// # Errors
    /// [`Error::Failed`] where the record cannot be written.
    pub fn append(&mut self, record: Record) -> Result<()> {
        self.write(&line(&record))?;
        self.dataset.records.push(record);
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<()> {
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush()).map_err(io(&self.path))
    }
}

/// Provenance as JSON, for error messages.
fn recipe(header: &Header) -> String {
    line(&header.provenance).trim_end().to_string()
}

/// Encodes a dataset as a journal.
pub fn encode(dataset: &Dataset) -> Vec<u8> {
    let mut text = line(&dataset.header);
    for record in &dataset.records {
        text += &line(record);
    }
    text.into_bytes()
}

/// Decodes a journal.
///
/// # Errors
/// [`Error::Input`] with the line number, where a line is malformed or cut off.
pub fn decode(bytes: &[u8]) -> Result<Dataset> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::Input("is not a dataset: not text".into()))?;
    let mut lines = text.split_inclusive('\n').enumerate();
    let header: Header = match lines.next() {
        None => return input("is not a dataset: empty"),
        Some((_, first)) => Header::parse(first).map_err(|e| e.at("line 1"))?,
    };
    let mut records = Vec::new();
    for (i, line) in lines {
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(_) if !line.ends_with('\n') => {
                return input(format!(
                    "line {}: the record is cut off; run the sweep again to go on from there, or delete the line",
                    i + 1
                ));
            }
            Err(e) => return input(format!("line {}: is not a record: {e}", i + 1)),
        }
    }
    Ok(Dataset { header, records })
}
