//! Where a training run stands on disk: named weights and a state, of the data and settings that a key names.

use crate::network::adamw::AdamW;
use crate::network::tensors::{Weights, from_arrays, to_arrays};
use safetensors::tensor::Dtype;
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::{read, write_whole};
use seqtune_kernel::limits;
use seqtune_predict::model::Decoded;
use seqtune_predict::model::file_format::{decode, encode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file that training goes on from.
pub struct Checkpoint {
    /// File of the checkpoint.
    pub path: PathBuf,
    /// What data and settings it was made with.
    pub key: String,
}

#[derive(Serialize, Deserialize)]
struct Keyed<S> {
    key: String,
    /// Updates done.
    step: i64,
    #[serde(flatten)]
    state: S,
}

/// A training between two updates.
pub struct Resumed<S> {
    /// Weights that are trained.
    pub weights: Weights,
    /// The best so far.
    pub kept: Weights,
    /// State of the optimizer.
    pub optimizer: AdamW,
    /// What else was saved.
    pub state: S,
}

impl Checkpoint {
    /// Reads what was saved; nothing where there is no file.
    ///
    /// # Errors
    /// [`Error::Input`] where it was made of other data or settings, [`Error::File`] where it cannot be read.
    pub fn resume<S: DeserializeOwned>(&self) -> Result<Option<Resumed<S>>> {
        if !self.path.is_file() {
            return Ok(None);
        }
        let bytes = read(&self.path, limits::MODEL)?;
        self.parse(&bytes).map(Some).map_err(|e| e.at_place(self.path.display()))
    }

    fn parse<S: DeserializeOwned>(&self, bytes: &[u8]) -> Result<Resumed<S>> {
        let Decoded { weights, meta, .. } = decode(bytes)?;
        let keyed: Keyed<S> = serde_json::from_str(meta.get("state").map_or("", String::as_str))
            .map_err(|_| Error::Input("is not a checkpoint of this version; delete it".into()))?;
        if keyed.key != self.key {
            return input(
                "was made with other data or settings; delete it to begin anew, or train into another folder",
            );
        }
        let tensors = from_arrays(&weights);
        let part = |prefix: &str| -> Weights {
            let named = tensors.iter().filter_map(|(n, t)| Some((n.strip_prefix(prefix)?.to_string(), t.copy())));
            named.collect()
        };
        let (first, second, average) = (part("first."), part("second."), part("average."));
        let optimizer = AdamW { first, second, average, step: keyed.step };
        Ok(Resumed { weights: part("weights."), kept: part("kept."), optimizer, state: keyed.state })
    }

    /// Writes a training between two updates, whole or not at all: its weights, the best so far, its optimizer, and what else there is to know.
    ///
    /// # Errors
    /// `Error::Failed` where the file cannot be written.
    pub fn save<S: Serialize>(&self, weights: &Weights, kept: &Weights, optimizer: &AdamW, state: S) -> Result<()> {
        let AdamW { first, second, average, step } = optimizer;
        let parts = [("weights", weights), ("kept", kept), ("first", first), ("second", second), ("average", average)];
        let mut tensors = Weights::new();
        for (prefix, part) in parts {
            tensors.extend(part.iter().map(|(n, t)| (format!("{prefix}.{n}"), t.detach())));
        }
        let state = serde_json::to_string(&Keyed { key: self.key.clone(), step: *step, state })
            .map_err(|e| Error::Failed(format!("writing a checkpoint: {e}")))?;
        write_whole(
            &self.path,
            &encode(&to_arrays(&tensors)?, &[], &[], HashMap::from([("state".to_string(), state)]), Dtype::F32)?,
        )
    }

    /// Removes the file, where there is one.
    ///
    /// # Errors
    /// `Error::File` where it cannot be removed.
    pub fn remove(&self) -> Result<()> {
        match self.path.is_file() {
            true => std::fs::remove_file(&self.path).map_err(io(&self.path)),
            false => Ok(()),
        }
    }
}
/// Whether a folder holds a model or a part of one that training goes on from.
pub fn keeps(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => keeps(&entry.path()),
        _ => entry.path().extension().is_some_and(|end| end == "safetensors"),
    })
}
