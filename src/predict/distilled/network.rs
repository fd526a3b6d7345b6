//! The small decoder's network on plain slices. Letters of the shapes: n rows, D the width, V values of a parameter, W numbers that spell what
//! one of them decides.

use crate::features::featurizer::Featurizer;
use crate::model::settings::Hparams;
use crate::network::dense::{Linear, Norm, add, get, linears};
use crate::network::encoder::Encoder;
pub(crate) use crate::network::reranker::Decided;
use crate::network::simd::{grow, relu};
use crate::network::weights::NetworkWeights;
use seqtune_kernel::error::Result;

/// A block of the decoder: x + down(relu(up(norm(x)))).
struct Block {
    norm: Norm,
    up: Linear,
    down: Linear,
}

/// What a parameter is asked with.
struct ParameterHead {
    /// Added to the sum of the prefix (D).
    position: Vec<f32>,
    /// Hidden state (D) to a score for each value (V), then to the weights of what a value decides (W).
    scores: Linear,
    /// First token of its values.
    first: usize,
}

/// The network for one kernel, ready to predict.
pub struct Network {
    /// Width.
    pub(crate) d: usize,
    encoder: Encoder,
    kernel: usize,
    problem: Linear,
    /// By token, what it adds to the sum of a prefix (tokens, D).
    tokens: Vec<f32>,
    /// By number of what a value decides, what it adds to the sum (C, D), and the sum's bias.
    features: Linear,
    blocks: Vec<Block>,
    norm_out: Norm,
    /// By position.
    heads: Vec<ParameterHead>,
    /// Added at "finished" (D).
    finished: Vec<f32>,
    costs: Linear,
}

/// Buffers of the network.
#[derive(Default)]
pub(crate) struct Buffers {
    normed: Vec<f32>,
    up: Vec<f32>,
    down: Vec<f32>,
}

impl Network {
    /// Builds the network of a kernel from a model's weights.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where a weight is missing.
    pub fn new(hparams: &Hparams, weights: &NetworkWeights, featurizer: &Featurizer) -> Result<Network> {
        let (d, kernel_index) = (hparams.width, featurizer.kernel_index);
        let block = |i: usize| -> Result<_> {
            Ok(Block {
                norm: Norm::new(weights, &format!("block.{i}.norm"))?,
                up: Linear::new(weights, &format!("block.{i}.up"))?,
                down: Linear::new(weights, &format!("block.{i}.down"))?,
            })
        };
        let positions = get(weights, "positions", "weight")?;
        let position = |at: usize| positions[featurizer.parameter(at) * d..][..d].to_vec();
        // as they are stored: (outputs, D)
        let (logits, weigh) =
            (get(weights, "logits", "weight")?, get(weights, &format!("weigh.{kernel_index}"), "weight")?);
        let bias = (get(weights, "logits", "bias")?, get(weights, &format!("weigh.{kernel_index}"), "bias")?);
        let parameters = &featurizer.kernel.parameters;
        let head = |at: usize| {
            let first = featurizer.token(at, 0) as usize;
            let columns = featurizer.choice_columns(at).iter().map(|c| *c as usize);
            let values = first..first + parameters[at].values.len();
            let rows =
                values.clone().map(|t| &logits[t * d..][..d]).chain(columns.clone().map(|c| &weigh[c * d..][..d]));
            let bias = values.map(|t| bias.0[t]).chain(columns.map(|c| bias.1[c])).collect();
            ParameterHead { position: position(at), scores: Linear::of_rows(&rows.collect::<Vec<_>>(), bias), first }
        };
        let features = linears(weights, "features")?.swap_remove(kernel_index);
        Ok(Network {
            d,
            encoder: Encoder::new(hparams, weights)?,
            kernel: kernel_index,
            problem: Linear::new(weights, "problem")?,
            tokens: get(weights, "tokens", "weight")?.to_vec(),
            features,
            blocks: (0..hparams.decoder_layers).map(block).collect::<Result<_>>()?,
            norm_out: Norm::new(weights, "norm_out")?,
            heads: (0..parameters.len()).map(head).collect(),
            finished: position(parameters.len()),
            costs: Linear::new(weights, "costs")?,
        })
    }

    /// The sum before any choice (D), of the encoded source of a problem.
    pub(crate) fn begin(&self, source: &[f32], buffers: &mut Buffers, sum: &mut Vec<f32>) {
        let summary = self.encoder.summary(source, self.kernel);
        self.problem.forward_into(&summary, &mut buffers.up);
        sum.clear();
        sum.extend_from_slice(&buffers.up);
        add(sum, &self.features.bias);
    }

    /// Adds a choice of the parameter at `at`, and what it decides, to a sum (D).
    pub(crate) fn grow(&self, sum: &mut [f32], at: usize, choice: u16, decided: Decided) {
        let token = self.heads[at].first + choice as usize;
        grow(sum, &self.tokens[token * self.d..][..self.d], &self.features.weight, decided.columns, decided.numbers);
    }

    /// What is added to a sum for the parameter at a position; behind the last, for "finished".
    pub(crate) fn position(&self, at: usize) -> &[f32] {
        self.heads.get(at).map_or(&self.finished, |head| &head.position)
    }

    /// Hidden states (n, D) of sums with their positions (n, D), in their place.
    pub(crate) fn states(&self, x: &mut [f32], buffers: &mut Buffers) {
        let Buffers { normed, up, down } = buffers;
        for block in &self.blocks {
            block.norm.forward_into(x, normed);
            block.up.forward_into(normed, up);
            relu(up);
            block.down.forward_into(up, down);
            add(x, down);
        }
        self.norm_out.forward_into(x, normed);
        x.copy_from_slice(normed);
    }

    /// Of hidden states (n, D), for the parameter at `at`: scores of its values, then weights of what they decide (n, V + W).
    pub(crate) fn scores(&self, hidden: &[f32], at: usize, out: &mut Vec<f32>) {
        self.heads[at].scores.forward_into(hidden, out);
    }

    /// Encoded time and energy (n, 2) of hidden states (n, D) at "finished".
    pub(crate) fn costs(&self, hidden: &[f32], out: &mut Vec<f32>) {
        self.costs.forward_into(hidden, out);
    }
}
