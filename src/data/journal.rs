//! Journal form of a dataset: a header line, then one JSON line per record, flushed after each.

use crate::dataset::{Dataset, Header, line};
use crate::packed;
use crate::record::Record;
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::{open_regular, sync_folder, target, temporary_beside};
use seqtune_kernel::limits;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Journal open for appending, locked against a second writer.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    length: u64,
    /// Header and records, including appended ones.
    pub dataset: Dataset,
}

impl Journal {
    /// Opens a journal for appending, or creates it with `header`.
    ///
    /// A file that is no journal, or is another's, stays as it is. An incomplete last line of an interrupted writer is removed. An existing
    /// header has to agree in kernel, space, device, driver, provenance and seed; when a config is done stays as the journal was begun
    /// ([`Policy::ending_as`](crate::recipe::Policy::ending_as)), which its header tells.
    ///
    /// # Errors
    /// [`Error::File`] where the path is no regular file, [`Error::Input`] where it is locked, packed, malformed or of another header, else
    /// the I/O error of the file.
    pub fn open(path: &Path, header: Header) -> Result<Journal> {
        header.check()?;
        let led = target(path)?;
        let begun = match led.exists() {
            false => Journal::create(path, &led, header.clone())?,
            true => None,
        };
        match begun {
            Some(journal) => Ok(journal),
            None => Journal::go_on(path, &led, header),
        }
    }

    /// A new journal, which has its header before it has its name; `None` where another one came first.
    fn create(path: &Path, led: &Path, header: Header) -> Result<Option<Journal>> {
        let mut part = temporary_beside(led)?;
        lock(part.as_file()).map_err(|e| Error::Failed(format!("{}: {e}", path.display())))?;
        let text = line(&header);
        part.write_all(text.as_bytes()).and_then(|()| part.as_file().sync_all()).map_err(io(path))?;
        match part.persist_noclobber(led) {
            Ok(file) => {
                sync_folder(led);
                let dataset = Dataset { header, records: Vec::new() };
                Ok(Some(Journal { path: path.into(), file, length: text.len() as u64, dataset }))
            }
            Err(e) if e.error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(e) => Err(io(path)(e.error)),
        }
    }

    /// Goes on with a journal that is there: nothing in it changes before it was read whole.
    fn go_on(path: &Path, led: &Path, header: Header) -> Result<Journal> {
        let at = |e: Error| e.at_place(path.display());
        let length = open_regular(led, limits::DATASET)?.length;
        let mut file = OpenOptions::new().read(true).write(true).open(led).map_err(io(path))?;
        match lock(&file) {
            Err(TryLockError::WouldBlock) => {
                return input("another sweep is writing it; wait for it or write to another file").map_err(at);
            }
            Err(TryLockError::Error(e)) => return Err(io(path)(e)),
            Ok(()) => {}
        }
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(64).read_to_end(&mut bytes).map_err(io(path))?;
        if packed::is_packed(&bytes) {
            return input("is a packed dataset; a sweep goes on in a journal only").map_err(at);
        }
        if !bytes.is_empty() && !is_journal(&bytes) {
            return input("is there and no journal of a sweep; name another file").map_err(at);
        }
        bytes.reserve_exact(length as usize);
        file.read_to_end(&mut bytes).map_err(io(path))?;
        let mut journal =
            Journal { path: path.into(), file, length: 0, dataset: Dataset { header, records: Vec::new() } };
        if bytes.is_empty() {
            let line = line(&journal.dataset.header);
            journal.write(&line)?;
            return Ok(journal);
        }
        let whole = whole_lines(&bytes);
        if whole == 0 {
            return input("its header is cut off, so it holds no record; delete it").map_err(at);
        }
        let found = decode(&bytes[..whole]).and_then(|found| found.check().map(|()| found)).map_err(at)?;
        let header = &journal.dataset.header;
        let header =
            Header { provenance: header.provenance.clone().going_on(&found.header.provenance), ..header.clone() };
        if let Some(differs) = differs(&found.header, &header) {
            // one without a record holds nothing that was measured, so that its name is free
            if found.records.is_empty() {
                journal.file.set_len(0).and_then(|()| journal.file.rewind()).map_err(io(path))?;
                let line = line(&journal.dataset.header);
                journal.write(&line)?;
                return Ok(journal);
            }
            return input(format!("{differs}; write to another file, `train` reads several")).map_err(at);
        }
        journal.file.set_len(whole as u64).map_err(io(path))?;
        journal.file.seek(SeekFrom::End(0)).map_err(io(path))?;
        journal.length = whole as u64;
        if bytes[whole - 1] != b'\n' {
            journal.write("\n")?;
        }
        journal.dataset = found;
        Ok(journal)
    }

    /// Appends a record and flushes it.
    ///
    /// # Errors
    /// [`Error::Failed`] where the record cannot be written; the file then ends with the record before it.
    pub fn append(&mut self, record: Record) -> Result<()> {
        self.write(&line(&record))?;
        self.dataset.records.push(record);
        Ok(())
    }

