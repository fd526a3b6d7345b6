//! The file beside an exported one that says what its rows rest on, where the export's form has no place for that.

use std::path::{Path, PathBuf};

/// The name of the file beside `output`.
pub fn about_file(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".seqtune.json");
    PathBuf::from(name)
}
