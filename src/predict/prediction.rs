//! The answer to one problem.

use crate::engine::EngineKind;
use crate::search::candidate::Candidate;

/// The best legal configs of one problem, and how far they can be relied on.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The best configs, best first, as many as were asked for where the problem has so many. The best measured one is always among them, where
    /// some were measured.
    pub candidates: Vec<Candidate>,
    /// Whether the first candidate is less sure than the first ones on held-out problems were, the model was not trained on the device, or a field
    /// of the problem is beyond the learned sizes. With measured configs: whether it may lose more than a tenth more often than once in twenty.
    pub unsure: bool,
    /// Whether the model was trained on data of the device.
    pub trained_on_device: bool,
    /// Which form of the model answered.
    pub engine: EngineKind,
}

impl Prediction {
    /// Returns the first choice; `None` where there is no candidate.
    pub fn first(&self) -> Option<&Candidate> {
        self.candidates.first()
    }
}
