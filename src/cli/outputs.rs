//! Files that are written: what is refused before the work.

use seqtune_predict::error::{Result, input, io};
use std::path::{Path, PathBuf};

/// Refuses to replace a file unless asked to, and to replace what is read in any case.
///
/// # Errors
/// `Error::Input` where the file is there and not to be overwritten, or is one of those that are read.
pub fn refuse_existing(output: &Path, overwrite: bool, read: &[PathBuf]) -> Result<()> {
    if output.exists() && !overwrite {
        return input(format!("{} exists; name another file, or pass --overwrite", output.display()));
    }
    match read.iter().any(|path| is_same(path, output)) {
        true => input(format!("{} is what is read; name another file to write", output.display())),
        false => Ok(()),
    }
}

/// Whether two paths name one file that is there.
pub fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Finds out before the work whether a file can be written at its end; leaves what is there as it is.
///
/// # Errors
/// `Error::File` or `Error::Failed` where its folder cannot be written to.
pub fn check_writable(path: &Path) -> Result<()> {
    let existed = path.exists();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io(folder))?;
    }
    std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(io(path))?;
    match existed {
        true => Ok(()),
        false => std::fs::remove_file(path).map_err(io(path)),
    }
}

/// The command line, for provenance.
pub fn command_line() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(first) = words.first_mut() {
        *first = "seqtune".into();
    }
    words.join(" ")
}
