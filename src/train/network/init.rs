//! Initial weights of a network.

use crate::network::tensors::Weights;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::settings::Hparams;
use seqtune_predict::vocab::Vocab;
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
    linear_layers(hparams, vocab, reranks).into_iter().for_each(|(name, inputs, outputs)| {
        init.uniform(&format!("{name}.weight"), &[outputs, inputs], bound(inputs.max(1)));
        init.constant(&format!("{name}.bias"), &[outputs], 0.0);
    });
    layer_norms(hparams, reranks).into_iter().for_each(|name| {
        init.constant(&format!("{name}.weight"), &[d], 1.0);
        init.constant(&format!("{name}.bias"), &[d], 0.0);
    });
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

/// Names, inputs and outputs of the linear layers, in the order in which their weights are drawn.
fn linear_layers(hparams: &Hparams, vocab: &Vocab, reranks: bool) -> Vec<(String, i64, i64)> {
    let (d, ff, tokens) = (hparams.width as i64, hparams.feed_forward as i64, vocab.tokens() as i64);
    let mut linears: Vec<(String, i64, i64)> = vec![("logits".into(), d, tokens)];
    if reranks {
        linears.extend([("judge.problem".into(), d, d), ("judge.out".into(), d, 3)]);
        linears.extend([("judge.up".into(), d, ff), ("judge.down".into(), ff, d)]);
    } else {
        linears.extend([("head.up".into(), d, d), ("head.down".into(), d, 1)]);
    }
    for (i, (step, choice)) in std::iter::zip(vocab.step_widths(), vocab.choice_widths()).enumerate() {
        linears.push((format!("features.{i}"), step as i64, d));
        linears.push((format!("weigh.{i}"), d, choice as i64));
        if reranks {
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
            if side == "decoder" {
                linears.push((part("cross.q"), d, d));
                linears.push((part("cross.kv"), d, 2 * d));
                linears.push((part("cross.out"), d, d));
            }
        }
    }
    linears
}

/// Names of the layer norms.
fn layer_norms(hparams: &Hparams, reranks: bool) -> Vec<String> {
    let mut norms = vec!["encoder.norm".to_string(), "decoder.norm".to_string()];
    if reranks {
        norms.extend(["judge.norm", "judge.norm_out"].map(String::from));
    }
    let parts = |side: &str, layers: usize, parts: &[&str]| -> Vec<String> {
        (0..layers)
            .flat_map(|i| parts.iter().map(move |part| format!("{i}.{part}.norm")))
            .map(|part| format!("{side}.{part}"))
            .collect()
    };
    norms.extend(parts("encoder", hparams.encoder_layers, &["attention", "feed_forward"]));
    norms.extend(parts("decoder", hparams.decoder_layers, &["attention", "feed_forward", "cross"]));
    norms
}