    /// Waits until what was appended is on the disk: some file systems tell only then that there is no room.
    ///
    /// # Errors
    /// [`Error::Failed`] where it is not.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(io(&self.path))
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush());
        if let Err(e) = written {
            // a part of a line is of no use; where even that fails, the next opening cuts it
            self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::End(0))).ok();
            return Err(io(&self.path)(e));
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // flushed records outlive this process, synced ones the machine
        self.file.sync_data().ok();
        // a process that was forked from this one meanwhile has the file open too, and would hold the lock on
        self.file.unlock().ok();
    }
}

/// Locks a file against a second writer; on a file system without locks, as Lustre may be, each writer has to have a file of its own.
fn lock(file: &File) -> std::result::Result<(), TryLockError> {
    match file.try_lock() {
        Err(TryLockError::Error(e)) if is_without_locks(&e) => Ok(()),
        locked => locked,
    }
}

/// Whether the error of a lock is that the file system has none.
pub fn is_without_locks(e: &std::io::Error) -> bool {
    /// No locks are available, as NFS says without a lock manager.
    const ENOLCK: i32 = 37;
    e.kind() == ErrorKind::Unsupported || e.raw_os_error() == Some(ENOLCK)
}

/// Bytes of the lines that are whole: a last line without its newline counts where it is a record all the same.
fn whole_lines(bytes: &[u8]) -> usize {
    let ended = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    match ended > 0 && serde_json::from_slice::<Record>(&bytes[ended..]).is_ok() {
        true => bytes.len(),
        false => ended,
    }
}

/// In what a journal's header is not the one of the sweep that is to go on in it.
fn differs(old: &Header, new: &Header) -> Option<String> {
    let recipe = |header: &Header| serde_json::to_value(&header.provenance).unwrap_or_default();
    let [old_recipe, new_recipe] = difference(&recipe(old), &recipe(new), "");
    let version = old.other_version(new);
    if old.kernel == new.kernel && !version.is_empty() {
        return Some(format!("was begun with another version of kernel {}: {version}", old.kernel));
    }
    [
        ("kernel", &old.kernel, &new.kernel),
        ("device", &old.device.name, &new.device.name),
        ("driver", &old.device.api(), &new.device.api()),
        ("compute units", &units(old), &units(new)),
        ("recipe", &old_recipe, &new_recipe),
        ("seed", &old.seed.to_string(), &new.seed.to_string()),
        ("shard", &shard(old), &shard(new)),
    ]
    .into_iter()
    .find(|(_, old, new)| old != new)
    .map(|(what, old, new)| format!("was begun with {what} {old}, not {new}"))
}

/// Compute units of a CPU, of which a container or a job may have fewer.
fn units(header: &Header) -> String {
    let limits = &header.device.limits;
    limits.compute_units.filter(|_| limits.is_cpu == Some(1.0)).map_or(String::new(), |units| units.to_string())
}

/// Checks whether bytes start like a journal, of this or an older version.
pub fn is_journal(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(MARK).unwrap_or(bytes).trim_ascii_start();
    text.starts_with(b"{\"format\":\"seqtune-") || text.starts_with(b"{\"format\": \"seqtune-")
}

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Shard and plan, for error messages.
fn shard(header: &Header) -> String {
    header.shard.as_ref().map_or("none".into(), |shard| format!("{shard} (plan {})", shard.plan))
}

/// The first value in which two recipes differ, by its name, in the one and in the other; empty where they do not.
fn difference(old: &Value, new: &Value, name: &str) -> [String; 2] {
    if let (Value::Object(a), Value::Object(b)) = (old, new) {
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let of = |all: &serde_json::Map<String, Value>, name: &String| all.get(name).cloned().unwrap_or_default();
        let each = names.into_iter().map(|name| difference(&of(a, name), &of(b, name), name));
        return each.into_iter().find(|[old, new]| old != new).unwrap_or_default();
    }
    match old == new {
        true => Default::default(),
        false => [format!("{name} {old}"), format!("{name} {new}")],
    }
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
    let text = std::str::from_utf8(bytes.strip_prefix(MARK).unwrap_or(bytes))
        .map_err(|_| Error::Input("is not a dataset: not text".into()))?;
    let mut lines = text.split_inclusive('\n').enumerate();
    let header: Header = match lines.next() {
        None => return input("is not a dataset: empty"),
        Some((_, first)) => Header::parse(first).map_err(|e| e.at_place("line 1"))?,
    };
    let mut records = Vec::new();
    for (i, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(_) if !line.ends_with('\n') => {
                return input(format!(
                    "line {}: the record is cut off; run the sweep again to go on from there, or delete the line",
                    i + 1
                ));
            }
            Err(e) => {
                let text = e.to_string();
                // each line is read alone, so that the place in it would name line 1
                let text = text.split(" at line ").next().unwrap_or_default();
                return input(format!("line {}: is not a record: {text}", i + 1));
            }
        }
    }
    Ok(Dataset { header, records })
}
