//! What ranks configs: opinions of several parts of a model, pooled.
//!
//! Likelihood, re-ranker and trees each give a probability that a config is the best; the pool is a weighted product of that (a logarithmic opinion
//! pool, Genest and Zidek 1986). How much each counts is learned on the problems that chose the networks' weights, because it differs: trees
//! help on A100 mm and hardly on flex_attention (docs/log).

/// Logarithms of how probably a config is the best of those that are compared: by the decoder's likelihood, the re-ranker, and the trees of values
/// and of lists. 0 where a model has no such part.
pub type LogProbs = [f64; 4];

/// How much each of [`LogProbs`] counts.
pub type PoolWeights = [f64; 4];

/// Where nothing was learned.
pub const EQUAL: PoolWeights = [0.25; 4];

/// What an opinion says at least: a probability that was rounded to 0 has no logarithm to weigh.
pub const MIN_LOG_PROBABILITY: f64 = -1e3;

/// What configs are ranked by, the higher the better.
pub fn pooled_score(weights: &PoolWeights, opinions: &LogProbs) -> f64 {
    weights.iter().zip(opinions).map(|(weight, opinion)| weight * opinion.max(MIN_LOG_PROBABILITY)).sum()
}
