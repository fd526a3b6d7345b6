//! The network for prediction, without libtorch: plain slices, and cached keys and values that the
//! hypotheses of a beam share. It computes what the network that is trained does (a test holds that they agree).
//!
//! Libtorch needs about 10 us per call, and a decoding step is 80 calls on tiny matrices. Here only matrix products are
//! calls. Rows are the live hypotheses of all problems, one after the other. Letters of the shapes: B problems, S source
//! tokens, n rows, D the width, W numbers of a source, F features of a step, C numbers of a choice, V tokens.

use crate::model::settings::Hparams;
use crate::network::dense::{Linear, Norm, add, get, linears};
use crate::network::encoder::{Encoder, FeedForward, SelfAttention};
use crate::network::reranker::{AskedReranker, Reranker};
use crate::network::simd::{KeysValues, attend, gelu};
use crate::network::weights::{NetworkWeights, has_reranker};
use seqtune_kernel::error::Result;

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
    kernels: Vec<f32>,
    encoder: Encoder,
    tokens: Vec<f32>,
    positions: Vec<f32>,
    features: Vec<Linear>,
    weigh: Vec<Linear>,
    decoder: Vec<(SelfAttention, CrossAttention, FeedForward)>,
    decoder_norm: Norm,
    logits: Linear,
    head: OutputHead,
}

/// What predicts times, and ranks finished configs where the network learned from whole sweeps.
enum OutputHead {
    Reranker(Box<Reranker>),
    State(Linear, Linear),
}

/// One row of a decoding step.
#[derive(Clone, Copy)]
pub struct DecodingRow<'a> {
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

/// What a decoding step gives.
pub struct Stepped {
    /// Hidden states (n, D).
    pub states: Vec<f32>,
    /// The entry that each row adds to its history.
    pub entries: Vec<u32>,
}

impl Transformer {
    /// Builds one network from its named weights.
    ///
    /// # Errors
    /// [`Error::Model`](crate::Error::Model) where a weight is missing or has another shape.
    pub fn new(hparams: &Hparams, weights: &NetworkWeights) -> Result<Transformer> {
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
            kernels: get(weights, "kernels", "weight")?.to_vec(),
            encoder: Encoder::new(hparams, weights)?,
            tokens: get(weights, "tokens", "weight")?.to_vec(),
            positions: get(weights, "positions", "weight")?.to_vec(),
            features: linears(weights, "features")?,
            weigh: linears(weights, "weigh")?,
            decoder: (0..hparams.decoder_layers).map(decoder).collect::<Result<_>>()?,
            decoder_norm: Norm::new(weights, "decoder.norm")?,
            logits: Linear::new(weights, "logits")?,
            head: match has_reranker(weights.names()) {
                true => OutputHead::Reranker(Box::new(Reranker::new(weights)?)),
                false => OutputHead::State(Linear::new(weights, "head.up")?, Linear::new(weights, "head.down")?),
            },
        })
    }

    /// Encodes `problems` sources (B, W of all tokens) of one kernel.
    pub fn encode(&self, source: &[f32], problems: usize, kernel: usize) -> KvCache {
        let d = self.d;
        let x = self.encoder.encode(source, problems, kernel); // (B S, D)
        let length = self.encoder.length();
        let memory = self.decoder.iter().map(|(_, cross, _)| cross.kv.forward(&x)).collect();
        let summaries = x.chunks_exact(length * d).flat_map(|of_problem| &of_problem[..d]).copied().collect();
        KvCache { memory, summaries, source_length: length, steps: vec![Vec::new(); self.decoder.len()] }
    }

    /// One decoding step of `rows` of one kernel with their `features` (n, F).
    pub fn step(&self, session: &mut KvCache, rows: &[DecodingRow], features: &[f32], kernel: usize) -> Stepped {
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
        Stepped { states: self.decoder_norm.forward(&x), entries: (0..rows.len() as u32).map(|i| first + i).collect() }
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
        matches!(self.head, OutputHead::Reranker(_))
    }

    /// The re-ranker of finished configs, with the summary of one of the session's problems; `None` of a network that learned from
    /// tuned configs.
    pub fn reranker<'a>(&'a self, session: &'a KvCache, problem: usize) -> Option<AskedReranker<'a>> {
        match &self.head {
            OutputHead::Reranker(reranker) => {
                Some(AskedReranker { reranker, summary: &session.summaries[problem * self.d..][..self.d] })
            }
            OutputHead::State(..) => None,
        }
    }

    /// The time (n) of hidden states (n, D) at "finished", of a network without a re-ranker; nothing of one with.
    pub fn time(&self, hidden: &[f32]) -> Vec<f32> {
        let OutputHead::State(up, down) = &self.head else { return Vec::new() };
        let mut up = up.forward(hidden);
        gelu(&mut up);
        down.forward(&up)
    }
}
