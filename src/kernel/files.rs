//! The way in and the way out: files that are read within a limit, and files that are written whole or not at all.
//!
//! A path from outside may name a pipe that nobody writes, a device without an end, or a file larger than memory. What is
//! read is opened without waiting, looked at, and refused where it is no regular file or too large.

use crate::count::size;
use crate::error::{Error, Result, input, io};
use crate::limits::{FileLimit, LINE};
use bincode::Decode;
use std::fs::{File, Metadata, OpenOptions};
#[cfg(not(target_family = "wasm"))]
use std::io::Write;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a byte order mark is in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// So that nothing waits for the other end of a pipe.
fn unwaiting(options: &mut OpenOptions) -> &OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

/// Opens a file to read.
fn open(path: &Path) -> Result<(File, Metadata)> {
    let file = unwaiting(OpenOptions::new().read(true)).open(path).map_err(io(path))?;
    let meta = file.metadata().map_err(io(path))?;
    match meta.is_dir() {
        true => Err(io(path)(ErrorKind::IsADirectory.into())),
        false => Ok((file, meta)),
    }
}

/// An open regular file.
pub struct RegularFile {
    /// The file.
    pub file: File,
    /// Its size in bytes.
    pub length: u64,
}

/// Opens a regular file of at most so many bytes.
///
/// # Errors
/// [`Error::File`] where it is missing, is a folder, a pipe or a device, or is larger.
pub fn open_regular(path: &Path, limit: FileLimit) -> Result<RegularFile> {
    let (file, meta) = open(path)?;
    let place = path.display();
    if !meta.is_file() {
        return Err(Error::File(format!("{place}: is a pipe or a device; name a regular file")));
    }
    match meta.len() > limit.bytes {
        true => Err(Error::File(format!(
            "{place}: has {}; {} has at most {}",
            size(meta.len()),
            limit.what,
            size(limit.bytes)
        ))),
        false => Ok(RegularFile { file, length: meta.len() }),
    }
}

/// Reads a regular file.
///
/// # Errors
/// As [`open_regular`]; [`Error::Failed`] where reading fails or memory ends.
pub fn read(path: &Path, limit: FileLimit) -> Result<Vec<u8>> {
    read_as(path, limit, &|_| Ok(()))
}

/// As [`read`], with a look at the first bytes (up to 64) before the rest is read: a large file of another kind costs nothing.
///
/// # Errors
/// As [`read`], and the error of `check`.
pub fn read_as(path: &Path, limit: FileLimit, check: &dyn Fn(&[u8]) -> Result<()>) -> Result<Vec<u8>> {
    let RegularFile { mut file, length } = open_regular(path, limit)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(64).read_to_end(&mut bytes).map_err(io(path))?;
    check(&bytes).map_err(|e| e.at_place(path.display()))?;
    bytes.try_reserve_exact(length as usize).map_err(|_| memory(path, length))?;
    // a file that grows meanwhile is read as far as it was
    file.take((length as usize).saturating_sub(bytes.len()) as u64).read_to_end(&mut bytes).map_err(io(path))?;
    Ok(bytes)
}

fn memory(path: &Path, length: u64) -> Error {
    Error::Failed(format!("{}: there is no memory for its {}", path.display(), size(length)))
}

/// Reads a regular file as text, without the byte order mark.
///
/// # Errors
/// As [`read`]; [`Error::File`] with the line where it is not text.
pub fn read_text(path: &Path, limit: FileLimit) -> Result<String> {
    text(read(path, limit)?).map_err(|e| e.or_kind(Error::File).at_place(path.display()))
}

/// Bytes as text, without the byte order mark.
///
/// # Errors
/// [`Error::Input`] with the line where they are not UTF-8, or where they are text of another encoding.
pub fn text(mut bytes: Vec<u8>) -> Result<String> {
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return input("is text in UTF-16, as a PowerShell writes it; convert it to UTF-8 first");
    }
    String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        Error::Input(format!("line {} is not text in UTF-8", 1 + valid.iter().filter(|b| **b == b'\n').count()))
    })
}

/// Reads text from a regular file, from a pipe that somebody writes, or, named `-`, from standard input.
///
/// # Errors
/// [`Error::File`] where it is missing, a folder or a device, is too large or not text, or a pipe that nobody writes.
pub fn read_stream(path: &Path, limit: FileLimit) -> Result<String> {
    let (bytes, place) = match path.to_str() == Some(STANDARD_INPUT) {
        true => (drain(std::io::stdin().lock(), limit, true), "standard input".to_string()),
        false => {
            let (file, meta) = open(path)?;
            let place = path.display().to_string();
            if meta.is_file() {
                return read_text(path, limit);
            }
            let is_stream = is_pipe(&meta) || std::io::IsTerminal::is_terminal(&file);
            match is_stream {
                true => (drain(file, limit, false), place),
                false => return Err(Error::File(format!("{place}: is a device; name a file or a pipe"))),
            }
        }
    };
    bytes.and_then(text).map_err(|e| e.or_kind(Error::File).at_place(place))
}

