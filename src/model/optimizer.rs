//! AdamW (Loshchilov and Hutter 2019) with averaged weights, over named tensors, so that its state can be saved.

use super::net::Weights;
use tch::{Tensor, no_grad};

/// Optimizer state. All maps have the names of the weights.
pub struct AdamW {
    pub first: Weights,
    pub second: Weights,
    /// Exponential average of the weights: what is validated and kept.
    pub average: Weights,
    pub step: i64,
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.98;
const AVERAGE: f64 = 0.998;

fn zeros(weights: &Weights) -> Weights {
    weights.iter().map(|(name, w)| (name.clone(), w.zeros_like())).collect()
}

/// A deep copy that no gradient flows through.
pub fn copy(weights: &Weights) -> Weights {
    weights.iter().map(|(name, w)| (name.clone(), w.detach().copy())).collect()
}

impl AdamW {
    pub fn new(weights: &Weights) -> AdamW {
        AdamW { first: zeros(weights), second: zeros(weights), average: copy(weights), step: 0 }
    }

    /// One update from the gradients, clipped to norm 1; returns the norm before clipping. Matrices decay, vectors do not.
    pub fn update(&mut self, weights: &mut Weights, rate: f64, decay: f64) -> f64 {
        self.step += 1;
        // what the loss of this batch did not depend on has no gradient
        let has_gradient = |w: &Tensor| w.grad().defined();
        let norm = weights
            .values()
            .filter(|w| has_gradient(w))
            .map(|w| w.grad().square().sum(None).double_value(&[]))
            .sum::<f64>()
            .sqrt();
        let clip = (1.0 / norm.max(1e-12)).min(1.0);
        let (correct1, correct2) = (1.0 - BETA1.powf(self.step as f64), 1.0 - BETA2.powf(self.step as f64));
        // early averages would keep the random start
        let keep = AVERAGE.min((1.0 + self.step as f64) / (10.0 + self.step as f64));
        no_grad(|| {
            for (name, weight) in weights.iter_mut().filter(|(_, w)| has_gradient(w)) {
                let (Some(m), Some(v), Some(mean)) =
                    (self.first.get_mut(name), self.second.get_mut(name), self.average.get_mut(name))
                else {
                    continue;
                };
                let gradient = weight.grad() * clip;
                *m = &*m * BETA1 + &gradient * (1.0 - BETA1);
                *v = &*v * BETA2 + gradient.square() * (1.0 - BETA2);
                let step: Tensor = (&*m / correct1) / ((&*v / correct2).sqrt() + 1e-8);
                if weight.dim() > 1 {
                    let _ = weight.g_mul_scalar_(1.0 - rate * decay);
                }
                let _ = weight.g_sub_(&(step * rate));
                *mean = &*mean * keep + &*weight * (1.0 - keep);
                weight.zero_grad();
            }
        });
        norm
    }
}
