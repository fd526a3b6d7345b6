//! What a training run tells as it goes.

use crate::ensemble::member::Epoch;

/// What a training run tells as it goes.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Boosted trees are fitted and label unmeasured problems, or problems are encoded: so many of so many are done.
    Preparing(usize, usize),
    /// An epoch is done.
    Epoch(Epoch),
}
