//! Messages between a parent and its worker, one line of JSON each.

use crate::batch::{Batch, BatchStep, Contender, VendorLibrary};
use crate::measuring::roofline::Peaks;
use crate::measuring::variant::{VariantAsked, VariantFound};
use crate::verify::case::Case;
use seqtune_data::Invalidity;
use seqtune_data::recipe::Policy;
use seqtune_kernel::{Identity, Kernel};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Request of the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Prepare what configs that are to be compiled for the data type and layout of `problem` have in common.
    Announce {
        /// Problem as text.
        problem: String,
        /// Configs as text.
        configs: Vec<String>,
    },
    /// Compile a config for the data type and layout of `problem`.
    Compile {
        /// Problem as text.
        problem: String,
        /// Config as text.
        config: String,
    },
    /// Measure the peaks of the device.
    Peaks,
    /// Measure configs for `problem`, interleaved.
    Measure {
        /// Problem as text.
        problem: String,
        /// Configs as text.
        configs: Vec<String>,
        /// Whether to measure the vendor's library too.
        library: bool,
        /// Policy of the measurement.
        policy: Policy,
        /// Best known time in microseconds; 1e300 where there is none.
        best_us: f64,
    },
    /// Query the vendor's library.
    Library,
    /// Check configs for `problem` against the reference in a case.
    Check {
        /// Problem as text.
        problem: String,
        /// Configs as text.
        configs: Vec<String>,
        /// Data, and order of work-items.
        case: Case,
    },
    /// Write the compiled program of a config into a file.
    Program {
        /// Problem as text.
        problem: String,
        /// Config as text.
        config: String,
        /// File to write.
        file: PathBuf,
    },
    /// Try a program in the place of that of a config.
    Variant(VariantAsked),
}

impl Request {
    /// Request for the contenders `left` of a batch.
    pub fn measure(kernel: &Kernel, batch: &Batch, left: &[Contender], policy: &Policy) -> Request {
        let config = |contender: &Contender| match contender {
            Contender::Config(at) => Some(kernel.show_config(&batch.configs[*at])),
            Contender::Library => None,
        };
        Request::Measure {
            problem: kernel.show_problem(batch.problem),
            configs: left.iter().filter_map(config).collect(),
            library: left.contains(&Contender::Library),
            policy: *policy,
            // JSON has no infinity
            best_us: batch.best_us.min(1e300),
        }
    }
}

/// What a worker finds in the place of its parent's kernel.
#[derive(Debug, Serialize, Deserialize)]
pub enum FoundKernel {
    /// Another version.
    Version(Box<Identity>),
    /// None that could be opened, for this reason.
    Nothing(String),
}

/// Event of the worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// The device is open.
    Ready,
    /// A request has begun that may take long without further events.
    Loading,
    /// Progress of the batch.
    Step(BatchStep),
    /// A config was compiled; `None` where it succeeded.
    Compiled(Option<Invalidity>),
    /// A config was checked.
    Checked {
        /// Index of the config in the request.
        index: usize,
        /// How it failed; `None` where its results are right.
        fault: Option<Invalidity>,
    },
    /// A program was tried.
    Tried(VariantFound),
    /// Measured peaks of the device.
    Peaks(Peaks),
    /// Name and version of the vendor's library, or the reason for its absence.
    Library(VendorLibrary),
    /// The request is done.
    End,
    /// The kernel is no longer the one that the worker was started for; the worker ends.
    Changed(FoundKernel),
    /// The device does not open, or the request has failed.
    Error {
        /// Message of the failure.
        sentence: String,
        /// Whether no other request will fare better.
        #[serde(default)]
        unavailable: bool,
    },
}
