//! The network: a pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020 for the norm's place).
//!
//! Letters of the shapes: B problems, R rows (sequences) per problem, N = B R, M decoding steps per problem, S source tokens,
//! W numbers of a source token, F features per step, C numbers per choice, D model width, H heads, V target tokens, K kernels.

use crate::network::decoder::choices::{ChoiceScores, Choices};
use crate::network::decoder::{Decoder, DecoderPart, HiddenStates, Pass};
use crate::network::layers::{Dropout, FeedForward, Linear, Norm, SelfAttention, get, linears};
use crate::network::tensors::Weights;
use seqtune_kernel::error::Result;
use seqtune_predict::Hparams;
use seqtune_predict::network::weights::has_reranker;
use std::cell::RefCell;
use tch::{Kind, Tensor, no_grad};

struct EncoderLayer {
    attention: SelfAttention,
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
        self.out.forward(&self.judge(summary, finished, kernel))
    }

    /// What the three outputs are linear in: (N, D).
    fn judge(&self, summary: &Tensor, finished: &Finished, kernel: usize) -> Tensor {
        let (n, b) = (finished.instance.size()[0], summary.size()[0]);
        let problem = self.problem.forward(summary); // (B, D)
        let d = problem.size()[1];
        let problem = problem.unsqueeze(1).expand([b, n / b, d], false).reshape([n, d]);
        let tokens = Tensor::embedding(&self.tokens, &finished.tokens, -1, false, false); // (N, P, D)
        let x =
            self.features[kernel].forward(&finished.instance) + problem + tokens.sum_dim_intlist(1, false, Kind::Float);
        let x = &x + self.down.forward(&self.up.forward(&self.norm.forward(&x)).relu());
        self.norm_out.forward(&x)
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
    decoder: Decoder,
    logits: Linear, // D -> V
    head: Head,
    /// In training, a share of each layer's outputs is left out.
    dropout: Option<RefCell<Dropout>>,
}

/// What each decoding step is given, those of the first problem first. Shapes (M), (M), (M, F).
pub struct Steps {
    /// Token before; V is "begin".
    pub tokens: Tensor,
    /// Parameter that is asked for; P is "finished", which asks for the time.
    pub positions: Tensor,
    /// Features of the prefix.
    pub features: Tensor,
    /// Problems that are decoded together, with what their steps see.
    pub parts: Vec<DecoderPart>,
    /// What may be chosen at each.
    pub choices: Choices,
    /// The kernel's tokens in the vocabulary: (V).
    pub vocabulary: Tensor,
}

/// A decoder's pass, which libtorch keeps no record of, between what it begins with and what a loss is made of.
pub struct Decoded<'a> {
    net: &'a Transformer,
    steps: &'a Steps,
    /// The encoder's memory (B, S, D), as it was made, and without that record, for whoever reads it beside the decoder.
    encoded: Tensor,
    memory: Tensor,
    embedded: Tensor,
    /// Weights of the kernel's tokens (V, D) and biases (V).
    tokens: Linear,
    weigh: &'a Linear,
    /// Hidden states: (M, D).
    pub hidden: Tensor,
    /// Log-probability of each choice of each node, one after the other.
    pub log: Tensor,
    passes: Vec<Pass>,
    judged: ChoiceScores,
}

impl Decoded<'_> {
    /// The kernel's token after the encoder: (B, D).
    pub fn summary(&self) -> Tensor {
        self.memory.select(1, 0)
    }

    /// Hands on what a loss that has been differentiated means for the weights of decoder, embedding and encoder.
    pub fn back(&self) {
        let steps = self.steps;
        let (mut before, head) = no_grad(|| {
            let (mut hidden, head) = self.judged.back(&self.log.grad(), &self.tokens, self.weigh, &steps.choices);
            add_defined(&mut hidden, &self.hidden.grad());
            (self.net.decoder.back(&self.passes, &hidden, self.memory.size()[1], &steps.parts), head)
        });
        before.memory = before.memory.view_as(&self.encoded);
        add_defined(&mut before.memory, &self.memory.grad());
        // each factor's gradient is the other
        let mut sum = (&self.embedded * before.x).sum(None) + (&self.encoded * before.memory).sum(None);
        for (weight, gradient) in head.into_iter().chain(before.weights) {
            sum += (weight * gradient).sum(None);
        }
        sum.backward();
    }
}