#[cfg(unix)]
fn is_pipe(meta: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    meta.file_type().is_fifo() || meta.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    true
}

/// How long a pipe may be without a writer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads a stream to its end. `attached`: whether somebody writes it from the beginning, so that an end is one.
fn drain(mut stream: impl Read, limit: FileLimit, attached: bool) -> Result<Vec<u8>> {
    let (mut bytes, mut portion) = (Vec::new(), vec![0; 1 << 16]);
    let (began, mut attached, mut line) = (Instant::now(), attached, 0);
    loop {
        match stream.read(&mut portion) {
            Ok(0) if attached => return Ok(bytes),
            // a pipe without a writer ends at once: one may still come
            Ok(0) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Ok(0) => return input("nobody writes to it"),
            Ok(n) => {
                attached = true;
                let read = &portion[..n];
                line = read.iter().rposition(|b| *b == b'\n').map_or(line + n, |at| n - 1 - at);
                if bytes.len() + n > limit.bytes as usize || line > LINE {
                    return input(format!(
                        "is longer than {} ({}), or has a line of more than {}",
                        limit.what,
                        size(limit.bytes),
                        size(LINE as u64)
                    ));
                }
                bytes.extend_from_slice(read);
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                attached = true;
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::Failed(e.to_string())),
        }
    }
}

/// Decodes all of `plain` by bincode. A length in it is believed within a limit in proportion to its bytes alone.
///
/// # Errors
/// [`Error::Input`] where the bytes are something else, or there are more of them.
pub fn decode_whole<T: Decode<()>>(plain: &[u8]) -> Result<T> {
    let standard = bincode::config::standard();
    // what is claimed is memory: up to sixteen times the bytes
    let decoded = match plain.len() {
        0..0x10_0000 => bincode::decode_from_slice(plain, standard.with_limit::<0x100_0000>()),
        0x10_0000..0x100_0000 => bincode::decode_from_slice(plain, standard.with_limit::<0x1000_0000>()),
        _ => bincode::decode_from_slice(plain, standard.with_limit::<{ u32::MAX as usize }>()),
    };
    match decoded {
        Ok((value, read)) if read == plain.len() => Ok(value),
        Ok((_, read)) => input(format!("{} bytes stand behind its end", plain.len() - read)),
        Err(e) => input(format!("its data are damaged ({e})")),
    }
}

/// The folder that a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Where a path leads that is to be written: through links, to what is a regular file or not there yet.
///
/// # Errors
/// [`Error::File`] where it is a folder, a pipe or a device, or a link to nothing.
pub fn target(path: &Path) -> Result<PathBuf> {
    let place = path.display();
    if path.as_os_str().is_empty() || path.file_name().is_none() {
        return Err(Error::File(format!("`{place}` names no file")));
    }
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(path.to_path_buf()),
        Err(e) => Err(io(path)(e)),
        Ok(meta) if meta.is_file() => Ok(path.to_path_buf()),
        Ok(meta) if meta.is_symlink() => {
            let led =
                path.canonicalize().map_err(|_| Error::File(format!("{place}: is a link to nothing; name a file")))?;
            match led.metadata().map_err(io(path))? {
                meta if meta.is_file() => Ok(led),
                _ => Err(Error::File(format!("{place}: leads to what is no regular file; name a file"))),
            }
        }
        Ok(meta) if meta.is_dir() => Err(Error::File(format!("{place}: is a folder; name a file"))),
        Ok(_) => Err(Error::File(format!("{place}: is a pipe or a device; name a file"))),
    }
}

/// A file of a fresh name beside `path`, whose folder is made where it is missing. It is gone again unless it is kept.
///
/// # Errors
/// [`Error::File`] or [`Error::Failed`] where the folder cannot be written to.
#[cfg(not(target_family = "wasm"))]
pub fn temporary_beside(path: &Path) -> Result<tempfile::NamedTempFile> {
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    let mut part = tempfile::Builder::new();
    // as any new file: readable by whom the umask allows
    #[cfg(unix)]
    part.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    part.prefix(".seqtune-").tempfile_in(folder).map_err(io(folder))
}

