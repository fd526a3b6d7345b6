//! The small decoder in libtorch; see [`seqtune_predict::network::prefix`] for what it is.
//!
//! Letters of the shapes: B problems, M nodes in all, V tokens of the kernel, C numbers of its late features, D the width.

use crate::network::layers::{FeedForward, Linear, Norm, SelfAttention, get, linears};
use crate::network::tensors::Weights;
use seqtune_kernel::error::Result;
use seqtune_predict::Hparams;
use tch::{Kind, Tensor};

/// What the network reads: problems, and nodes that are prefixes of their configs.
pub struct Inputs {
    /// Encoded problems: (B, numbers).
    pub source: Tensor,
    /// Index of the problem of each node: (M).
    pub problems: Tensor,
    /// 1 for each token of the prefix: (M, V).
    pub tokens: Tensor,
    /// Tokens of the kernel in the vocabulary: (V).
    pub vocabulary: Tensor,
    /// Encoding of what the prefix decides: (M, C).
    pub features: Tensor,
    /// Parameter that is asked for, in the vocabulary: (M).
    pub positions: Tensor,
}

/// Tokens of the vocabulary that follow one another.
#[derive(Clone, Copy)]
pub struct TokenRange {
    /// The first.
    pub first: i64,
    /// How many there are.
    pub count: i64,
}

/// A block of the decoder: x + down(relu(up(norm(x)))).
struct Block {
    norm: Norm,
    up: Linear,
    down: Linear,
}

/// The small decoder on weights that are trained.
pub struct Student {
    source: Vec<Linear>,
    kernels: Tensor, // (K, D)
    encoder: Vec<(SelfAttention, FeedForward)>,
    encoder_norm: Norm,
    problem: Linear,
    tokens: Tensor,    // (all tokens, D)
    positions: Tensor, // (parameters + 1, D)
    features: Vec<Linear>,
    blocks: Vec<Block>,
    norm_out: Norm,
    logits: Linear,
    weigh: Vec<Linear>,
    costs: Linear,
}

impl Student {
    /// Builds the network on `weights`, whose tensors it shares.
    ///
    /// # Errors
    /// `Error::Input` where a weight is missing.
    pub fn new(hparams: &Hparams, weights: &Weights) -> Result<Student> {
        let encoder = |i: usize| -> Result<_> {
            let attention = SelfAttention::new(weights, &format!("encoder.{i}.attention"), hparams.heads as i64)?;
            Ok((attention, FeedForward::new(weights, &format!("encoder.{i}.feed_forward"))?))
        };
        let block = |i: usize| -> Result<_> {
            Ok(Block {
                norm: Norm::new(weights, &format!("block.{i}.norm"))?,
                up: Linear::new(weights, &format!("block.{i}.up"))?,
                down: Linear::new(weights, &format!("block.{i}.down"))?,
            })
        };
        Ok(Student {
            source: linears(weights, "source")?,
            kernels: get(weights, "kernels", "weight")?,
            encoder: (0..hparams.encoder_layers).map(encoder).collect::<Result<_>>()?,
            encoder_norm: Norm::new(weights, "encoder.norm")?,
            problem: Linear::new(weights, "problem")?,
            tokens: get(weights, "tokens", "weight")?,
            positions: get(weights, "positions", "weight")?,
            features: linears(weights, "features")?,
            blocks: (0..hparams.decoder_layers).map(block).collect::<Result<_>>()?,
            norm_out: Norm::new(weights, "norm_out")?,
            logits: Linear::new(weights, "logits")?,
            weigh: linears(weights, "weigh")?,
            costs: Linear::new(weights, "costs")?,
        })
    }

    /// Summaries (B, D) of sources (B, numbers) of one kernel.
    fn encode(&self, source: &Tensor, kernel: usize) -> Tensor {
        let mut tokens = vec![self.kernels.get(kernel as i64).unsqueeze(0).expand([source.size()[0], -1], false)];
        let mut first = 0;
        for linear in &self.source {
            let width = linear.weight.size()[1];
            tokens.push(linear.forward(&source.narrow(1, first, width)));
            first += width;
        }
        let mut x = Tensor::stack(&tokens, 1); // (B, S + 1, D)
        for (attention, feed_forward) in &self.encoder {
            x = &x + attention.forward(&x);
            x = &x + feed_forward.forward(&x);
        }
        self.encoder_norm.forward(&x.select(1, 0))
    }

    /// Hidden states of all nodes: (M, D).
    pub fn states(&self, inputs: &Inputs, kernel: usize) -> Tensor {
        let problem = self.problem.forward(&self.encode(&inputs.source, kernel)); // (B, D)
        let mut x = problem.index_select(0, &inputs.problems)
            + self.positions.index_select(0, &inputs.positions)
            + inputs.tokens.matmul(&self.tokens.index_select(0, &inputs.vocabulary))
            + self.features[kernel].forward(&inputs.features);
        for Block { norm, up, down } in &self.blocks {
            x = &x + down.forward(&up.forward(&norm.forward(&x)).relu());
        }
        self.norm_out.forward(&x)
    }

    /// Scores of tokens (nodes, tokens) from hidden states (nodes, D).
    pub fn logits(&self, hidden: &Tensor, TokenRange { first, count }: TokenRange) -> Tensor {
        hidden.linear(&self.logits.weight.narrow(0, first, count), Some(&self.logits.bias.narrow(0, first, count)))
    }

    /// Weights of the numbers in `columns` (nodes, columns) from hidden states (nodes, D).
    pub fn weigh(&self, hidden: &Tensor, columns: &Tensor, kernel: usize) -> Tensor {
        let Linear { weight, bias } = &self.weigh[kernel];
        hidden.linear(&weight.index_select(0, columns), Some(&bias.index_select(0, columns)))
    }

    /// Encoded time and energy (nodes, 2) of finished states (nodes, D).
    pub fn costs(&self, hidden: &Tensor) -> Tensor {
        self.costs.forward(hidden).to_kind(Kind::Float)
    }
}
