//! A config with code of its own: what is asked of it, and what was found.

use crate::verify::case::Case;
use crate::verify::workload::Workload;
use seqtune_data::Invalidity;
use seqtune_kernel::Problem;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A program in the place of that which a config compiles to, and what it is to be tried on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariantAsked {
    /// Config as text.
    pub config: String,
    /// Compiled program, as [`Executor::load`](crate::executor::Executor::load) takes it.
    pub program: PathBuf,
    /// Problems as text.
    pub problems: Vec<String>,
    /// Cases of each problem in which its results have to be right.
    pub cases: Vec<Case>,
    /// Largest error, relative to the largest magnitude of an output; the kernel's tolerance where none is given.
    pub most_error: Option<f64>,
    /// Launches of it and of the config's own program, by turns, for each problem; none where it is not to be timed.
    pub pairs: usize,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantFound {
    /// How it failed.
    pub fault: Option<Invalidity>,
    /// Largest error of the cases that were right, and so no infinity, which JSON has not.
    pub error: f64,
    /// For each problem the ratios of its time to that of the config's own program, pair by pair.
    pub ratios: Vec<Vec<f32>>,
}

/// Data of a problem in a case, which stay: the next program is tried on the same.
pub(super) struct Loaded {
    pub problem: Problem,
    pub case: Case,
    pub data: Workload,
}
