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

/// Gradients of weights, each beside its weight.
#[derive(Default)]
pub(crate) struct Gradients(pub(crate) Vec<(Tensor, Tensor)>);

impl Gradients {
    /// What the gradient `dy` (N, out) of a projection of `x` (N, in) means for its input; the weights' are kept.
    pub(crate) fn linear(&mut self, linear: &Linear, dy: &Tensor, x: &Tensor) -> Tensor {
        self.0.push((linear.weight.shallow_clone(), dy.tr().mm(x)));
        self.0.push((linear.bias.shallow_clone(), dy.sum_dim_intlist(0, false, Kind::Float)));
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
        let (mut weight, mut bias) = (norm.weight.zeros_like(), norm.bias.zeros_like());
        let of = NormMemory { hat: slice(&self.hat), scales: slice(&self.scales), weight: slice(&norm.weight) };
        loops::normalise_back(slice(dy), of, slice_mut(dx), slice_mut(&mut weight), slice_mut(&mut bias));
        gradients.0.push((norm.weight.shallow_clone(), weight));
        gradients.0.push((norm.bias.shallow_clone(), bias));
    }
}
