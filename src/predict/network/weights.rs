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

/// Whether weights of these names hold a re-ranker; without one, a network's time head works on the decoder's last state.
pub fn has_reranker<S: AsRef<str>>(mut names: impl Iterator<Item = S>) -> bool {
    names.any(|name| name.as_ref().starts_with(RERANKER))
}

/// The weights of one network, borrowed, by the path of the part that they belong to, as `decoder.1.cross.q.weight`.
pub struct NetworkWeights<'a> {
    all: &'a Weights,
    /// The network's index with a dot, before each path.
    prefix: String,
}

impl<'a> NetworkWeights<'a> {
    /// Those of member `i` of a model.
    pub fn of_member(all: &'a Weights, i: usize) -> NetworkWeights<'a> {
        NetworkWeights { all, prefix: format!("{i}.") }
    }

    /// The array `name.part`.
    pub fn get(&self, name: &str, part: &str) -> Option<&'a Array> {
        self.all.get(&format!("{}{name}.{part}", self.prefix))
    }

    /// Paths of all arrays.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.all.keys().filter_map(|name| name.strip_prefix(&self.prefix))
    }
}

/// The weights of member `i` of a model: those named `i.…`, without that.
pub fn member(weights: &Weights, i: usize) -> Weights {
    let prefix = format!("{i}.");
    weights.iter().filter_map(|(name, array)| Some((name.strip_prefix(&prefix)?.to_string(), array.clone()))).collect()
}
