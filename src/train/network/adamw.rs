//! AdamW (Loshchilov and Hutter 2019) with averaged weights, over named tensors, so that its state can be saved.

use crate::network::tensors::{Weights, slice, slice_mut};
use tch::Tensor;

/// Optimizer state. All maps have the names of the weights.
pub struct AdamW {
    /// Averages of the gradients.
    pub first: Weights,
    /// Averages of their squares.
    pub second: Weights,
    /// Exponential average of the weights: what is validated and kept.
    pub average: Weights,
    /// Updates done.
    pub step: i64,
}

/// Updates over which the learning rate rises.
const WARM_UP: f64 = 50.0;

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
    /// The state before the first update.
    pub fn new(weights: &Weights) -> AdamW {
        AdamW { first: zeros(weights), second: zeros(weights), average: copy(weights), step: 0 }
    }

    /// The learning rate of the next of so many updates: it rises to the highest, then falls along a cosine.
    pub fn rate(&self, highest: f64, updates: f64) -> f64 {
        let done = self.step as f64 / updates;
        let warm = (self.step as f64 + 1.0) / WARM_UP;
        highest * warm.min(0.5 * (1.0 + (std::f64::consts::PI * done).cos()))
    }

    /// One update from the gradients, clipped to norm 1. Matrices decay, vectors do not.
    pub fn update(&mut self, weights: &mut Weights, rate: f64, decay: f64) {
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
        // early averages would keep the random start
        let keep = AVERAGE.min((1.0 + self.step as f64) / (10.0 + self.step as f64));
        let step = Step {
            clip: clip as f32,
            rate: rate as f32,
            decay: decay as f32,
            correct1: (1.0 - BETA1.powf(self.step as f64)) as f32,
            correct2: (1.0 - BETA2.powf(self.step as f64)) as f32,
        };
        for (name, weight) in weights.iter_mut() {
            let (Some(m), Some(v), Some(mean)) =
                (self.first.get_mut(name), self.second.get_mut(name), self.average.get_mut(name))
            else {
                continue;
            };
            if has_gradient(weight) {
                let (gradient, decays) = (weight.grad().contiguous(), weight.dim() > 1);
                step.apply(slice(&gradient), [slice_mut(weight), slice_mut(m), slice_mut(v)], decays);
                weight.zero_grad();
            }
            let (mean, weight) = (slice_mut(mean), slice(weight));
            mean.iter_mut().zip(weight).for_each(|(a, w)| *a += (w - *a) * (1.0 - keep as f32));
        }
    }
}

/// One update's numbers.
struct Step {
    clip: f32,
    rate: f32,
    decay: f32,
    correct1: f32,
    correct2: f32,
}

impl Step {
    /// Updates weights with the means of their gradients and of these squared. What the batch did not depend on stays as it is,
    /// averages too: most of the vocabulary belongs to other kernels than the batch's, and its moving averages would be forgotten
    /// between the batches that teach it.
    fn apply(&self, gradient: &[f32], [weight, m, v]: [&mut [f32]; 3], decays: bool) {
        let shrink = if decays { 1.0 - self.rate * self.decay } else { 1.0 };
        let (b1, b2) = (BETA1 as f32, BETA2 as f32);
        for (((g, w), m), v) in gradient.iter().zip(weight).zip(m).zip(v) {
            let touched = *g != 0.0;
            let g = g * self.clip;
            let (first, second) = (b1 * *m + (1.0 - b1) * g, b2 * *v + (1.0 - b2) * g * g);
            let step = (first / self.correct1) / ((second / self.correct2).sqrt() + 1e-8);
            let next = *w * shrink - self.rate * step;
            (*w, *m, *v) = if touched { (next, first, second) } else { (*w, *m, *v) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_batch_does_not_touch_keeps_its_weight_and_its_averages() {
        let table = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0]).reshape([2, 2]).set_requires_grad(true);
        let mut weights = Weights::from([("table".to_string(), table)]);
        let mut adamw = AdamW::new(&weights);
        for row in [0, 1] {
            weights["table"].get(row).sum(None).backward();
            adamw.update(&mut weights, 0.1, 0.0);
            let first = Vec::<f32>::try_from(adamw.first["table"].reshape([-1])).unwrap();
            assert!(first[0] > 0.0 && (first[2] > 0.0) == (row == 1), "{first:?}");
        }
        let values = Vec::<f32>::try_from(weights["table"].detach().reshape([-1])).unwrap();
        // the first update moves by the whole rate, whatever the gradient's size
        assert!((values[0] - 0.9).abs() < 1e-3 && values[2] < 3.0, "{values:?}");
    }
}
