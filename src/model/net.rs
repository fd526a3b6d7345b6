//! The network: a pre-norm transformer encoder-decoder (Vaswani et al. 2017; Xiong et al. 2020 for the norm's place).
//!
//! Letters of the shapes: B problems, R rows (hypotheses or sequences) per problem, T decoding steps, S source tokens,
//! W numbers of a source token, F features per step, C numbers per choice, D model width, H heads, V target tokens, K kernels.

use super::Hparams;
use super::vocab::Vocab;
use crate::error::{Error, Result};
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Named weights. The names are the paths of the parts below.
pub type Weights = BTreeMap<String, Tensor>;

struct Linear {
    weight: Tensor, // (out, in)
    bias: Tensor,   // (out)
}

impl Linear {
    fn new(weights: &Weights, name: &str) -> Result<Linear> {
        Ok(Linear { weight: get(weights, name, "weight")?, bias: get(weights, name, "bias")? })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.weight, Some(&self.bias))
    }
}

struct Norm {
    weight: Tensor, // (D)
    bias: Tensor,   // (D)
}

impl Norm {
    fn new(weights: &Weights, name: &str) -> Result<Norm> {
        Ok(Norm { weight: get(weights, name, "weight")?, bias: get(weights, name, "bias")? })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x.layer_norm(self.weight.size(), Some(&self.weight), Some(&self.bias), 1e-5, false)
    }
}

struct FeedForward {
    norm: Norm,
    up: Linear,
    down: Linear,
}

