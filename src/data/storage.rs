//! Datasets as files: read in whichever form they are, and written in either.

use crate::dataset::Dataset;
use crate::{journal, packed};
use seqtune_predict::error::{Result, input, io};
use seqtune_predict::files::write_whole;
use std::io::Read;
use std::path::Path;

impl Dataset {
    /// Reads a journal or a packed file, whichever it is.
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

    /// Writes the packed form, whole or not at all.
    pub fn save_packed(&self, path: &Path) -> Result<()> {
        write_whole(path, &packed::encode(self)?)
    }

    /// Writes the journal form, whole or not at all.
    pub fn save_journal(&self, path: &Path) -> Result<()> {
        write_whole(path, &journal::encode(self))
    }
}

/// Whether a file holds the packed form, by how it begins.
pub fn is_packed_file(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)).map_err(io(path))?;
    Ok(packed::is_packed(&start))
}
