//! Memory of a search: kept from one to the next, so that none asks for any.

use crate::distilled::network::Buffers;
use seqtune_kernel::{Choice, Choices};

/// HypothesisSizes of a hypothesis.
#[derive(Clone, Copy)]
pub(crate) struct HypothesisSizes {
    /// Parameters of the kernel, P.
    pub(crate) parameters: usize,
    /// Width of the network, D.
    pub(crate) width: usize,
}

/// Hypotheses of a beam, side by side.
#[derive(Default)]
pub(crate) struct Beam {
    /// Choices of each, P apart.
    pub(crate) choices: Vec<Choice>,
    /// Choices made so far.
    pub(crate) lengths: Vec<usize>,
    /// What may follow; nothing when it is finished.
    pub(crate) open: Vec<Choices>,
    /// Natural logarithm of the probability among all legal configs.
    pub(crate) log: Vec<f64>,
    /// Sums of the prefixes (n, D).
    pub(crate) sums: Vec<f32>,
}

impl Beam {
    pub(crate) fn clear(&mut self) {
        self.choices.clear();
        self.lengths.clear();
        self.open.clear();
        self.log.clear();
        self.sums.clear();
    }

    /// Begins with one hypothesis, of no choices.
    pub(crate) fn begin(&mut self, parameters: usize, sum: &[f32]) {
        self.clear();
        self.choices.resize(parameters, 0);
        self.lengths.push(0);
        self.open.push(Choices::default());
        self.log.push(0.0);
        self.sums.extend_from_slice(sum);
    }

    /// The choices of a hypothesis so far.
    pub(crate) fn prefix(&self, row: usize) -> &[Choice] {
        let parameters = self.choices.len() / self.lengths.len();
        &self.choices[row * parameters..][..self.lengths[row]]
    }

    /// Adds what grows from hypothesis `row` of another beam.
    pub(crate) fn take(&mut self, from: &Beam, row: usize, log: f64, sizes: HypothesisSizes) {
        let HypothesisSizes { parameters, width: d } = sizes;
        self.choices.extend_from_slice(&from.choices[row * parameters..][..parameters]);
        self.lengths.push(from.lengths[row]);
        self.open.push(from.open[row]);
        self.log.push(log);
        self.sums.extend_from_slice(&from.sums[row * d..][..d]);
    }
}

/// A way that a hypothesis may be extended.
#[derive(Clone, Copy)]
pub(crate) struct Extension {
    pub(crate) log: f64,
    /// The hypothesis.
    pub(crate) row: u32,
    /// No choice where it is finished.
    pub(crate) choice: Option<Choice>,
    /// Where the numbers that spell what the choice decides begin in [`Work::numbers`].
    pub(crate) numbers: u32,
}

/// Buffers of one step.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) buffers: Buffers,
    pub(crate) source: Vec<f32>,
    /// Sum of the problem before any choice (D).
    pub(crate) sum: Vec<f32>,
    /// Slots with the prefix at hand set.
    pub(crate) env: Vec<f64>,
    /// Sums with positions, then hidden states (n, D).
    pub(crate) states: Vec<f32>,
    pub(crate) scores: Vec<f32>,
    /// What choices decide, spelled: those of all that was asked about since it was cleared.
    pub(crate) numbers: Vec<f32>,
    /// Log-probabilities of what may follow one prefix.
    pub(crate) log: Vec<f64>,
    pub(crate) extensions: Vec<Extension>,
}

/// What a search needs, to be used again.
#[derive(Default)]
pub struct Scratch {
    pub(crate) work: Work,
    /// The hypotheses: when a search has ended, what it found, best first.
    pub(crate) beam: Beam,
    pub(crate) next: Beam,
}
