//! Layer norms and the gradients of projections. Letters of the shapes: N nodes, D the model width.

use crate::network::decoder::loops::{self, NormMemory};
use crate::network::layers::{Linear, Norm};
use crate::network::tensors::{slice, slice_mut};
use tch::{Device, Kind, Tensor};

/// Numbers that are to be written.
pub(crate) fn empty(shape: &[i64]) -> Tensor {
    Tensor::empty(shape, (Kind::Float, Device::Cpu))
}

pub(crate) fn zeros(shape: &[i64]) -> Tensor {
    Tensor::zeros(shape, (Kind::Float, Device::Cpu))
}

/// Gradients of weights, each beside its weight, in the order in which they are first met. Passes that meet them in the same order again add
/// to them.
#[derive(Default)]
pub(crate) struct Gradients {
    pub(crate) kept: Vec<(Tensor, Tensor)>,
    next: usize,
}

impl Gradients {
    /// Begins another pass.
    pub(crate) fn begin(&mut self) {
        self.next = 0;
    }

    /// The next two gradients, those of these weights.
    fn pair(&mut self, weights: [&Tensor; 2]) -> (&mut Tensor, &mut Tensor) {
        let at = self.next;
        if at == self.kept.len() {
            self.kept.extend(weights.map(|weight| (weight.shallow_clone(), weight.zeros_like())));
        }
        self.next += 2;
        let (before, from) = self.kept.split_at_mut(at + 1);
        (&mut before[at].1, &mut from[0].1)
    }

    /// What the gradient `dy` (N, out) of a projection of `x` (N, in) means for its input; the weights' are kept.
    pub(crate) fn linear(&mut self, linear: &Linear, dy: &Tensor, x: &Tensor) -> Tensor {
        let (weight, bias) = self.pair([&linear.weight, &linear.bias]);
        let _ = weight.addmm_(&dy.tr(), x);
        loops::add_rows(slice(dy), slice_mut(bias));
        dy.mm(&linear.weight)
    }
}

/// A layer norm's output (N, D) and what its gradient needs.
pub(crate) struct Normed {
    pub(crate) y: Tensor,
    hat: Tensor,
    scales: Tensor,
}

impl Normed {
    pub(crate) fn new(norm: &Norm, x: &Tensor) -> Normed {
        let mut made = Normed { y: empty(&x.size()), hat: empty(&x.size()), scales: empty(&x.size()[..1]) };
        let (hat, scales, y) = (slice_mut(&mut made.hat), slice_mut(&mut made.scales), slice_mut(&mut made.y));
        loops::normalise(slice(x), slice(&norm.weight), slice(&norm.bias), hat, scales, y);
        made
    }

    /// Adds to `dx` (N, D) what the gradient `dy` of the output means for the input.
    pub(crate) fn back(&self, norm: &Norm, dy: &Tensor, dx: &mut Tensor, gradients: &mut Gradients) {
        let (weight, bias) = gradients.pair([&norm.weight, &norm.bias]);
        let of = NormMemory { hat: slice(&self.hat), scales: slice(&self.scales), weight: slice(&norm.weight) };
        loops::normalise_back(slice(dy), of, slice_mut(dx), slice_mut(weight), slice_mut(bias));
    }
}
