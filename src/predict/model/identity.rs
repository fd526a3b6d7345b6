//! What tells one model from others, and what it can be asked for.

use crate::model::trained::{Meta, Model};
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::{Objective, hex};
use sha2::{Digest, Sha256};

impl Model {
    /// Refuses an objective that the model's data did not measure.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where it was trained for other objectives.
    pub fn check_objective(&self, objective: Objective) -> Result<()> {
        match self.meta.objectives.contains(&objective) {
            true => Ok(()),
            false => Err(Error::Mismatch(format!(
                "the model was not trained for {objective}: its data had no energy; sweep with --energy and train"
            ))),
        }
    }

    /// What tells it from others, in 16 hexadecimal digits: of its data, settings and scores.
    pub fn digest(&self) -> String {
        let Meta { data, scores, parent, .. } = &self.meta;
        hex(&Sha256::digest(format!("{data:?} {:?} {parent:?} {scores:?}", self.meta.trained_as()))[..8])
    }

    /// Number of weights.
    pub fn size(&self) -> usize {
        self.weights.values().map(|array| array.values.len()).sum()
    }
}
