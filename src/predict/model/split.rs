//! The split of problem shapes into training, validation and test.

use sha2::{Digest, Sha256};

/// Which part of a split a shape belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Shapes that weights are fitted to.
    Train,
    /// Shapes that choose the best weights and calibrate.
    Validation,
    /// Shapes that nothing was learned from.
    Test,
}

/// A split of problem shapes by a stable hash: the same shape falls into the same part on every machine and in every dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Split {
    /// Seed of the hash.
    pub seed: u64,
    /// Share of shapes held out for testing.
    pub test: f64,
    /// Share of shapes that choose the best weights.
    pub validation: f64,
    /// Where the part for testing begins, as a share of all shapes: each fold of a cross-validation has its own.
    #[serde(default)]
    pub from: f64,
}

impl Split {
    /// The part that `shape` (see [`Kernel::shape`](seqtune_kernel::Kernel::shape)) belongs to.
    pub fn part(&self, shape: &str) -> Part {
        match (self.place(shape) - self.from).rem_euclid(1.0) {
            at if at < self.test => Part::Test,
            at if at < self.test + self.validation => Part::Validation,
            _ => Part::Train,
        }
    }

    /// Place of `shape` from 0 to 1, which seed and shape alone decide.
    pub fn place(&self, shape: &str) -> f64 {
        let digest = Sha256::digest(format!("{} {shape}", self.seed));
        let bits = digest.iter().take(8).fold(0u64, |x, b| x << 8 | *b as u64);
        bits as f64 / u64::MAX as f64
    }
}
