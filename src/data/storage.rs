//! Datasets as files, in journal or packed form.

use crate::dataset::Dataset;
use crate::{journal, packed};
use seqtune_predict::error::{Result, input, io};
use seqtune_predict::files::write_whole;
use std::io::Read;
use std::path::Path;

impl Dataset {
    /// Loads a dataset from a journal or a packed file.
    ///
    /// # Errors
    /// `Error::File` where the file is missing, `Error::Input` where its content is malformed or holds an impossible value.
    pub fn load(path: &Path) -> Result<Dataset> {
        let bytes = std::fs::read(path).map_err(io(path))?;
        let place = path.display();
        let decode = if packed::is_packed(&bytes) { packed::decode } else { journal::decode };
        let dataset: Dataset = decode(&bytes).map_err(|e| e.at(&place))?;
        let faults = dataset.records.iter().map(|record| record.outcome.fault());
        match faults.enumerate().find_map(|(i, fault)| Some((i, fault?))) {
            Some((i, fault)) => input(format!("{place}: record {}: {fault}; delete it", i + 1)),
            None => Ok(dataset),
        }
    }

    /// Writes the packed form atomically.
    ///
    /// # Errors
    /// `Error::File` or `Error::Input` where the path cannot be a file, `Error::Failed` where encoding or the disk fails.
    pub fn save_packed(&self, path: &Path) -> Result<()> {
        write_whole(path, &packed::encode(self)?)
    }

    /// Writes the journal form atomically.
    ///
    /// # Errors
    /// `Error::File` or `Error::Input` where the path cannot be a file, `Error::Failed` where the disk fails.
    pub fn save_journal(&self, path: &Path) -> Result<()> {
        write_whole(path, &journal::encode(self))
    }
}

/// Checks by its first bytes whether a file holds the packed form.
///
/// # Errors
/// `Error::File` where the file is missing, `Error::Failed` where it cannot be read.
pub fn is_packed_file(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)).map_err(io(path))?;
    Ok(packed::is_packed(&start))
}
