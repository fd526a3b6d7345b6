//! The network: a pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020 for the norm's place).
//!
//! Letters of the shapes: B problems, R rows (sequences) per problem, N = B R, M decoding steps per problem, S source tokens,
//! W numbers of a source token, F features per step, C numbers per choice, D model width, H heads, V target tokens, K kernels.

use crate::network::layers::{CrossAttention, Dropout, FeedForward, Linear, Norm, Paths, SelfAttention, get, linears};
use crate::network::tensors::Weights;
use seqtune_predict::error::Result;
use seqtune_predict::network::weights::has_reranker;
use seqtune_predict::settings::Hparams;
use std::cell::RefCell;
use tch::{Kind, Tensor};

struct EncoderLayer {
    attention: SelfAttention,
    feed_forward: FeedForward,
}

struct DecoderLayer {
    attention: SelfAttention,
    cross: CrossAttention,
    feed_forward: FeedForward,
}

/// Judges finished configs: of what a config is and decides, and of the problem's summary. It has no need of the decoder, so
/// that all legal configs of a problem can be scored.
struct Reranker {
    features: Vec<Linear>, // C -> D, by kernel
    tokens: Tensor,        // (V, D)
    problem: Linear,       // D -> D
    norm: Norm,
    up: Linear,
    down: Linear,
    norm_out: Norm,
    out: Linear, // D -> 3: time, energy, rank
}

impl Reranker {
    fn new(weights: &Weights) -> Result<Reranker> {
        Ok(Reranker {
            features: linears(weights, "judge.features")?,
            tokens: get(weights, "judge.tokens", "weight")?,
            problem: Linear::new(weights, "judge.problem")?,
            norm: Norm::new(weights, "judge.norm")?,
            up: Linear::new(weights, "judge.up")?,
            down: Linear::new(weights, "judge.down")?,
            norm_out: Norm::new(weights, "judge.norm_out")?,
            out: Linear::new(weights, "judge.out")?,
        })
    }

    /// (N, 3) of configs with R rows for each of the B problems of `summary` (B, D).
    fn forward(&self, summary: &Tensor, finished: &Finished, kernel: usize) -> Tensor {
        let (n, b) = (finished.instance.size()[0], summary.size()[0]);
        let problem = self.problem.forward(&summary.to_kind(Kind::Float)); // (B, D)
        let d = problem.size()[1];
        let problem = problem.unsqueeze(1).expand([b, n / b, d], false).reshape([n, d]);
        let tokens = Tensor::embedding(&self.tokens, &finished.tokens, -1, false, false); // (N, P, D)
        let x =
            self.features[kernel].forward(&finished.instance) + problem + tokens.sum_dim_intlist(1, false, Kind::Float);
        let x = &x + self.down.forward(&self.up.forward(&self.norm.forward(&x)).relu());
        self.out.forward(&self.norm_out.forward(&x))
    }
}

/// Who says what of finished configs.
enum Head {
    Reranker(Reranker),
    /// Of a network that learned from tuned configs, one a problem: the time alone, from the hidden state at "finished".
    State(Linear, Linear),
}

/// Finished configs as the re-ranker is given them: the encoding of what they decide (N, C), their tokens (N, P).
pub struct Finished {
    /// Features of all values of each config: (N, C).
    pub instance: Tensor,
    /// Tokens of its values: (N, parameters).
    pub tokens: Tensor,
}

/// Outputs for finished configs, each (N). Energy and rank are those of a re-ranker.
pub struct Scores {
    /// Encoded time.
    pub time: Option<Tensor>,
    /// Encoded energy.
    pub energy: Option<Tensor>,
    /// Score that orders the configs of a problem.
    pub rank: Option<Tensor>,
}

/// The whole network.
pub struct Transformer {
    /// Projection of each source token's numbers, W -> D; the kernel is one token more.
    source: Vec<Linear>,
    kernels: Tensor, // (K, D)
    encoder: Vec<EncoderLayer>,
    encoder_norm: Norm,
    tokens: Tensor,        // (V + 1, D), the last is "begin"
    positions: Tensor,     // (P + 1, D), the last is "finished"
    features: Vec<Linear>, // F -> D, by kernel
    /// Hidden state to the weights of what a choice decides, D -> C, by kernel.
    weigh: Vec<Linear>,
    decoder: Vec<DecoderLayer>,
    decoder_norm: Norm,
    logits: Linear, // D -> V
    head: Head,
    /// In training, a share of each layer's outputs is left out.
    dropout: Option<RefCell<Dropout>>,
}

/// What decoding steps read of the encoder, per layer.
pub struct Memory {
    layers: Vec<(Tensor, Tensor)>,
    /// The kernel's token after the encoder: (B, D).
    summary: Tensor,
}

/// What each decoding step is given. Shapes (B, M), (B, M), (B, M, F).
pub struct Steps {
    /// Token before; V is "begin".
    pub tokens: Tensor,
    /// Parameter that is asked for; P is "finished", which asks for the time.
    pub positions: Tensor,
    /// Features of the prefix.
    pub features: Tensor,
    /// Ways through the steps: each sees those it follows, and itself.
    pub paths: Paths,
}

