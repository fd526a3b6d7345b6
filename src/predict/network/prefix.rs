//! Names and shapes of the weights of the small decoder that a whole model is distilled into.
//!
//! Its encoder is a transformer's. Its decoder has no attention: what a prefix is worth begins as a sum of the problem, of each value chosen and of
//! what the values decide, as in the re-ranker ([`crate::network::reranker`]), and feed-forward blocks make the scores of the next value of it. So
//! a hypothesis that grows by a value adds to a sum, and prefixes share theirs.

use crate::features::vocabulary::Vocab;
use crate::model::settings::Hparams;
use std::collections::BTreeMap;

/// A linear layer.
#[derive(Clone, Debug)]
pub struct LinearLayer {
    /// Its name.
    pub name: String,
    /// Numbers that it takes.
    pub inputs: usize,
    /// Numbers that it gives.
    pub outputs: usize,
}

impl LinearLayer {
    pub(crate) fn new(name: impl Into<String>, inputs: usize, outputs: usize) -> LinearLayer {
        LinearLayer { name: name.into(), inputs, outputs }
    }
}

/// The linear layers, in the order in which their weights are drawn. The layers of the decoder are its blocks.
pub fn linear_layers(hparams: &Hparams, vocab: &Vocab) -> Vec<LinearLayer> {
    let (d, ff, tokens) = (hparams.width, hparams.feed_forward, vocab.tokens());
    let mut linears: Vec<LinearLayer> = vec![LinearLayer::new("logits", d, tokens), LinearLayer::new("problem", d, d)];
    linears.push(LinearLayer::new("costs", d, 2));
    for (i, width) in vocab.choice_widths().into_iter().enumerate() {
        linears.push(LinearLayer::new(format!("features.{i}"), width, d));
        linears.push(LinearLayer::new(format!("weigh.{i}"), d, width));
    }
    for i in 0..hparams.encoder_layers {
        let part = |part: &str| format!("encoder.{i}.{part}");
        linears.push(LinearLayer::new(part("attention.qkv"), d, 3 * d));
        linears.push(LinearLayer::new(part("attention.out"), d, d));
        linears.push(LinearLayer::new(part("feed_forward.up"), d, ff));
        linears.push(LinearLayer::new(part("feed_forward.down"), ff, d));
    }
    for i in 0..hparams.decoder_layers {
        linears.push(LinearLayer::new(format!("block.{i}.up"), d, ff));
        linears.push(LinearLayer::new(format!("block.{i}.down"), ff, d));
    }
    linears
}

/// Names of the layer norms.
pub fn layer_norms(hparams: &Hparams) -> Vec<String> {
    let encoder = (0..hparams.encoder_layers)
        .flat_map(|i| ["attention", "feed_forward"].map(|p| format!("encoder.{i}.{p}.norm")));
    let blocks = (0..hparams.decoder_layers).map(|i| format!("block.{i}.norm"));
    encoder.chain(blocks).chain(["encoder.norm".into(), "norm_out".into()]).collect()
}

/// Shapes of all arrays, by name.
pub fn shapes(hparams: &Hparams, vocab: &Vocab) -> BTreeMap<String, Vec<usize>> {
    let (d, tokens) = (hparams.width, vocab.tokens());
    let mut shapes = BTreeMap::new();
    let mut add = |name: &str, shape: &[usize]| shapes.insert(name.to_string(), shape.to_vec());
    add("kernels.weight", &[vocab.kernels.len(), d]);
    add("tokens.weight", &[tokens, d]);
    add("positions.weight", &[vocab.parameters.len() + 1, d]);
    for (i, width) in vocab.source_widths().into_iter().enumerate() {
        add(&format!("source.{i}.weight"), &[d, width]);
        add(&format!("source.{i}.bias"), &[d]);
    }
    for LinearLayer { name, inputs, outputs } in linear_layers(hparams, vocab) {
        add(&format!("{name}.weight"), &[outputs, inputs]);
        add(&format!("{name}.bias"), &[outputs]);
    }
    for name in layer_norms(hparams) {
        add(&format!("{name}.weight"), &[d]);
        add(&format!("{name}.bias"), &[d]);
    }
    shapes
}
