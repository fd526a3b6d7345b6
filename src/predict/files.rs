//! Files that are written whole or not at all.

use crate::error::{Error, Result, io};
use std::io::Write;
use std::path::Path;

/// Writes a file so that a reader sees the old content or the new, never a part. Folders that are missing are made.
///
/// # Errors
/// [`Error::Input`] where the path cannot be a file, [`Error::Failed`] where the disk fails; what was there stays.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    let mut part = tempfile::Builder::new();
    // as any new file: readable by whom the umask allows
    #[cfg(unix)]
    part.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = part.prefix(".seqtune-").tempfile_in(folder).map_err(io(folder))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_data()).map_err(io(path))?;
    match file.persist(path) {
        Ok(_) => Ok(()),
        Err(e) if path.is_dir() => {
            Err(Error::Input(format!("{}: is a folder; name a file ({})", path.display(), e.error)))
        }
        Err(e) => Err(io(path)(e.error)),
    }
}
