//! The network: a pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020 for the norm's place).
//!
//! Letters of the shapes: B problems, R rows (sequences) per problem, N = B R, M decoding steps per problem, S source tokens,
//! W numbers of a source token, F features per step, C numbers per choice, D model width, H heads, V target tokens, K kernels.

use crate::network::layers::{CrossAttention, Dropout, FeedForward, Linear, Norm, SelfAttention, get, linears};
use crate::network::tensors::Weights;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::error::Result;
use seqtune_predict::settings::Hparams;
use seqtune_predict::vocab::Vocab;
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
/// that all legal configs of a problem can be judged.
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
    pub instance: Tensor,
    pub tokens: Tensor,
}

/// What is said of finished configs, each (N). Energy and rank are those of a judge.
pub struct Judged {
    pub time: Option<Tensor>,
    pub energy: Option<Tensor>,
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

/// What each decoding step is given. Shapes (B, M), (B, M), (B, M, F), (B, 1, M, M).
pub struct Steps {
    /// Token before; V is "begin".
    pub tokens: Tensor,
    /// Parameter that is asked for; P is "finished", which asks for the time.
    pub positions: Tensor,
    /// Features of the prefix.
    pub features: Tensor,
    /// True where a step does not see another: all but those it follows, and itself.
    pub unseen: Tensor,
}

impl Transformer {
    /// Builds the network on `weights`, whose tensors it shares.
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
            head: match weights.contains_key("judge.out.weight") {
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

    /// Random initial weights, uniform, with a judge or with a head: within 1/sqrt(inputs) for projections, 0.17 (deviation 0.1) for
    /// embeddings.
    pub fn init(hparams: &Hparams, vocab: &Vocab, judge: bool, seed: u64) -> Weights {
        let options = (Kind::Float, tch::Device::Cpu);
        let (d, ff) = (hparams.width as i64, hparams.feed_forward as i64);
        let mut weights = Weights::new();
        // not libtorch's generator: that one is shared by all threads, and differs between versions
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut within = |shape: &[i64], bound: f32| {
            let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random_range(-bound..bound)).collect();
            Tensor::from_slice(&values).reshape(shape)
        };
        let bound = |inputs: i64| 1.0 / (inputs as f32).sqrt();
        let mut add = |name: String, tensor: Tensor| drop(weights.insert(name, tensor));
        let tokens = vocab.tokens() as i64;
        add("kernels.weight".into(), within(&[vocab.kernels.len() as i64, d], 0.17));
        add("tokens.weight".into(), within(&[tokens + 1, d], 0.17));
        add("positions.weight".into(), within(&[vocab.parameters.len() as i64 + 1, d], 0.17));
        for (i, width) in vocab.source_widths().into_iter().enumerate() {
            // most of the numbers of a encoding are 0
            add(format!("source.{i}.weight"), within(&[d, width as i64], bound(8)));
            add(format!("source.{i}.bias"), within(&[d], 0.17));
        }
        let mut linears: Vec<(String, i64, i64)> = vec![("logits".into(), d, tokens)];
        let mut norms = vec!["encoder.norm".to_string(), "decoder.norm".to_string()];
        if judge {
            add("judge.tokens.weight".into(), within(&[tokens, d], 0.17));
            linears.extend([("judge.problem".into(), d, d), ("judge.out".into(), d, 3)]);
            linears.extend([("judge.up".into(), d, ff), ("judge.down".into(), ff, d)]);
            norms.extend(["judge.norm".to_string(), "judge.norm_out".to_string()]);
        } else {
            linears.extend([("head.up".into(), d, d), ("head.down".into(), d, 1)]);
        }
        for (i, (step, choice)) in std::iter::zip(vocab.step_widths(), vocab.choice_widths()).enumerate() {
            linears.push((format!("features.{i}"), step as i64, d));
            linears.push((format!("weigh.{i}"), d, choice as i64));
            if judge {
                linears.push((format!("judge.features.{i}"), choice as i64, d));
            }
        }
        for (side, layers) in [("encoder", hparams.encoder_layers), ("decoder", hparams.decoder_layers)] {
            for i in 0..layers {
                let part = |part: &str| format!("{side}.{i}.{part}");
                linears.push((part("attention.qkv"), d, 3 * d));
                linears.push((part("attention.out"), d, d));
                linears.push((part("feed_forward.up"), d, ff));
                linears.push((part("feed_forward.down"), ff, d));
                norms.extend([part("attention.norm"), part("feed_forward.norm")]);
                if side == "decoder" {
                    linears.push((part("cross.q"), d, d));
                    linears.push((part("cross.kv"), d, 2 * d));
                    linears.push((part("cross.out"), d, d));
                    norms.push(part("cross.norm"));
                }
            }
        }
        for (name, inputs, outputs) in linears {
            add(format!("{name}.weight"), within(&[outputs, inputs], bound(inputs.max(1))));
            add(format!("{name}.bias"), Tensor::zeros([outputs], options));
        }
        for name in norms {
            add(format!("{name}.weight"), Tensor::ones([d], options));
            add(format!("{name}.bias"), Tensor::zeros([d], options));
        }
        weights
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
            x = &x + self.drop(layer.attention.forward(&x, None));
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
            x = &x + self.drop(layer.attention.forward(&x, Some(&steps.unseen)));
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

    /// What is said of finished configs: by the judge, or, where there is none, of the time alone by their hidden states (N, D) at "finished".
    pub fn judge(&self, memory: &Memory, finished: &Finished, hidden: Option<&Tensor>, kernel: usize) -> Judged {
        match &self.head {
            Head::Reranker(judge) => {
                let said = judge.forward(&memory.summary, finished, kernel);
                Judged { time: Some(said.select(1, 0)), energy: Some(said.select(1, 1)), rank: Some(said.select(1, 2)) }
            }
            Head::State(up, down) => {
                let said = |hidden: &Tensor| down.forward(&up.forward(hidden).gelu("none"));
                Judged { time: hidden.map(|h| said(h).select(1, 0)), energy: None, rank: None }
            }
        }
    }
}
