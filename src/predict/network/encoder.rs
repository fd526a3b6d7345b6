//! The encoder of a problem, for prediction: a pre-norm transformer on plain slices. Letters of the shapes as in [`crate::network::transformer`].

use crate::model::settings::Hparams;
use crate::network::dense::{Linear, Norm, add, get, linears};
use crate::network::simd::{KeysValues, Rows, RowsMut, Sizes, attend, gelu, product};
use crate::network::weights::NetworkWeights;
use seqtune_kernel::error::Result;

pub(crate) struct FeedForward {
    pub(crate) norm: Norm,
    up: Linear,
    down: Linear,
}

pub(crate) struct SelfAttention {
    pub(crate) norm: Norm,
    pub(crate) qkv: Linear,
    pub(crate) out: Linear,
}

impl FeedForward {
    pub(crate) fn new(weights: &NetworkWeights, name: &str) -> Result<FeedForward> {
        Ok(FeedForward {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            up: Linear::new(weights, &format!("{name}.up"))?,
            down: Linear::new(weights, &format!("{name}.down"))?,
        })
    }

    pub(crate) fn forward(&self, x: &mut [f32]) {
        let mut up = self.up.forward(&self.norm.forward(x));
        gelu(&mut up);
        add(x, &self.down.forward(&up));
    }
}

impl SelfAttention {
    pub(crate) fn new(weights: &NetworkWeights, name: &str) -> Result<SelfAttention> {
        Ok(SelfAttention {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            qkv: Linear::new(weights, &format!("{name}.qkv"))?,
            out: Linear::new(weights, &format!("{name}.out"))?,
        })
    }
}

/// Source tokens to a memory.
pub(crate) struct Encoder {
    d: usize,
    heads: usize,
    source: Vec<Linear>,
    kernels: Vec<f32>,
    layers: Vec<(SelfAttention, FeedForward)>,
    norm: Norm,
}

impl Encoder {
    pub(crate) fn new(hparams: &Hparams, weights: &NetworkWeights) -> Result<Encoder> {
        let layer = |i: usize| -> Result<_> {
            let part = |part: &str| format!("encoder.{i}.{part}");
            let attention = SelfAttention::new(weights, &part("attention"))?;
            Ok((attention, FeedForward::new(weights, &part("feed_forward"))?))
        };
        Ok(Encoder {
            d: hparams.width,
            heads: hparams.heads,
            source: linears(weights, "source")?,
            kernels: get(weights, "kernels", "weight")?.to_vec(),
            layers: (0..hparams.encoder_layers).map(layer).collect::<Result<_>>()?,
            norm: Norm::new(weights, "encoder.norm")?,
        })
    }

    /// Tokens of a problem, S: those of its source, and the kernel's.
    pub(crate) fn length(&self) -> usize {
        self.source.len() + 1
    }

    /// Encodes `problems` sources (B, W of all tokens) of one kernel: (B S, D), the kernel's token before those of the source.
    pub(crate) fn encode(&self, source: &[f32], problems: usize, kernel: usize) -> Vec<f32> {
        let d = self.d;
        let length = self.length();
        let numbers = source.len() / problems;
        let mut x: Vec<f32> = Vec::with_capacity(problems * length * d);
        for _ in 0..problems {
            x.extend_from_slice(&self.kernels[kernel * d..][..d]);
            self.source.iter().for_each(|token| x.extend_from_slice(&token.bias));
        }
        let mut first = 0;
        for (i, token) in self.source.iter().enumerate() {
            let width = token.weight.len() / d;
            let out = RowsMut { numbers: &mut x[(i + 1) * d..], stride: length * d };
            let rows = Rows { numbers: &source[first..], stride: numbers };
            product(Sizes { m: problems, k: width, n: d }, rows, &token.weight, out);
            first += width;
        }
        let (mut entries, mut scores) = (Vec::new(), vec![0.0; length]);
        for (attention, feed_forward) in &self.layers {
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
        self.norm.forward(&x)
    }

    /// What it makes of the kernel's token (D) beside the source of one problem.
    pub(crate) fn summary(&self, source: &[f32], kernel: usize) -> Vec<f32> {
        let mut x = self.encode(source, 1, kernel);
        x.truncate(self.d);
        x
    }
}