/// Opens the file of a lock, which is made where it is missing, as is its folder; nothing waits, and nothing is written to it.
///
/// # Errors
/// [`Error::File`] where the path is a folder, a pipe or a device, [`Error::Failed`] where it cannot be opened.
#[cfg(not(target_family = "wasm"))]
pub fn open_lock(path: &Path) -> Result<File> {
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    match unwaiting(OpenOptions::new().create(true).append(true)).open(path) {
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_file()) => Ok(file),
        Err(e) if path.metadata().map_or(true, |meta| meta.is_file() || meta.is_dir()) => Err(io(path)(e)),
        _ => Err(Error::File(format!("{}: is a pipe or a device, where a lock is to be", path.display()))),
    }
}

/// A file whose lock ends with this. To close it is not enough: a process that was forked from this one meanwhile has it open too, and would hold
/// the lock on.
pub struct Locked(pub File);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.unlock().ok();
    }
}

/// Writes a file so that a reader sees the old content or the new, never a part. Folders that are missing are made.
///
/// # Errors
/// [`Error::File`] where the path is or leads to another kind of thing, [`Error::Failed`] where the disk fails; what was
/// there stays.
#[cfg(not(target_family = "wasm"))]
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let target = target(path)?;
    let mut part = temporary_beside(&target)?;
    part.write_all(bytes).and_then(|()| part.as_file().sync_all()).map_err(io(path))?;
    part.persist(&target).map_err(|e| io(path)(e.error))?;
    sync_folder(&target);
    Ok(())
}

/// Nothing is written in a browser.
///
/// # Errors
/// [`Error::Unavailable`], always.
#[cfg(target_family = "wasm")]
pub fn write_whole(path: &Path, _: &[u8]) -> Result<()> {
    Err(Error::Unavailable(format!("{}: nothing is written in a browser", path.display())))
}

/// Makes the name of a new file last; where a file system cannot do that, it does not.
pub fn sync_folder(path: &Path) {
    if let Ok(folder) = File::open(folder_of(path)) {
        folder.sync_all().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: FileLimit = FileLimit { what: "a note", bytes: 100 };

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_file_is_read_within_its_limit_and_without_its_byte_order_mark() {
        let folder = folder();
        let path = folder.path().join("note");
        std::fs::write(&path, b"\xef\xbb\xbfone\ntwo").unwrap();
        assert_eq!(read_text(&path, SMALL).unwrap(), "one\ntwo");
        assert_eq!(read_stream(&path, SMALL).unwrap(), "one\ntwo");
        std::fs::write(&path, [b'x'; 101]).unwrap();
        let error = read(&path, SMALL).unwrap_err().to_string();
        assert!(error.ends_with("note: has 101 bytes; a note has at most 100 bytes"), "{error}");
        std::fs::write(&path, b"one\ntw\xff").unwrap();
        assert!(read_text(&path, SMALL).unwrap_err().to_string().ends_with("note: line 2 is not text in UTF-8"));
        let sparse = File::create(&path).unwrap();
        sparse.set_len(20 << 30).unwrap();
        assert!(read(&path, crate::limits::DATASET).unwrap_err().to_string().contains("has 21.5 GB"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_folders_and_pipes_that_nobody_writes_are_refused_in_time() {
        let folder = folder();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let began = Instant::now();
        for path in [pipe.as_path(), &link, Path::new("/dev/zero"), Path::new("/dev/full"), folder.path()] {
            assert!(matches!(read(path, SMALL), Err(Error::File(_))), "{path:?}");
            assert!(matches!(read_stream(path, SMALL), Err(Error::File(_))), "{path:?}");
            assert!(matches!(write_whole(path, b"x"), Err(Error::File(_))), "{path:?}");
            assert!(matches!(open_lock(path), Err(Error::File(_))), "{path:?}");
        }
        // one of the fifteen waits for a writer; each would be half a minute
        assert!(began.elapsed() < 10 * PATIENCE);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_is_read_to_its_end_though_its_writer_comes_late_and_pauses() {
        let folder = folder();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                std::thread::sleep(Duration::from_millis(50));
                let mut file = OpenOptions::new().write(true).open(pipe).unwrap();
                for part in ["one\n", "two\n"] {
                    file.write_all(part.as_bytes()).unwrap();
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        });
        assert_eq!(read_stream(&pipe, SMALL).unwrap(), "one\ntwo\n");
        writer.join().unwrap();
    }

    #[test]
    fn a_file_is_replaced_whole_through_a_link_and_nothing_stays_beside_it() {
        let folder = folder();
        let (file, link) = (folder.path().join("deep/file"), folder.path().join("link"));
        write_whole(&file, b"old").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&file, &link).unwrap();
            write_whole(&link, b"new").unwrap();
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(std::fs::read(&file).unwrap(), b"new");
        }
        assert_eq!(std::fs::read_dir(folder.path().join("deep")).unwrap().count(), 1);
        assert!(target(Path::new("")).is_err() && target(Path::new("..")).is_err());
    }
}
