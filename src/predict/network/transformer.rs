//! The network for prediction, without libtorch: plain slices, and cached keys and values that the
//! hypotheses of a beam share. It computes what the network that is trained does (a test holds that they agree).
//!
//! Libtorch needs about 10 us per call, and a decoding step is 80 calls on tiny matrices. Here only matrix products are
//! calls. Rows are the live hypotheses of all problems, one after the other. Letters of the shapes: B problems, S source
//! tokens, n rows, D the width, W numbers of a source, F features of a step, C numbers of a choice, V tokens.

use crate::error::Result;
use crate::network::dense::{Linear, Norm, add, get, linears};
use crate::network::reranker::Reranker;
use crate::network::simd::{KeysValues, attend, gelu, product};
use crate::network::weights::{NetworkWeights, has_reranker};
use crate::settings::Hparams;

struct FeedForward {
    norm: Norm,
    up: Linear,
    down: Linear,
}

struct SelfAttention {
    norm: Norm,
    qkv: Linear,
    out: Linear,
}

struct CrossAttention {
    norm: Norm,
    q: Linear,
    kv: Linear,
    out: Linear,
}

/// The network's weights as plain numbers; may be shared between threads.
pub struct Transformer {
    d: usize,
    heads: usize,
    source: Vec<Linear>,
    kernels: Vec<f32>,
    encoder: Vec<(SelfAttention, FeedForward)>,
    encoder_norm: Norm,
    tokens: Vec<f32>,
    positions: Vec<f32>,
    features: Vec<Linear>,
    weigh: Vec<Linear>,
    decoder: Vec<(SelfAttention, CrossAttention, FeedForward)>,
    decoder_norm: Norm,
    logits: Linear,
    head: Head,
}

/// What predicts times, and ranks finished configs where the network learned from whole sweeps.
enum Head {
    Reranker(Box<Reranker>),
    State(Linear, Linear),
}

/// One row of a decoding step.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// Index of the problem in the batch.
    pub problem: usize,
    /// Token of the step before.
    pub token: usize,
    /// Parameter that is asked for.
    pub position: usize,
    /// Entries of the KV cache that it attends to, one per step before.
    pub history: &'a [u32],
}

/// Keys and values of a batch of problems.
pub struct KvCache {
    /// Per decoder layer: the encoder's memory, keys and values side by side (B S, 2 D).
    memory: Vec<Vec<f32>>,
    /// The kernel's token after the encoder (B, D).
    summaries: Vec<f32>,
    source_length: usize,
    /// Per decoder layer: keys and values side by side (steps, 2 D), one entry per row and step so far.
    steps: Vec<Vec<f32>>,
}
impl FeedForward {
    fn new(weights: &NetworkWeights, name: &str) -> Result<FeedForward> {
        Ok(FeedForward {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            up: Linear::new(weights, &format!("{name}.up"))?,
            down: Linear::new(weights, &format!("{name}.down"))?,
        })
    }

    fn forward(&self, x: &mut [f32]) {
        let mut up = self.up.forward(&self.norm.forward(x));
        gelu(&mut up);
        add(x, &self.down.forward(&up));
    }
}

impl SelfAttention {
    fn new(weights: &NetworkWeights, name: &str) -> Result<SelfAttention> {
        Ok(SelfAttention {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            qkv: Linear::new(weights, &format!("{name}.qkv"))?,
            out: Linear::new(weights, &format!("{name}.out"))?,
        })
    }
}

impl Transformer {
    /// Builds one network from its named weights.
    ///
    /// # Errors
    /// [`Error::Model`](crate::Error::Model) where a weight is missing or has another shape.
    pub fn new(hparams: &Hparams, weights: &NetworkWeights) -> Result<Transformer> {
        let encoder = |i: usize| -> Result<_> {
            let part = |part: &str| format!("encoder.{i}.{part}");
            let attention = SelfAttention::new(weights, &part("attention"))?;
            Ok((attention, FeedForward::new(weights, &part("feed_forward"))?))
        };
        let decoder = |i: usize| -> Result<_> {
            let part = |part: &str| format!("decoder.{i}.{part}");
            let cross = CrossAttention {
                norm: Norm::new(weights, &part("cross.norm"))?,
                q: Linear::new(weights, &part("cross.q"))?,
                kv: Linear::new(weights, &part("cross.kv"))?,
                out: Linear::new(weights, &part("cross.out"))?,
            };
            let attention = SelfAttention::new(weights, &part("attention"))?;
            Ok((attention, cross, FeedForward::new(weights, &part("feed_forward"))?))
        };
        Ok(Transformer {
            d: hparams.width,
            heads: hparams.heads,
            source: linears(weights, "source")?,
            kernels: get(weights, "kernels", "weight")?.to_vec(),
            encoder: (0..hparams.encoder_layers).map(encoder).collect::<Result<_>>()?,
            encoder_norm: Norm::new(weights, "encoder.norm")?,
            tokens: get(weights, "tokens", "weight")?.to_vec(),
            positions: get(weights, "positions", "weight")?.to_vec(),
            features: linears(weights, "features")?,
            weigh: linears(weights, "weigh")?,
            decoder: (0..hparams.decoder_layers).map(decoder).collect::<Result<_>>()?,
            decoder_norm: Norm::new(weights, "decoder.norm")?,
            logits: Linear::new(weights, "logits")?,
            head: match has_reranker(weights.names()) {
                true => Head::Reranker(Box::new(Reranker::new(weights)?)),
                false => Head::State(Linear::new(weights, "head.up")?, Linear::new(weights, "head.down")?),
            },
        })
    }

