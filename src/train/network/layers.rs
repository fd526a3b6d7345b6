//! The layers that the network is built of, in libtorch. Letters of the shapes as in [`crate::network::transformer`].

use crate::network::tensors::Weights;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::error::{Error, Result};
use tch::{Kind, Tensor};

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
        x.layer_norm(self.weight.size(), Some(&self.weight), Some(&self.bias), 1e-5, false)
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

    /// Attention of each token of `qkv` (N, T, 3 D), but to what is unseen: (N, T, D).
    fn attend(&self, qkv: &Tensor, unseen: Option<&Tensor>) -> Tensor {
        let (n, t, width) = dims(qkv);
        let qkv = qkv.view([n, t, 3, self.heads, width / 3 / self.heads]);
        let qkv = qkv.permute([2, 0, 3, 1, 4]); // (3, N, H, T, D/H)
        merge(&attend(&qkv.get(0), &qkv.get(1), &qkv.get(2), unseen))
    }

    /// Of tokens `x` (N, T, D) that all see each other.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.out.forward(&self.attend(&self.qkv.forward(&self.norm.forward(x)), None))
    }

    /// Of the nodes `x` (B, M, D) of trees, each of which sees what stands before it on its path, and itself.
    pub(crate) fn along(&self, x: &Tensor, paths: &Paths) -> Tensor {
        let (b, m, d) = dims(x);
        let (n, t) = (paths.nodes.size()[0], paths.nodes.size()[1]);
        let qkv = self.qkv.forward(&self.norm.forward(x)).view([b * m, 3 * d]);
        let of_paths = qkv.index_select(0, &paths.nodes.reshape([-1])).view([n, t, 3 * d]);
        let of_nodes = self.attend(&of_paths, Some(&paths.later)).view([n * t, d]).index_select(0, &paths.homes);
        self.out.forward(&of_nodes).view([b, m, d])
    }
}

/// The ways through trees of B M nodes: N of them, of T nodes at most. Attention along them costs T for each node; among all nodes of a
/// tree, M.
pub struct Paths {
    /// By way and step, the node, counted through the batch; any behind its end: (N, T).
    pub nodes: Tensor,
    /// True where a step is later than another: (T, T).
    pub later: Tensor,
    /// By node, a way and step where it stands, counted through (N, T): (B M).
    pub homes: Tensor,
}

/// Attention to the encoder's memory, whose keys and values are projected once per problem.
pub(crate) struct CrossAttention {
    norm: Norm,
    q: Linear,
    kv: Linear,
    out: Linear,
    heads: i64,
}

impl CrossAttention {
    pub(crate) fn new(weights: &Weights, name: &str, heads: i64) -> Result<CrossAttention> {
        Ok(CrossAttention {
            norm: Norm::new(weights, &format!("{name}.norm"))?,
            q: Linear::new(weights, &format!("{name}.q"))?,
            kv: Linear::new(weights, &format!("{name}.kv"))?,
            out: Linear::new(weights, &format!("{name}.out"))?,
            heads,
        })
    }

    /// Keys and values, each (B, H, S, D/H), of `memory` (B, S, D).
    pub(crate) fn remember(&self, memory: &Tensor) -> (Tensor, Tensor) {
        let (b, s, d) = dims(memory);
        let kv = self.kv.forward(memory).view([b, s, 2, self.heads, d / self.heads]).permute([2, 0, 3, 1, 4]);
        (kv.get(0).contiguous(), kv.get(1).contiguous())
    }

    /// `x` (B, M, D).
    pub(crate) fn forward(&self, x: &Tensor, (k, v): &(Tensor, Tensor)) -> Tensor {
        let (b, m, d) = dims(x);
        let q = self.q.forward(&self.norm.forward(x)).view([b, m, self.heads, d / self.heads]);
        self.out.forward(&merge(&attend(&q.transpose(1, 2), k, v, None)))
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
        let mut bytes = vec![0u8; (n * d) as usize];
        self.rng.fill_bytes(&mut bytes);
        let limit = (self.share * 256.0).round();
        let kept = (256.0 / (256.0 - limit)) as f32;
        let mask: Vec<f32> = bytes.iter().map(|b| if (*b as f64) < limit { 0.0 } else { kept }).collect();
        x * Tensor::from_slice(&mask).reshape([n, 1, d]).to_kind(x.kind())
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

/// Softmax attention of `q` to `k` and `v` (.., H, .., D/H), but for what is unseen.
pub(crate) fn attend(q: &Tensor, k: &Tensor, v: &Tensor, unseen: Option<&Tensor>) -> Tensor {
    if q.kind() == Kind::Float {
        let seen = unseen.map(Tensor::logical_not);
        return Tensor::scaled_dot_product_attention(q, k, v, seen.as_ref(), 0.0, false, None, false);
    }
    // in bfloat16 libtorch's own goes through a library call per head and problem
    let q = q * (1.0 / (q.size()[3] as f64).sqrt());
    let mut scores = q.matmul(&k.transpose(-1, -2)); // (N, H, T, S)
    if let Some(unseen) = unseen {
        // added, not filled in: that is vectorised, and its gradient is free
        scores += Tensor::zeros(unseen.size(), (q.kind(), q.device())).masked_fill(unseen, f64::NEG_INFINITY);
    }
    scores.softmax(-1, None::<Kind>).matmul(v)
}

/// (N, H, T, D/H) to (N, T, D).
pub(crate) fn merge(x: &Tensor) -> Tensor {
    let size = x.size();
    x.transpose(1, 2).reshape([size[0], size[2], size[1] * size[3]])
}
