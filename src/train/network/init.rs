//! Initial weights of a network.

use crate::network::tensors::Weights;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::Hparams;
use seqtune_predict::features::Vocab;
use seqtune_predict::network::prefix::{self, LinearLayer};
use seqtune_predict::network::shapes::{layer_norms, linear_layers};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Random initial weights, uniform, with a re-ranker or with a time head: within 1/sqrt(inputs) for projections, 0.17 (deviation 0.1)
/// for embeddings.
pub fn random_weights(hparams: &Hparams, vocab: &Vocab, reranks: bool, seed: u64) -> Weights {
    let (d, tokens) = (hparams.width as i64, vocab.tokens() as i64);
    let mut init = Initializer { rng: ChaCha8Rng::seed_from_u64(seed), weights: Weights::new() };
    init.uniform("kernels.weight", &[vocab.kernels.len() as i64, d], EMBEDDING);
    init.uniform("tokens.weight", &[tokens + 1, d], EMBEDDING);
    init.uniform("positions.weight", &[vocab.parameters.len() as i64 + 1, d], EMBEDDING);
    for (i, width) in vocab.source_widths().into_iter().enumerate() {
        // most of the numbers of an encoding are 0
        init.uniform(&format!("source.{i}.weight"), &[d, width as i64], bound(8));
        init.uniform(&format!("source.{i}.bias"), &[d], EMBEDDING);
    }
    if reranks {
        init.uniform("judge.tokens.weight", &[tokens, d], EMBEDDING);
    }
    linear_layers(hparams, vocab, reranks).into_iter().for_each(|LinearLayer { name, inputs, outputs }| {
        let (inputs, outputs) = (inputs as i64, outputs as i64);
        init.uniform(&format!("{name}.weight"), &[outputs, inputs], bound(inputs.max(1)));
        init.constant(&format!("{name}.bias"), &[outputs], 0.0);
    });
    layer_norms(hparams, reranks).into_iter().for_each(|name| {
        init.constant(&format!("{name}.weight"), &[d], 1.0);
        init.constant(&format!("{name}.bias"), &[d], 0.0);
    });
    init.weights
}

/// Random initial weights of the small decoder that a model is distilled into, likewise.
pub fn random_small_weights(hparams: &Hparams, vocab: &Vocab, seed: u64) -> Weights {
    let mut init = Initializer { rng: ChaCha8Rng::seed_from_u64(seed), weights: Weights::new() };
    let linears: BTreeMap<String, usize> =
        prefix::linear_layers(hparams, vocab).into_iter().map(|layer| (layer.name, layer.inputs)).collect();
    let norms = prefix::layer_norms(hparams);
    for (name, shape) in prefix::shapes(hparams, vocab) {
        let shape: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
        let (layer, part) = name.rsplit_once('.').unwrap_or((&name, ""));
        match (linears.get(layer), part) {
            _ if norms.iter().any(|norm| norm == layer) => {
                init.constant(&name, &shape, (part == "weight") as u8 as f64)
            }
            (Some(inputs), "weight") => init.uniform(&name, &shape, bound((*inputs).max(1) as i64)),
            (Some(_), _) => init.constant(&name, &shape, 0.0),
            (None, "weight") if layer.starts_with("source.") => init.uniform(&name, &shape, bound(8)),
            (None, _) => init.uniform(&name, &shape, EMBEDDING),
        }
    }
    init.weights
}

/// Bound of the values of embeddings.
const EMBEDDING: f32 = 0.17;

/// Bound of the weights of a projection from so many inputs.
fn bound(inputs: i64) -> f32 {
    1.0 / (inputs as f32).sqrt()
}

/// Random weights while they are drawn.
struct Initializer {
    /// Not libtorch's generator: that one is shared by all threads, and differs between versions.
    rng: ChaCha8Rng,
    weights: Weights,
}

impl Initializer {
    fn uniform(&mut self, name: &str, shape: &[i64], bound: f32) {
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| self.rng.random_range(-bound..bound)).collect();
        self.weights.insert(name.to_string(), Tensor::from_slice(&values).reshape(shape));
    }

    fn constant(&mut self, name: &str, shape: &[i64], value: f64) {
        let tensor = Tensor::full(shape, value, (Kind::Float, tch::Device::Cpu));
        self.weights.insert(name.to_string(), tensor);
    }
}
