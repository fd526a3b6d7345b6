//! How far a loss may be above the predicted one, by problems that were measured and not learned from.

use crate::losses::{LossOptions, LossTable};
use crate::points::Points;
use seqtune_kernel::error::Result;
use seqtune_predict::{Config, Device, Kernel, Problem};

/// Share of the problems in which a stated loss may be exceeded.
pub const EXCEEDED: f64 = 0.05;
/// Problems that a margin is learned from at least.
pub const LEAST_PROBLEMS: usize = 5;

/// What a config of a problem loses against the best one, as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPair {
    /// As predicted.
    pub predicted: f64,
    /// As measured.
    pub measured: f64,
}

/// Puts predicted beside measured losses of one problem; `measured` are those of `configs`, in their order.
///
/// # Errors
/// As [`Points::expect`].
pub fn loss_pairs(
    kernel: &Kernel,
    device: &Device,
    points: &dyn Points,
    problem: &Problem,
    configs: &[Config],
    measured: &[f64],
) -> Result<Vec<LossPair>> {
    let problems = std::slice::from_ref(problem);
    let table = LossTable::for_candidates(kernel, device, points, problems, configs, &LossOptions::default())?;
    let pairs = table.losses[0].iter().zip(measured);
    Ok(pairs.map(|(predicted, measured)| LossPair { predicted: *predicted, measured: *measured }).collect())
}

/// What is added to a predicted loss so that the measured one is above the sum in a twentieth of the problems, by configs whose predicted loss
/// is within a bound (split conformal prediction, Papadopoulos et al. 2002). Problems count alike, whatever their number of configs.
///
/// `None` of fewer than five problems.
pub fn margin(problems: &[Vec<LossPair>], bound: f64) -> Option<f64> {
    if problems.len() < LEAST_PROBLEMS {
        return None;
    }
    let mut excesses: Vec<Excess> = Vec::new();
    for own in problems {
        let within: Vec<&LossPair> = own.iter().filter(|pair| pair.predicted <= bound).collect();
        let weight = 1.0 / within.len().max(1) as f64;
        excesses.extend(within.iter().map(|pair| Excess { log: pair.measured - pair.predicted, weight }));
    }
    excesses.sort_by(|a, b| a.log.total_cmp(&b.log));
    // one more problem than there are stands for the one that is asked about
    let wanted = (1.0 - EXCEEDED) * (problems.len() + 1) as f64;
    let mut sum = 0.0;
    let found = excesses.iter().find(|excess| {
        sum += excess.weight;
        // ten tenths add up to a little less than one
        sum >= wanted - 1e-9
    });
    found.or(excesses.last()).map(|excess| excess.log.max(0.0))
}

/// How far a measured loss is above the predicted one, and how much that counts.
struct Excess {
    log: f64,
    weight: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_exceeded_by_a_twentieth_of_the_problems_however_many_configs_each_has() {
        // problem `at` is off by `at`, and every second has ten configs that say so
        let problem = |at: usize| {
            let pair = LossPair { predicted: 0.0, measured: at as f64 };
            let far = LossPair { predicted: 2.0, measured: 1000.0 };
            [vec![pair; if at.is_multiple_of(2) { 10 } else { 1 }], vec![far]].concat()
        };
        let problems: Vec<Vec<LossPair>> = (1..=99).map(problem).collect();
        assert_eq!(margin(&problems, 1.0), Some(95.0));
        assert_eq!(margin(&problems[..4], 1.0), None);
        assert_eq!(margin(&problems[..10], 1.0), Some(10.0), "the largest of few");
        let quick = vec![vec![LossPair { predicted: 0.5, measured: 0.0 }]; 30];
        assert_eq!(margin(&quick, 1.0), Some(0.0), "never below the predicted loss");
    }
}
