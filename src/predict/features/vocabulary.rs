//! How problems, devices and configs are encoded for the network. Nothing else knows.
//!
//! One vocabulary serves all kernels of a model. What has the same name in two kernels (a field, a feature, a parameter with the
//! same values) is the same to the network. Source: one token per group of quantities (a field or feature without a group is a
//! token of its own), one for device and objective, one for the kernel. Target: one token per parameter value. At each decoding
//! step the network also sees the features that the prefix decides, and for each value that may be chosen those that the value
//! decides: what an expert would weigh.

use crate::features::input_feature::{InputFeature, Scale};
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Feature, Identity, MOST_VALUES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The vocabulary of the kernels of one model, fixed when it is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vocab {
    /// Kernels that the model was made for.
    pub kernels: Vec<KernelVocab>,
    /// Quantities of each source token.
    pub source: Vec<Vec<InputFeature>>,
    /// Parameters of all kernels, with their values.
    pub parameters: Vec<(String, Vec<i64>)>,
    /// First token of each parameter; the last entry is the number of tokens.
    pub offsets: Vec<u16>,
    /// Natural logarithm of operations per microsecond, what the time head predicts; `None` where no time was known.
    pub rate: Option<Scale>,
    /// Natural logarithm of operations per joule, what the energy head predicts; `None` where no energy was known.
    #[serde(default)]
    pub efficiency: Option<Scale>,
}

/// What a vocabulary knows of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelVocab {
    /// Name of the kernel.
    pub kernel: String,
    /// [`Kernel::space_hash`](crate::Kernel::space_hash) at training; of the whole source where a device compiled that.
    pub space: String,
    /// What the digest is of; `None` of a model that was made before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Index of each of the kernel's parameters in [`Vocab::parameters`].
    pub parameters: Vec<u16>,
    /// The kernel's features that need a parameter, in its order.
    pub features: Vec<InputFeature>,
}

impl KernelVocab {
    pub(crate) fn step_width(&self) -> usize {
        self.features.len().max(1)
    }

    pub(crate) fn choice_width(&self) -> usize {
        self.features.iter().map(InputFeature::width).sum::<usize>().max(1)
    }
}

/// Name of the quantity that says what is minimised.
pub const OBJECTIVE: &str = "objective";

/// Whether a feature needs a parameter.
pub fn is_late(feature: &Feature) -> bool {
    feature.known_after > 0
}

impl Vocab {
    /// Number of target tokens; the same number stands for "begin".
    pub fn tokens(&self) -> usize {
        self.offsets.last().copied().unwrap_or_default() as usize
    }

    /// Numbers of each source token.
    pub fn source_widths(&self) -> Vec<usize> {
        self.source.iter().map(|token| token.iter().map(InputFeature::width).sum()).collect()
    }

    /// Numbers per decoding step of each kernel: its features that need a parameter; one that stays 0 where there are none.
    pub fn step_widths(&self) -> Vec<usize> {
        self.kernels.iter().map(KernelVocab::step_width).collect()
    }

    /// Numbers per value that may be chosen: the encoding of a kernel's features that need a parameter.
    pub fn choice_widths(&self) -> Vec<usize> {
        self.kernels.iter().map(KernelVocab::choice_width).collect()
    }

    /// Appends the encoding of raw quantities, see [`Featurizer::quantities`](crate::features::featurizer::Featurizer::quantities).
    pub fn encode(&self, quantities: &[f32], out: &mut Vec<f32>) {
        self.source.iter().flatten().zip(quantities).for_each(|(quantity, value)| quantity.encode(*value, out));
    }
}

impl Vocab {
    /// Refuses a vocabulary that contradicts itself: of a file that was changed by hand.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where its parts do not fit each other.
    pub fn check(&self) -> Result<()> {
        let mut first = 0;
        let offsets = self.parameters.iter().map(|(_, values)| {
            first += values.len();
            first
        });
        let offsets: Vec<usize> = std::iter::once(0).chain(offsets).collect();
        let known = |k: &KernelVocab| {
            let distinct: BTreeSet<u16> = k.parameters.iter().copied().collect();
            distinct.len() == k.parameters.len() && distinct.iter().all(|p| (*p as usize) < self.parameters.len())
        };
        let features = || self.source.iter().chain(self.kernels.iter().map(|k| &k.features)).flatten();
        let scales = [&self.rate, &self.efficiency].into_iter().flatten().chain(features().map(|f| &f.scale));
        let faults = [
            (self.offsets.iter().map(|o| *o as usize).ne(offsets), "the numbers of its tokens"),
            (self.kernels.is_empty() || !self.kernels.iter().all(known), "the parameters of its kernels"),
            (
                self.parameters.iter().any(|(_, values)| !(1..=MOST_VALUES).contains(&values.len())),
                "its parameters' values",
            ),
            (features().any(|f| !f.is_sound()), "its input features"),
            (scales.into_iter().any(|s| !s.is_sound()), "its scales"),
            (self.kernels.iter().any(|k| k.choice_width() > u16::MAX as usize), "the widths of its features"),
        ];
        match faults.into_iter().find(|(fault, _)| *fault) {
            Some((_, what)) => input(format!("{what} contradict one another")),
            None => Ok(()),
        }
    }
}