impl Transformer {
    /// Builds the network on `weights`, whose tensors it shares.
    ///
    /// # Errors
    /// `Error::Model` where a weight is missing.
    pub fn new(hparams: &Hparams, weights: &Weights) -> Result<Transformer> {
        let heads = hparams.heads as i64;
        let encoder = |i: usize| -> Result<EncoderLayer> {
            Ok(EncoderLayer {
                attention: SelfAttention::new(weights, &format!("encoder.{i}.attention"), heads)?,
                feed_forward: FeedForward::new(weights, &format!("encoder.{i}.feed_forward"))?,
            })
        };
        let decoder = |i: usize| -> Result<DecoderLayer> {
            Ok(DecoderLayer {
                attention: SelfAttention::new(weights, &format!("decoder.{i}.attention"), heads)?,
                cross: CrossAttention::new(weights, &format!("decoder.{i}.cross"), heads)?,
                feed_forward: FeedForward::new(weights, &format!("decoder.{i}.feed_forward"))?,
            })
        };
        Ok(Transformer {
            source: linears(weights, "source")?,
            kernels: get(weights, "kernels", "weight")?,
            encoder: (0..hparams.encoder_layers).map(encoder).collect::<Result<_>>()?,
            encoder_norm: Norm::new(weights, "encoder.norm")?,
            tokens: get(weights, "tokens", "weight")?,
            positions: get(weights, "positions", "weight")?,
            features: linears(weights, "features")?,
            weigh: linears(weights, "weigh")?,
            decoder: (0..hparams.decoder_layers).map(decoder).collect::<Result<_>>()?,
            decoder_norm: Norm::new(weights, "decoder.norm")?,
            logits: Linear::new(weights, "logits")?,
            head: match has_reranker(weights.keys()) {
                true => Head::Reranker(Reranker::new(weights)?),
                false => Head::State(Linear::new(weights, "head.up")?, Linear::new(weights, "head.down")?),
            },
            dropout: None,
        })
    }

    /// The network for training.
    pub fn with_dropout(self, dropout: Option<Dropout>) -> Transformer {
        Transformer { dropout: dropout.map(RefCell::new), ..self }
    }

    /// Encodes sources (B, W of all tokens) of one kernel.
    pub fn encode(&self, source: &Tensor, kernel: usize) -> Memory {
        let source = source.to_kind(self.tokens.kind());
        let mut tokens = vec![self.kernels.get(kernel as i64).unsqueeze(0).expand([source.size()[0], -1], false)];
        let mut first = 0;
        for linear in &self.source {
            let width = linear.weight.size()[1];
            tokens.push(linear.forward(&source.narrow(1, first, width)));
            first += width;
        }
        let mut x = Tensor::stack(&tokens, 1); // (B, S + 1, D)
        for layer in &self.encoder {
            x = &x + self.drop(layer.attention.forward(&x));
            x = &x + self.drop(layer.feed_forward.forward(&x));
        }
        let x = self.encoder_norm.forward(&x);
        Memory { layers: self.decoder.iter().map(|layer| layer.cross.remember(&x)).collect(), summary: x.select(1, 0) }
    }

    fn embed(&self, steps: &Steps, kernel: usize) -> Tensor {
        Tensor::embedding(&self.tokens, &steps.tokens, -1, false, false)
            + Tensor::embedding(&self.positions, &steps.positions, -1, false, false)
            + self.features[kernel].forward(&steps.features.to_kind(self.tokens.kind()))
            + self.kernels.get(kernel as i64)
    }

    fn drop(&self, x: Tensor) -> Tensor {
        match &self.dropout {
            Some(dropout) => dropout.borrow_mut().apply(&x),
            None => x,
        }
    }

    /// All steps at once: hidden states (B, M, D).
    pub fn decode(&self, memory: &Memory, steps: &Steps, kernel: usize) -> Tensor {
        let mut x = self.embed(steps, kernel);
        for (layer, memory) in self.decoder.iter().zip(&memory.layers) {
            x = &x + self.drop(layer.attention.along(&x, &steps.paths));
            x = &x + self.drop(layer.cross.forward(&x, memory));
            x = &x + self.drop(layer.feed_forward.forward(&x));
        }
        self.decoder_norm.forward(&x)
    }

    /// Scores of the given target tokens (.., V) from hidden states (.., D).
    pub fn logits(&self, hidden: &Tensor, tokens: &Tensor) -> Tensor {
        hidden.linear(&self.logits.weight.index_select(0, tokens), Some(&self.logits.bias.index_select(0, tokens)))
    }

    /// Weights (.., C) of the numbers that a choice's features are encoded by, from hidden states (.., D).
    pub fn weigh(&self, hidden: &Tensor, kernel: usize) -> Tensor {
        self.weigh[kernel].forward(hidden)
    }

    /// Scores finished configs: by the re-ranker, or, without one, their time alone by the hidden states (N, D) at "finished".
    pub fn score(&self, memory: &Memory, finished: &Finished, hidden: Option<&Tensor>, kernel: usize) -> Scores {
        match &self.head {
            Head::Reranker(reranker) => {
                let outputs = reranker.forward(&memory.summary, finished, kernel);
                let output = |at: i64| Some(outputs.select(1, at));
                Scores { time: output(0), energy: output(1), rank: output(2) }
            }
            Head::State(up, down) => {
                let time = |hidden: &Tensor| down.forward(&up.forward(hidden).gelu("none"));
                Scores { time: hidden.map(|h| time(h).select(1, 0)), energy: None, rank: None }
            }
        }
    }
}
