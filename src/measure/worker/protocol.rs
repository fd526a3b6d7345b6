//! What the parent and its worker tell each other, one line of JSON each.

use crate::batch::Step;
use crate::measuring::roofline::Peaks;
use seqtune_data::Invalidity;
use seqtune_data::recipe::Policy;
use serde::{Deserialize, Serialize};

/// What the parent asks.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Compile configs for the data type and layout of `problem`.
    Compile { problem: String, configs: Vec<String> },
    /// Measure what the device reaches at best.
    Peaks,
    /// Measure configs for `problem`, interleaved, with `library` the vendor's as one more.
    Measure { problem: String, configs: Vec<String>, library: bool, policy: Policy, best_us: f64 },
    /// Tell the vendor's library.
    Library,
}

/// What the child tells.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// The device is open.
    Ready,
    /// Data and reference results are being made.
    Loading,
    /// How the batch goes on.
    Step(Step),
    /// Config `0` of the request is about to be compiled.
    Compiling(usize),
    /// Config `index` was compiled.
    Compiled { index: usize, fault: Option<Invalidity> },
    /// What the device reaches at best.
    Peaks(Peaks),
    /// Name and version of the vendor's library, or why there is none.
    Library(std::result::Result<String, String>),
    /// The request is done.
    End,
    /// The run cannot go on.
    Error { sentence: String },
}
