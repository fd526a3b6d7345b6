//! Softmax, and the soft target that costs make.

use seqtune_kernel::elementary::exp;

/// Softmax of `scores` divided by `temperature`; sums to 1.
pub fn softmax(scores: &[f64], temperature: f64) -> Vec<f64> {
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|s| exp((s - highest) / temperature)).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

/// The target over configs of these costs relative to the best, which come best first: p ~ exp(-(cost - 1) / tau), or,
/// without tau, all on the best.
pub fn distribution(cost: &[f64], tau: Option<f64>) -> Vec<f32> {
    let weight = |(i, cost): (usize, &f64)| match tau {
        Some(tau) => exp(-(cost - 1.0) / tau),
        None => (i == 0) as u8 as f64,
    };
    let weights: Vec<f64> = cost.iter().enumerate().map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| (w / total) as f32).collect()
}
