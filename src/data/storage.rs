//! Datasets as files, in journal or packed form.

use crate::dataset::Dataset;
use crate::{journal, packed};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::files::{read_as, write_whole};
use seqtune_kernel::limits;
use std::path::Path;

impl Dataset {
    /// Loads a dataset from a journal or a packed file.
    ///
    /// # Errors
    /// `Error::File` where the file is missing, `Error::Input` where its content is malformed or holds an impossible value.
    pub fn load(path: &Path) -> Result<Dataset> {
        let bytes =
            read_as(path, limits::DATASET, &|head| match packed::is_packed(head) || journal::is_journal(head) {
                true => Ok(()),
                false => input("is no dataset: neither a journal (.jsonl) nor a packed one (.sqt)"),
            })?;
        let place = path.display();
        let decode = if packed::is_packed(&bytes) { packed::decode } else { journal::decode };
        let dataset: Dataset = decode(&bytes).map_err(|e| e.at_place(&place))?;
        dataset.check().map_err(|e| e.at_place(&place))?;
        Ok(dataset)
    }

    /// Refuses impossible values: what is written has none, so that it can be read again.
    ///
    /// # Errors
    /// `Error::Input` that names the record.
    pub fn check(&self) -> Result<()> {
        self.header.check()?;
        let faults = self.records.iter().map(|record| record.outcome.fault());
        match faults.enumerate().find_map(|(i, fault)| Some((i, fault?))) {
            Some((i, fault)) => input(format!("record {}: {fault}; delete it", i + 1)),
            None => Ok(()),
        }
    }

    /// Writes the form that the end of the name decides: packed where it is `.sqt`, else a journal.
    ///
    /// # Errors
    /// As [`Dataset::save_packed`].
    pub fn save(&self, path: &Path) -> Result<()> {
        match path.extension().is_some_and(|e| e == "sqt") {
            true => self.save_packed(path),
            false => self.save_journal(path),
        }
    }

    /// Writes the packed form atomically.
    ///
    /// # Errors
    /// `Error::File` or `Error::Input` where the path cannot be a file, `Error::Failed` where encoding or the disk fails.
    pub fn save_packed(&self, path: &Path) -> Result<()> {
        self.check().map_err(|e| e.at_place(path.display()))?;
        write_whole(path, &packed::encode(self)?)
    }

    /// Writes the journal form atomically.
    ///
    /// # Errors
    /// `Error::File` or `Error::Input` where the path cannot be a file, `Error::Failed` where the disk fails.
    pub fn save_journal(&self, path: &Path) -> Result<()> {
        self.check().map_err(|e| e.at_place(path.display()))?;
        write_whole(path, &journal::encode(self))
    }
}