/// Adds a gradient that there is only where something depends on it.
fn add_defined(sum: &mut Tensor, gradient: &Tensor) {
    if gradient.defined() {
        *sum += gradient;
    }
}

/// The same numbers, whose gradient is kept and goes no further.
fn leaf(x: &Tensor) -> Tensor {
    x.detach().set_requires_grad(true)
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
        Ok(Transformer {
            source: linears(weights, "source")?,
            kernels: get(weights, "kernels", "weight")?,
            encoder: (0..hparams.encoder_layers).map(encoder).collect::<Result<_>>()?,
            encoder_norm: Norm::new(weights, "encoder.norm")?,
            tokens: get(weights, "tokens", "weight")?,
            positions: get(weights, "positions", "weight")?,
            features: linears(weights, "features")?,
            weigh: linears(weights, "weigh")?,
            decoder: Decoder::new(hparams, weights)?,
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

    /// The memory (B, S, D) of sources (B, W of all tokens) of one kernel.
    fn encode(&self, source: &Tensor, kernel: usize) -> Tensor {
        let mut tokens = vec![self.kernels.get(kernel as i64).unsqueeze(0).expand([source.size()[0], -1], false)];
        let mut first = 0;
        for linear in &self.source {
            let width = linear.weight.size()[1];
            tokens.push(linear.forward(&source.narrow(1, first, width)));
            first += width;
        }
        let mut x = Tensor::stack(&tokens, 1);
        for layer in &self.encoder {
            x = &x + self.drop(layer.attention.forward(&x));
            x = &x + self.drop(layer.feed_forward.forward(&x));
        }
        self.encoder_norm.forward(&x)
    }

    fn embed(&self, steps: &Steps, kernel: usize) -> Tensor {
        Tensor::embedding(&self.tokens, &steps.tokens, -1, false, false)
            + Tensor::embedding(&self.positions, &steps.positions, -1, false, false)
            + self.features[kernel].forward(&steps.features)
            + self.kernels.get(kernel as i64)
    }

    fn drop(&self, x: Tensor) -> Tensor {
        match &self.dropout {
            Some(dropout) => dropout.borrow_mut().apply(&x),
            None => x,
        }
    }

    /// All steps at once, of problems with sources (B, W of all tokens).
    pub fn decode<'a>(&'a self, source: &Tensor, steps: &'a Steps, kernel: usize) -> Decoded<'a> {
        let encoded = self.encode(source, kernel);
        let (embedded, memory) = (self.embed(steps, kernel), leaf(&encoded));
        let (sources, d) = (memory.size()[1], memory.size()[2]);
        let mut dropout = self.dropout.as_ref().map(RefCell::borrow_mut);
        let of_vocabulary = |all: &Tensor| all.index_select(0, &steps.vocabulary);
        let tokens = Linear { weight: of_vocabulary(&self.logits.weight), bias: of_vocabulary(&self.logits.bias) };
        let weigh = &self.weigh[kernel];
        let (hidden, passes, judged) = no_grad(|| {
            let rows = memory.view([-1, d]);
            let HiddenStates { states: hidden, passes } =
                self.decoder.forward(embedded.copy(), &rows, sources, &steps.parts, dropout.as_deref_mut());
            let judged = ChoiceScores::new(&hidden, &tokens, weigh, &steps.choices);
            (hidden, passes, judged)
        });
        let (hidden, log) = (leaf(&hidden), leaf(&judged.log));
        Decoded { net: self, steps, encoded, memory, embedded, tokens, weigh, hidden, log, passes, judged }
    }

    /// What a re-ranker's heads are linear in, of finished configs of problems with sources (B, W of all tokens): (N, D); `None` without one.
    pub fn judge(&self, source: &Tensor, finished: &Finished, kernel: usize) -> Option<Tensor> {
        match &self.head {
            Head::Reranker(reranker) => {
                Some(reranker.judge(&self.encode(source, kernel).select(1, 0), finished, kernel))
            }
            Head::State(..) => None,
        }
    }

    /// Scores finished configs: by the re-ranker, or, without one, their time alone by the hidden states (N, D) at "finished".
    pub fn score(&self, summary: &Tensor, finished: &Finished, hidden: Option<&Tensor>, kernel: usize) -> Scores {
        match &self.head {
            Head::Reranker(reranker) => {
                let outputs = reranker.forward(summary, finished, kernel);
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
