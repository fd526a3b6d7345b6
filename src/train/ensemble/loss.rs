//! What the judge of finished configs is trained by.
//!
//! Letters of the shapes: B problems, R rows (configs) per problem, N = B R.

use seqtune_data::learnable::{FALL, LEVELS};
use tch::{Kind, Reduction, Tensor};

/// The rank of a row that only fills up a problem's rows.
pub const FILLER: f64 = -1e9;

/// Listwise cross-entropy (Cao et al. 2007): `rank` (B, R) is to be distributed over the problem's configs as `target` (B, R) is. Mean over
/// the problems, in nats.
pub fn listwise(rank: &Tensor, target: &Tensor) -> Tensor {
    -(rank.log_softmax(1, Kind::Float) * target).sum(None) / target.size()[0] as f64
}

/// What is wrong with the order by `rank` (B, R) of configs that cost so many times the best (B, R): each pair in the wrong order counts as
/// much as exchanging the two would change the discounted gain (LambdaLoss, Wang et al. 2018). Mean over the problems.
///
/// The listwise loss cares for the best; this one also for who comes second and third: it makes the best of short lists better (docs/log).
pub fn pairwise(rank: &Tensor, cost: &Tensor) -> Tensor {
    let real = rank.gt(FILLER / 2.0).to_kind(Kind::Float); // (B, R)
    let relevance = ((cost - 1.0) * (-1.0 / FALL)).exp() * LEVELS;
    let gain = relevance.exp2() * &real;
    let place = Tensor::arange(rank.size()[1], (Kind::Float, tch::Device::Cpu));
    let ideal = (gain.sort(1, true).0 / (place + 2.0).log2()).sum_dim_intlist(1, true, Kind::Float);
    let gain = gain / ideal;
    // places by rank, from 0
    let place = rank.detach().argsort(1, true).argsort(1, false).to_kind(Kind::Float);
    let discount = (place + 2.0).log2().reciprocal();
    let between = |x: &Tensor| x.unsqueeze(2) - x.unsqueeze(1); // (B, R, R)
    let changes = between(&gain).clamp_min(0.0) * between(&discount).abs() * real.unsqueeze(1);
    let ahead = between(rank).clamp(-50.0, 50.0);
    ((-ahead).softplus() * changes).sum(None) / rank.size()[0] as f64
}

/// How far what a head says (N) is from what is `known`, in natural logarithms over `deviation`, NaN where it is not: the mean
/// Huber loss, and, where a problem has several configs, beside it that of the differences between them, counted in tenths: what the level
/// of a problem hides, and what is chosen by.
pub fn costs(predicted: &Tensor, known: &[f32], shape: [i64; 2], deviation: f64) -> Option<Tensor> {
    let count = known.iter().filter(|k| !k.is_nan()).count() as f64;
    if count == 0.0 {
        return None;
    }
    let mask: Vec<f32> = known.iter().map(|k| !k.is_nan() as u8 as f32).collect();
    let known: Vec<f32> = known.iter().map(|k| if k.is_nan() { 0.0 } else { *k }).collect();
    let mask = Tensor::from_slice(&mask).view(shape);
    let error = (predicted.view(shape) - Tensor::from_slice(&known).view(shape)) * &mask; // (B, R)
    let huber = |error: &Tensor| error.huber_loss(&error.zeros_like(), Reduction::Sum, 1.0) / count;
    let mut loss = huber(&error);
    if shape[1] > 1 {
        let of_problem = mask.sum_dim_intlist(1, true, Kind::Float).clamp_min(1.0);
        let mean = error.sum_dim_intlist(1, true, Kind::Float) / of_problem;
        loss += huber(&((error - mean) * &mask * (10.0 * deviation)));
    }
    Some(loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f32]) -> Tensor {
        Tensor::from_slice(values).view([1, -1])
    }

    #[test]
    fn the_right_order_costs_least_and_a_filler_nothing() {
        let cost = rows(&[1.0, 1.1, 1.5]);
        let predicted = |rank: &[f32]| pairwise(&rows(rank), &cost).double_value(&[]);
        let orders = [[3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]].map(|rank| predicted(&rank));
        assert!(orders.is_sorted(), "{orders:?}");
        let filled = pairwise(&rows(&[2.0, 3.0, 1.0, FILLER as f32]), &rows(&[1.0, 1.1, 1.5, 1.0]));
        assert!((filled.double_value(&[]) - orders[2]).abs() < 1e-6, "{filled:?} {orders:?}");
    }

    #[test]
    fn gradients_raise_the_better_of_a_pair_and_lower_the_other() {
        let rank = rows(&[0.0, 1.0]).set_requires_grad(true);
        pairwise(&rank, &rows(&[1.0, 1.2])).backward();
        let gradient = Vec::<f32>::try_from(rank.grad().view([-1])).unwrap();
        assert!(gradient[0] < 0.0 && (gradient[0] + gradient[1]).abs() < 1e-6, "{gradient:?}");
    }

    #[test]
    fn a_rank_distributed_as_the_target_costs_its_entropy() {
        let target = rows(&[0.5, 0.25, 0.25]);
        let loss = listwise(&target.log(), &target).double_value(&[]);
        assert!((loss - 1.5 * std::f64::consts::LN_2).abs() < 1e-6, "{loss}");
    }
}
