//! The layers that the network is built of, in libtorch. Letters of the shapes as in [`crate::network::transformer`].

use crate::network::tensors::Weights;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::{Error, Result};
use seqtune_predict::network::simd::EPSILON;
use tch::Tensor;

pub(crate) struct Linear {
    pub(crate) weight: Tensor, // (out, in)
    pub(crate) bias: Tensor,   // (out)
}

impl Linear {
    pub(crate) fn new(weights: &Weights, name: &str) -> Result<Linear> {
        Ok(Linear { weight: get(weights, name, "weight")?, bias: get(weights, name, "bias")? })
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.weight, Some(&self.bias))
    }
}

pub(crate) struct Norm {
    pub(crate) weight: Tensor, // (D)
    pub(crate) bias: Tensor,   // (D)
}

impl Norm {
    pub(crate) fn new(weights: &Weights, name: &str) -> Result<Norm> {
        Ok(Norm { weight: get(weights, name, "weight")?, bias: get(weights, name, "bias")? })
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x.layer_norm(self.weight.size(), Some(&self.weight), Some(&self.bias), EPSILON.into(), false)
    }
}

pub(crate) struct FeedForward {
    norm: Norm,
    up: Linear,
    down: Linear,
}

impl FeedForward {
    pub(crate) fn new(weights: &Weights, name: &str) -> Result<FeedForward> {
        Ok(FeedForward {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            up: Linear::new(weights, &format!("{name}.up"))?,
            down: Linear::new(weights, &format!("{name}.down"))?,
        })
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.down.forward(&self.up.forward(&self.norm.forward(x)).gelu("none"))
    }
}

/// Self-attention with query, key and value from one projection.
pub(crate) struct SelfAttention {
    norm: Norm,
    qkv: Linear,
    out: Linear,
    heads: i64,
}

impl SelfAttention {
    pub(crate) fn new(weights: &Weights, name: &str, heads: i64) -> Result<SelfAttention> {
        Ok(SelfAttention {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            qkv: Linear::new(weights, &format!("{name}.qkv"))?,
            out: Linear::new(weights, &format!("{name}.out"))?,
            heads,
        })
    }

    /// Of tokens `x` (N, T, D) that all see each other.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let (n, t, d) = dims(x);
        let qkv = self.qkv.forward(&self.norm.forward(x)).view([n, t, 3, self.heads, d / self.heads]);
        let qkv = qkv.permute([2, 0, 3, 1, 4]); // (3, N, H, T, D/H)
        let (q, k, v) = (qkv.get(0), qkv.get(1), qkv.get(2));
        let out = Tensor::scaled_dot_product_attention(&q, &k, &v, None::<&Tensor>, 0.0, false, None, false);
        self.out.forward(&out.transpose(1, 2).reshape([n, t, d]))
    }
}

/// Leaves out a share of a layer's outputs, the same ones at all tokens of a sequence: fewer random numbers, and as good. Not
/// libtorch's, whose generator all threads share.
pub struct Dropout {
    share: f64,
    rng: ChaCha8Rng,
}

impl Dropout {
    /// Dropout of a share of the numbers; `None` where the share is 0.
    pub fn new(share: f64, seed: u64) -> Option<Dropout> {
        (share > 0.0).then(|| Dropout { share, rng: ChaCha8Rng::seed_from_u64(seed) })
    }

    /// `x` (N, T, D) with outputs left out, the others scaled so that the mean stays.
    pub(crate) fn apply(&mut self, x: &Tensor) -> Tensor {
        let (n, _, d) = dims(x);
        x * Tensor::from_slice(&self.mask((n * d) as usize)).reshape([n, 1, d])
    }

    /// Factors of so many outputs: 0 where one is left out.
    pub(crate) fn mask(&mut self, count: usize) -> Vec<f32> {
        let mut bytes = vec![0u8; count];
        self.rng.fill_bytes(&mut bytes);
        let limit = (self.share * 256.0).round();
        let kept = (256.0 / (256.0 - limit)) as f32;
        bytes.iter().map(|b| if (*b as f64) < limit { 0.0 } else { kept }).collect()
    }
}

/// The parts `name.0`, `name.1`, and so on.
pub(crate) fn linears(weights: &Weights, name: &str) -> Result<Vec<Linear>> {
    let is_part = |i: &usize| weights.contains_key(&format!("{name}.{i}.weight"));
    (0..).take_while(is_part).map(|i| Linear::new(weights, &format!("{name}.{i}"))).collect()
}

pub(crate) fn get(weights: &Weights, name: &str, part: &str) -> Result<Tensor> {
    match weights.get(&format!("{name}.{part}")) {
        Some(tensor) => Ok(tensor.shallow_clone()),
        None => Err(Error::Input(format!(
            "the model has no weights `{name}.{part}`: the file is damaged or of another version"
        ))),
    }
}

pub(crate) fn dims(x: &Tensor) -> (i64, i64, i64) {
    let size = x.size();
    (size[0], size[1], size[2])
}
