//! Names and shapes of a network's weights, as its sizes and its vocabulary imply them: for who draws them and for who reads them.

use crate::features::vocabulary::Vocab;
use crate::model::settings::Hparams;
use crate::network::prefix::{self, LinearLayer};
use crate::network::weights::{NetworkWeights, Weights, has_reranker};
use seqtune_kernel::error::{Result, input};
use std::collections::BTreeMap;

/// The linear layers, in the order in which their weights are drawn.
pub fn linear_layers(hparams: &Hparams, vocab: &Vocab, reranks: bool) -> Vec<LinearLayer> {
    let (d, ff, tokens) = (hparams.width, hparams.feed_forward, vocab.tokens());
    let mut linears: Vec<LinearLayer> = vec![LinearLayer::new("logits", d, tokens)];
    if reranks {
        linears.extend([LinearLayer::new("judge.problem", d, d), LinearLayer::new("judge.out", d, 3)]);
        linears.extend([LinearLayer::new("judge.up", d, ff), LinearLayer::new("judge.down", ff, d)]);
    } else {
        linears.extend([LinearLayer::new("head.up", d, d), LinearLayer::new("head.down", d, 1)]);
    }
    for (i, (step, choice)) in std::iter::zip(vocab.step_widths(), vocab.choice_widths()).enumerate() {
        linears.push(LinearLayer::new(format!("features.{i}"), step, d));
        linears.push(LinearLayer::new(format!("weigh.{i}"), d, choice));
        if reranks {
            linears.push(LinearLayer::new(format!("judge.features.{i}"), choice, d));
        }
    }
    for (side, layers) in [("encoder", hparams.encoder_layers), ("decoder", hparams.decoder_layers)] {
        for i in 0..layers {
            let part = |part: &str| format!("{side}.{i}.{part}");
            linears.push(LinearLayer::new(part("attention.qkv"), d, 3 * d));
            linears.push(LinearLayer::new(part("attention.out"), d, d));
            linears.push(LinearLayer::new(part("feed_forward.up"), d, ff));
            linears.push(LinearLayer::new(part("feed_forward.down"), ff, d));
            if side == "decoder" {
                linears.push(LinearLayer::new(part("cross.q"), d, d));
                linears.push(LinearLayer::new(part("cross.kv"), d, 2 * d));
                linears.push(LinearLayer::new(part("cross.out"), d, d));
            }
        }
    }
    linears
}

/// Names of the layer norms.
pub fn layer_norms(hparams: &Hparams, reranks: bool) -> Vec<String> {
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

/// Shapes of all arrays of one network, by name.
pub fn shapes(hparams: &Hparams, vocab: &Vocab, reranks: bool) -> BTreeMap<String, Vec<usize>> {
    let (d, tokens) = (hparams.width, vocab.tokens());
    let mut shapes = BTreeMap::new();
    let mut add = |name: &str, shape: &[usize]| shapes.insert(name.to_string(), shape.to_vec());
    add("kernels.weight", &[vocab.kernels.len(), d]);
    add("tokens.weight", &[tokens + 1, d]);
    add("positions.weight", &[vocab.parameters.len() + 1, d]);
    for (i, width) in vocab.source_widths().into_iter().enumerate() {
        add(&format!("source.{i}.weight"), &[d, width]);
        add(&format!("source.{i}.bias"), &[d]);
    }
    if reranks {
        add("judge.tokens.weight", &[tokens, d]);
    }
    for LinearLayer { name, inputs, outputs } in linear_layers(hparams, vocab, reranks) {
        add(&format!("{name}.weight"), &[outputs, inputs]);
        add(&format!("{name}.bias"), &[outputs]);
    }
    for name in layer_norms(hparams, reranks) {
        add(&format!("{name}.weight"), &[d]);
        add(&format!("{name}.bias"), &[d]);
    }
    shapes
}

/// Refuses weights that are not those of so many networks, or of a small decoder, or are no finite numbers.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) that names the array.
pub fn check(hparams: &Hparams, vocab: &Vocab, members: usize, distilled: bool, weights: &Weights) -> Result<()> {
    let reranks = has_reranker(NetworkWeights::of_member(weights, 0).names());
    let expected = match distilled {
        true => prefix::shapes(hparams, vocab),
        false => shapes(hparams, vocab, reranks),
    };
    for member in 0..members {
        for (name, shape) in &expected {
            let name = format!("{member}.{name}");
            match weights.get(&name) {
                None => return input(format!("it has no weights `{name}`")),
                Some(array) if array.shape != *shape => {
                    return input(format!("`{name}` has shape {:?}, not {shape:?}", array.shape));
                }
                Some(array) if !array.values.iter().all(|v| v.is_finite()) => {
                    return input(format!("`{name}` holds what is no finite number"));
                }
                Some(_) => {}
            }
        }
    }
    match weights.len() > members * expected.len() {
        true => input("it has weights that belong to none of its networks"),
        false => Ok(()),
    }
}