impl FeedForward {
    fn new(weights: &Weights, name: &str) -> Result<FeedForward> {
        Ok(FeedForward {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            up: Linear::new(weights, &format!("{name}.up"))?,
            down: Linear::new(weights, &format!("{name}.down"))?,
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.down.forward(&self.up.forward(&self.norm.forward(x)).gelu("none"))
    }
}

/// Self-attention with query, key and value from one projection.
struct SelfAttention {
    norm: Norm,
    qkv: Linear,
    out: Linear,
    heads: i64,
}

impl SelfAttention {
    fn new(weights: &Weights, name: &str, heads: i64) -> Result<SelfAttention> {
        Ok(SelfAttention {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            qkv: Linear::new(weights, &format!("{name}.qkv"))?,
            out: Linear::new(weights, &format!("{name}.out"))?,
            heads,
        })
    }

    /// Query, key and value, each (N, H, T, D/H), of `x` (N, T, D).
    fn project(&self, x: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (n, t, d) = dims(x);
        let qkv = self.qkv.forward(&self.norm.forward(x)).view([n, t, 3, self.heads, d / self.heads]);
        let qkv = qkv.permute([2, 0, 3, 1, 4]); // (3, N, H, T, D/H)
        (qkv.get(0), qkv.get(1), qkv.get(2))
    }

    fn forward(&self, x: &Tensor, causal: bool) -> Tensor {
        let (q, k, v) = self.project(x);
        self.out.forward(&merge(&attend(&q, &k, &v, causal)))
    }
}

/// Attention to the encoder's memory, whose keys and values are projected once per problem.
struct CrossAttention {
    norm: Norm,
    q: Linear,
    kv: Linear,
    out: Linear,
    heads: i64,
}

impl CrossAttention {
    fn new(weights: &Weights, name: &str, heads: i64) -> Result<CrossAttention> {
        Ok(CrossAttention {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            q: Linear::new(weights, &format!("{name}.q"))?,
            kv: Linear::new(weights, &format!("{name}.kv"))?,
            out: Linear::new(weights, &format!("{name}.out"))?,
            heads,
        })
    }

    /// Keys and values, each (B, H, S, D/H), of `memory` (B, S, D).
    fn remember(&self, memory: &Tensor) -> (Tensor, Tensor) {
        let (b, s, d) = dims(memory);
        let kv = self.kv.forward(memory).view([b, s, 2, self.heads, d / self.heads]).permute([2, 0, 3, 1, 4]);
        (kv.get(0).contiguous(), kv.get(1).contiguous())
    }

    /// `x` (B R, T, D): the rows of a problem share its memory, so they are folded into its steps.
    fn forward(&self, x: &Tensor, (k, v): &(Tensor, Tensor)) -> Tensor {
        let (n, t, d) = dims(x);
        let b = k.size()[0];
        let q = self.q.forward(&self.norm.forward(x)).view([b, n / b * t, self.heads, d / self.heads]);
        let y = merge(&attend(&q.transpose(1, 2), k, v, false)); // (B, R T, D)
        self.out.forward(&y).view([n, t, d])
    }
}

struct EncoderLayer {
    attention: SelfAttention,
    feed_forward: FeedForward,
}

struct DecoderLayer {
    attention: SelfAttention,
    cross: CrossAttention,
    feed_forward: FeedForward,
}

/// The whole network.
pub struct Net {
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
    head: (Linear, Linear),
    /// In training, a share of each layer's outputs is left out.
    dropout: Option<RefCell<Dropout>>,
}

/// Leaves out a share of a layer's outputs, the same ones at all tokens of a sequence: fewer random numbers, and as good. Not
/// libtorch's, whose generator all threads share.
pub struct Dropout {
    share: f64,
    rng: ChaCha8Rng,
}

impl Dropout {
    pub fn new(share: f64, seed: u64) -> Option<Dropout> {
        (share > 0.0).then(|| Dropout { share, rng: ChaCha8Rng::seed_from_u64(seed) })
    }

    /// `x` (N, T, D) with outputs left out, the others scaled so that the mean stays.
    fn apply(&mut self, x: &Tensor) -> Tensor {
        let (n, _, d) = dims(x);
        let mut bytes = vec![0u8; (n * d) as usize];
        self.rng.fill_bytes(&mut bytes);
        let limit = (self.share * 256.0).round();
        let kept = (256.0 / (256.0 - limit)) as f32;
        let mask: Vec<f32> = bytes.iter().map(|b| if (*b as f64) < limit { 0.0 } else { kept }).collect();
        x * Tensor::from_slice(&mask).reshape([n, 1, d]).to_kind(x.kind())
    }
}

/// What decoding steps read of the encoder, per layer.
pub struct Memory(Vec<(Tensor, Tensor)>);

/// What each decoding step is given. Shapes (N, T), (N, T), (N, T, F) with N = B R.
pub struct Steps {
    /// Token before; V is "begin".
    pub tokens: Tensor,
    /// Parameter that is asked for; P is "finished", which asks for the time.
    pub positions: Tensor,
    /// Features of the prefix.
    pub features: Tensor,
}

impl Net {
    /// Builds the network on `weights`, whose tensors it shares.
    pub fn new(hparams: &Hparams, weights: &Weights) -> Result<Net> {
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
        Ok(Net {
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
            head: (Linear::new(weights, "head.up")?, Linear::new(weights, "head.down")?),
            dropout: None,
        })
    }

    /// The network for training.
    pub fn with_dropout(self, dropout: Option<Dropout>) -> Net {
        Net { dropout: dropout.map(RefCell::new), ..self }
    }

    /// Random initial weights, uniform, with one head (the time) or two (and what ranks): within 1/sqrt(inputs) for projections, 0.17 (deviation 0.1) for embeddings.
    pub fn init(hparams: &Hparams, vocab: &Vocab, heads: i64, seed: u64) -> Weights {
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
            // most of the numbers of a spelling are 0
            add(format!("source.{i}.weight"), within(&[d, width as i64], bound(8)));
            add(format!("source.{i}.bias"), within(&[d], 0.17));
        }
        let mut linears: Vec<(String, i64, i64)> =
            vec![("logits".into(), d, tokens), ("head.up".into(), d, d), ("head.down".into(), d, heads)];
        for (i, (step, choice)) in std::iter::zip(vocab.step_widths(), vocab.choice_widths()).enumerate() {
            linears.push((format!("features.{i}"), step as i64, d));
            linears.push((format!("weigh.{i}"), d, choice as i64));
        }
        let mut norms = vec!["encoder.norm".to_string(), "decoder.norm".to_string()];
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
            x = &x + self.drop(layer.attention.forward(&x, false));
            x = &x + self.drop(layer.feed_forward.forward(&x));
        }
        let x = self.encoder_norm.forward(&x);
        Memory(self.decoder.iter().map(|layer| layer.cross.remember(&x)).collect())
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

    /// All steps at once: hidden states (N, T, D). Each step sees those before it.
    pub fn decode(&self, memory: &Memory, steps: &Steps, kernel: usize) -> Tensor {
        let mut x = self.embed(steps, kernel);
        for (layer, memory) in self.decoder.iter().zip(&memory.0) {
            x = &x + self.drop(layer.attention.forward(&x, true));
            x = &x + self.drop(layer.cross.forward(&x, memory));
            x = &x + self.drop(layer.feed_forward.forward(&x));
        }
        self.decoder_norm.forward(&x)
    }

    /// Scores of the given target tokens (.., V) from hidden states (.., D).
    pub fn logits(&self, hidden: &Tensor, tokens: &Tensor) -> Tensor {
        hidden.linear(&self.logits.weight.index_select(0, tokens), Some(&self.logits.bias.index_select(0, tokens)))
    }

    /// Weights (.., C) of the numbers that a choice's features are spelled by, from hidden states (.., D).
    pub fn weigh(&self, hidden: &Tensor, kernel: usize) -> Tensor {
        self.weigh[kernel].forward(hidden)
    }

    /// What the heads say of hidden states (.., D) at "finished": the time, and what ranks (.., 2). a network without
    /// the second gives (.., 1).
    pub fn head(&self, hidden: &Tensor) -> Tensor {
        self.head.1.forward(&self.head.0.forward(hidden).gelu("none"))
    }
}

/// The parts `name.0`, `name.1`, and so on.
fn linears(weights: &Weights, name: &str) -> Result<Vec<Linear>> {
    let is_part = |i: &usize| weights.contains_key(&format!("{name}.{i}.weight"));
    (0..).take_while(is_part).map(|i| Linear::new(weights, &format!("{name}.{i}"))).collect()
}

fn get(weights: &Weights, name: &str, part: &str) -> Result<Tensor> {
    match weights.get(&format!("{name}.{part}")) {
        Some(tensor) => Ok(tensor.shallow_clone()),
        None => Err(Error::Input(format!(
            "the model has no weights `{name}.{part}`: the file is damaged or of another version"
        ))),
    }
}

fn dims(x: &Tensor) -> (i64, i64, i64) {
    let size = x.size();
    (size[0], size[1], size[2])
}

fn attend(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Tensor {
    if q.kind() == Kind::Float {
        return Tensor::scaled_dot_product_attention(q, k, v, None::<Tensor>, 0.0, causal, None, false);
    }
    // in bfloat16 libtorch's own goes through a library call per head and problem
    let size = q.size();
    let mut scores = q.matmul(&k.transpose(-1, -2)) / (size[3] as f64).sqrt(); // (N, H, T, S)
    if causal {
        let later = Tensor::ones([size[2], size[2]], (Kind::Bool, tch::Device::Cpu)).triu(1);
        scores = scores.masked_fill(&later, f64::NEG_INFINITY);
    }
    scores.softmax(-1, None::<Kind>).matmul(v)
}

/// (N, H, T, D/H) to (N, T, D).
fn merge(x: &Tensor) -> Tensor {
    let size = x.size();
    x.transpose(1, 2).reshape([size[0], size[2], size[1] * size[3]])
}