    /// Encodes `problems` sources (B, W of all tokens) of one kernel.
    pub fn encode(&self, source: &[f32], problems: usize, kernel: usize) -> KvCache {
        let d = self.d;
        let length = self.source.len() + 1;
        let numbers = source.len() / problems;
        let mut x: Vec<f32> = Vec::with_capacity(problems * length * d);
        for _ in 0..problems {
            x.extend_from_slice(&self.kernels[kernel * d..][..d]);
            self.source.iter().for_each(|token| x.extend_from_slice(&token.bias));
        }
        let mut first = 0;
        for (i, token) in self.source.iter().enumerate() {
            let width = token.weight.len() / d;
            let out = (&mut x[(i + 1) * d..], length * d);
            product((problems, width, d), (&source[first..], numbers), &token.weight, out);
            first += width;
        }
        let (mut entries, mut scores) = (Vec::new(), vec![0.0; length]);
        for (attention, feed_forward) in &self.encoder {
            let qkv = attention.qkv.forward(&attention.norm.forward(&x)); // (B S, 3 D)
            let mut seen = vec![0.0; x.len()];
            for (row, out) in seen.chunks_exact_mut(d).enumerate() {
                let first = row / length * length;
                entries.clear();
                entries.extend((first..first + length).map(|i| i as u32));
                let to = KeysValues { numbers: &qkv[d..], stride: 3 * d, entries: &entries };
                attend(&qkv[row * 3 * d..][..d], to, self.heads, &mut scores, out);
            }
            add(&mut x, &attention.out.forward(&seen));
            feed_forward.forward(&mut x);
        }
        let x = self.encoder_norm.forward(&x);
        let memory = self.decoder.iter().map(|(_, cross, _)| cross.kv.forward(&x)).collect();
        let summaries = x.chunks_exact(length * d).flat_map(|of_problem| &of_problem[..d]).copied().collect();
        KvCache { memory, summaries, source_length: length, steps: vec![Vec::new(); self.decoder.len()] }
    }

    /// One decoding step of `rows` of one kernel with their `features` (n, F): hidden states (n, D), and the entry that each row adds to
    /// its history.
    pub fn step(&self, session: &mut KvCache, rows: &[Row], features: &[f32], kernel: usize) -> (Vec<f32>, Vec<u32>) {
        let d = self.d;
        let mut x = self.features[kernel].forward(features);
        for (row, x) in rows.iter().zip(x.chunks_exact_mut(d)) {
            add(x, &self.tokens[row.token * d..][..d]);
            add(x, &self.positions[row.position * d..][..d]);
            add(x, &self.kernels[kernel * d..][..d]);
        }
        let first = session.steps.first().map_or(0, |s| s.len() / (2 * d)) as u32;
        let mut seen = vec![0.0; x.len()];
        let (mut entries, mut scores) = (Vec::new(), Vec::new());
        for (layer, (attention, cross, feed_forward)) in self.decoder.iter().enumerate() {
            let qkv = attention.qkv.forward(&attention.norm.forward(&x)); // (n, 3 D)
            let steps = &mut session.steps[layer];
            qkv.chunks_exact(3 * d).for_each(|row| steps.extend_from_slice(&row[d..]));
            for (i, (row, out)) in rows.iter().zip(seen.chunks_exact_mut(d)).enumerate() {
                entries.clear();
                entries.extend_from_slice(row.history);
                entries.push(first + i as u32);
                scores.resize(entries.len(), 0.0);
                let to = KeysValues { numbers: steps, stride: 2 * d, entries: &entries };
                attend(&qkv[i * 3 * d..][..d], to, self.heads, &mut scores, out);
            }
            add(&mut x, &attention.out.forward(&seen));
            let q = cross.q.forward(&cross.norm.forward(&x));
            let memory = &session.memory[layer];
            for (i, (row, out)) in rows.iter().zip(seen.chunks_exact_mut(d)).enumerate() {
                let first = (row.problem * session.source_length) as u32;
                entries.clear();
                entries.extend(first..first + session.source_length as u32);
                scores.resize(entries.len(), 0.0);
                let to = KeysValues { numbers: memory, stride: 2 * d, entries: &entries };
                attend(&q[i * d..][..d], to, self.heads, &mut scores, out);
            }
            add(&mut x, &cross.out.forward(&seen));
            feed_forward.forward(&mut x);
        }
        (self.decoder_norm.forward(&x), (0..rows.len() as u32).map(|i| first + i).collect())
    }

    /// Scores of all target tokens (n, V) from hidden states (n, D).
    pub fn logits(&self, hidden: &[f32]) -> Vec<f32> {
        self.logits.forward(hidden)
    }

    /// Weights (n, C) of the numbers that a choice's features are encoded by, from hidden states (n, D).
    pub fn weigh(&self, hidden: &[f32], kernel: usize) -> Vec<f32> {
        self.weigh[kernel].forward(hidden)
    }

    /// Whether it re-ranks finished configs.
    pub fn reranks(&self) -> bool {
        matches!(self.head, Head::Reranker(_))
    }

    /// The re-ranker of finished configs, with the summary of one of the session's problems; `None` of a network that learned from
    /// tuned configs.
    pub fn reranker<'a>(&'a self, session: &'a KvCache, problem: usize) -> Option<(&'a Reranker, &'a [f32])> {
        match &self.head {
            Head::Reranker(reranker) => Some((reranker, &session.summaries[problem * self.d..][..self.d])),
            Head::State(..) => None,
        }
    }

    /// The time (n) of hidden states (n, D) at "finished", of a network without a re-ranker; nothing of one with.
    pub fn time(&self, hidden: &[f32]) -> Vec<f32> {
        let Head::State(up, down) = &self.head else { return Vec::new() };
        let mut up = up.forward(hidden);
        gelu(&mut up);
        down.forward(&up)
    }
}
