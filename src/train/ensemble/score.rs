//! How well a network predicts the validation problems.

use crate::network::tensors::numbers;
use crate::network::transformer::Transformer;
use crate::training_data::KernelData;
use crate::training_data::batch::{Batch, Forward};
use seqtune_kernel::error::Result;
use seqtune_predict::features::{Scale, Sequence};
use serde::{Deserialize, Serialize};
use tch::Kind;

/// How well held-out problems are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// In nats: Kullback-Leibler divergence from the soft target among the measured configs, or, where one config is known, how
    /// improbable it was. The criterion that keeps weights.
    pub divergence: f64,
    /// Mean share of the best speed of the most probable measured config; where one is known, share of problems that a greedy
    /// search gets right.
    pub share: f64,
    /// Root mean square error of the time head in natural logarithms, where times are known.
    pub time_error: Option<f64>,
    /// The same of the energy head.
    #[serde(default)]
    pub energy_error: Option<f64>,
}

/// Scores a network on the validation examples of all kernels.
///
/// # Errors
/// `Error::Failed` where libtorch does not give its numbers.
pub fn score(net: &Transformer, kernels: &[KernelData]) -> Result<Score> {
    let (mut divergence, mut share, mut count) = (0.0, 0.0, 0.0);
    let (mut errors, mut counts) = ([0f64; 2], [0f64; 2]);
    for kernel_data in kernels {
        // problems with one known config go together, swept ones each alone
        let together = if kernel_data.rows == 1 { kernel_data.batch } else { 1 };
        for chunk in kernel_data.validation.chunks(together) {
            let sequences: Vec<&Sequence> = chunk.iter().flat_map(|e| &e.sequences).collect();
            let sources: Vec<&[f32]> = chunk.iter().map(|e| e.quantities.as_slice()).collect();
            let rows = sequences.len() / chunk.len();
            let batch = Batch::new(&kernel_data.featurizer, &sources, rows, &sequences);
            let Forward { decoded, scores } = batch.forward(net);
            let mut log = batch.take_chosen(&decoded.log).sum_dim_intlist(1, false, Kind::Float);
            if kernel_data.rows == 1 {
                share += batch.greedy_exact(&decoded.log)?;
            } else {
                // the probability among the measured configs, by likelihood and rank together: what a replay ranks by
                if let Some(rank) = &scores.rank {
                    log = (log + rank) / 2.0;
                }
                log = &log - log.logsumexp([0], true);
            }
            let log = numbers(&log)?;
            for (log, p) in log.iter().zip(chunk.iter().flat_map(|e| &e.target)).filter(|(_, p)| **p > 0.0) {
                let p = *p as f64;
                divergence += p * (p.ln() - *log as f64);
            }
            for (which, predicted) in [scores.time, scores.energy].into_iter().enumerate() {
                let Some(predicted) = predicted else { continue };
                let known = chunk.iter().flat_map(|e| &e.costs).map(|c| c[which]);
                for (predicted, known) in numbers(&predicted)?.iter().zip(known).filter(|(_, k)| !k.is_nan()) {
                    errors[which] += (predicted - known).powi(2) as f64;
                    counts[which] += 1.0;
                }
            }
            if kernel_data.rows > 1 {
                let chosen = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b])).unwrap_or(0);
                share += 1.0 / chunk[0].cost[chosen];
            }
            count += chunk.len() as f64;
        }
    }
    let vocab = kernels.first().map(|l| &l.featurizer.vocab);
    let error = |which: usize, scale: Option<&Scale>| {
        Some((errors[which] / counts[which]).sqrt() * scale?.deviation).filter(|_| counts[which] > 0.0)
    };
    Ok(Score {
        divergence: divergence / count,
        share: share / count,
        time_error: error(0, vocab.and_then(|v| v.rate.as_ref())),
        energy_error: error(1, vocab.and_then(|v| v.efficiency.as_ref())),
    })
}
