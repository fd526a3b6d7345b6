//! Named arrays of single precision: what a model's networks are made of.

use std::collections::BTreeMap;

/// Weights by the path of the part that they belong to, as `0.decoder.1.cross.q.weight`.
pub type Weights = BTreeMap<String, Array>;

/// Numbers in row-major order, with their shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Length of each dimension, the outermost first.
    pub shape: Vec<usize>,
    /// As many as the product of the shape.
    pub values: Vec<f32>,
}

/// Beginning of the names of a re-ranker's weights.
pub const RERANKER: &str = "judge.";

/// Whether a network's weights hold a re-ranker; without one, its time head works on the decoder's last state.
pub fn has_reranker(weights: &Weights) -> bool {
    weights.keys().any(|name| name.starts_with(RERANKER))
}

/// The weights of member `i` of a model: those named `i.…`, without that.
pub fn member(weights: &Weights, i: usize) -> Weights {
    let prefix = format!("{i}.");
    weights.iter().filter_map(|(name, array)| Some((name.strip_prefix(&prefix)?.to_string(), array.clone()))).collect()
}
