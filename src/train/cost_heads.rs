//! What the heads of time and energy say, fitted once more after the weights are chosen.
//!
//! Weights are kept that rank held-out problems best. That is after few passes, when costs are far from learned. Both heads are linear in the re-ranker's last
//! features: ridge regression (Hoerl and Kennard 1970), towards the heads as they are, finds the best of that in one step and changes nothing that ranks.

use crate::ensemble::member::TrainedMember;
use crate::ensemble::score::{Score, score};
use crate::network::tensors::{Weights, libtorch_error};
use crate::network::transformer::Transformer;
use crate::training_data::batch::Batch;
use crate::training_data::{Example, KernelData};
use seqtune_fit::gbdt::cost_weight;
use seqtune_kernel::error::Result;
use seqtune_predict::Hparams;
use seqtune_predict::features::Sequence;
use tch::{Device, Kind, Tensor, no_grad};

/// How strongly the heads are held to what they were: as squares of the distance, beside the squared errors of as many problems.
const HELD: f64 = 1.0;
/// The heads' weights: (3, D) and (3), of which the first two rows say time and energy.
const WEIGHT: &str = "judge.out.weight";
const BIAS: &str = "judge.out.bias";

/// The weights with heads of time and energy that are fitted to the training examples, each only where it errs less on the validation examples.
///
/// # Errors
/// `Error::Failed` where libtorch fails.
pub fn fit(weights: Weights, best: Score, hparams: &Hparams, kernels: &[KernelData]) -> Result<TrainedMember> {
    no_grad(|| {
        let (Some(weight), Some(bias)) = (weights.get(WEIGHT), weights.get(BIAS)) else {
            return Ok(TrainedMember { weights, score: best });
        };
        let heads = Tensor::cat(&[weight, &bias.unsqueeze(1)], 1).to_kind(Kind::Double); // (3, D + 1)
        let net = Transformer::new(hparams, &weights)?;
        let mut sums = [0, 1].map(|_| Sums::new(heads.size()[1]));
        for kernel_data in kernels {
            kernel_data.training.iter().for_each(|example| add(&mut sums, &net, kernel_data, example, &heads));
        }
        let moved = heads.copy();
        for (which, sums) in sums.iter().enumerate() {
            moved.get(which as i64).copy_(&(heads.get(which as i64) + sums.solve()?));
        }
        let with = |rows: [&Tensor; 2]| {
            let all = Tensor::stack(&[&rows[0].get(0), &rows[1].get(1), &heads.get(2)], 0).to_kind(Kind::Float);
            let d = all.size()[1] - 1;
            let mut weights: Weights =
                weights.iter().map(|(name, tensor)| (name.clone(), tensor.shallow_clone())).collect();
            weights.insert(WEIGHT.into(), all.narrow(1, 0, d).contiguous());
            weights.insert(BIAS.into(), all.select(1, d).contiguous());
            weights
        };
        let fitted = score(&Transformer::new(hparams, &with([&moved, &moved]))?, kernels)?;
        let better = |new: Option<f64>, old: Option<f64>| new.zip(old).is_some_and(|(new, old)| new < old);
        let (time, energy) =
            (better(fitted.time_error, best.time_error), better(fitted.energy_error, best.energy_error));
        let chosen = |is_better: bool| if is_better { &moved } else { &heads };
        let score = Score {
            time_error: if time { fitted.time_error } else { best.time_error },
            energy_error: if energy { fitted.energy_error } else { best.energy_error },
            ..best
        };
        Ok(TrainedMember { weights: with([chosen(time), chosen(energy)]), score })
    })
}

/// Adds a problem's configs to what moves the heads of time and energy, where their costs are known. All problems count alike, and of each the fast
/// configs more: they are what is predicted.
fn add(sums: &mut [Sums; 2], net: &Transformer, kernel_data: &KernelData, example: &Example, heads: &Tensor) {
    if example.costs.iter().flatten().all(|cost| cost.is_nan()) {
        return;
    }
    let sequences: Vec<&Sequence> = example.sequences.iter().collect();
    let batch = Batch::new(&kernel_data.featurizer, &[&example.quantities], sequences.len(), &sequences);
    let Some(features) = batch.judge(net) else { return };
    let features = features.to_kind(Kind::Double);
    let features = Tensor::cat(&[&features, &features.narrow(1, 0, 1).ones_like()], 1); // (N, D + 1)
    for (which, sums) in sums.iter_mut().enumerate() {
        let known: Vec<f64> = example.costs.iter().map(|cost| cost[which] as f64).collect();
        let counts = example.cost.iter().zip(&known);
        let counts: Vec<f64> = counts.map(|(c, k)| if k.is_nan() { 0.0 } else { cost_weight(*c) }).collect();
        let all: f64 = counts.iter().sum();
        if all > 0.0 {
            let known: Vec<f64> = known.iter().map(|k| if k.is_nan() { 0.0 } else { *k }).collect();
            let missed =
                Tensor::from_slice(&known).unsqueeze(1) - features.matmul(&heads.get(which as i64).unsqueeze(1));
            sums.add_rows(&features, &(Tensor::from_slice(&counts).unsqueeze(1) / all), &missed);
        }
    }
}

/// Normal equations of what a head is to move by.
struct Sums {
    /// Squares of the features, with 1 as the last: (D + 1, D + 1).
    squares: Tensor,
    /// Products with what the head errs by: (D + 1, 1).
    products: Tensor,
}

impl Sums {
    fn new(columns: i64) -> Sums {
        let zeros = |rows: i64| Tensor::zeros([columns, rows], (Kind::Double, Device::Cpu));
        Sums { squares: zeros(columns), products: zeros(1) }
    }

    /// Adds rows of features (N, D + 1) with how much each counts and what the head errs by (N, 1).
    fn add_rows(&mut self, features: &Tensor, counts: &Tensor, missed: &Tensor) {
        let weighed = (features * counts).transpose(0, 1);
        self.squares += weighed.matmul(features);
        self.products += weighed.matmul(missed);
    }

    /// What the head moves by: (D + 1).
    fn solve(&self) -> Result<Tensor> {
        let held = Tensor::eye(self.squares.size()[0], (Kind::Double, Device::Cpu)) * HELD;
        let solved = Tensor::f_linalg_solve(&(&self.squares + held), &self.products, true).map_err(libtorch_error)?;
        Ok(solved.squeeze_dim(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_moves_to_what_is_missed_and_stays_where_nothing_is_known() {
        tch::manual_seed(1);
        let features = Tensor::randn([400, 4], (Kind::Double, Device::Cpu));
        let right = Tensor::from_slice(&[0.5, -2.0, 0.0, 3.0]);
        let mut sums = Sums::new(4);
        assert_eq!(sums.solve().unwrap().abs().max().double_value(&[]), 0.0);
        sums.add_rows(&features, &features.narrow(1, 0, 1).ones_like(), &features.matmul(&right.unsqueeze(1)));
        let far = (sums.solve().unwrap() - right).abs().max().double_value(&[]);
        assert!(far < 0.02, "{far}");
    }
}
