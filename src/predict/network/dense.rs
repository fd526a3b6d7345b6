//! The parts that the networks for prediction are built of, on plain slices.
//!
//! Letters of the shapes: n rows, D the width.

use crate::error::{Error, Result};
use crate::network::weights::NetworkWeights;

pub(crate) struct Linear {
    pub(crate) weight: Vec<f32>, // (in, out): in this order it is copied fast into the cache blocks of a product
    pub(crate) bias: Vec<f32>,   // (out)
}

pub(crate) struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}
impl Linear {
    pub(crate) fn new(weights: &NetworkWeights, name: &str) -> Result<Linear> {
        let (weight, bias) = (get(weights, name, "weight")?, get(weights, name, "bias")?);
        let (outputs, inputs) = (bias.len(), weight.len() / bias.len().max(1));
        let transposed =
            (0..inputs).flat_map(|i| (0..outputs).map(move |o| (i, o))).map(|(i, o)| weight[o * inputs + i]);
        Ok(Linear { weight: transposed.collect(), bias: bias.to_vec() })
    }

    /// `x` (n, in) to (n, out).
    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let outputs = self.bias.len();
        let inputs = self.weight.len() / outputs;
        let n = x.len() / inputs;
        let mut y = Vec::with_capacity(n * outputs);
        for _ in 0..n {
            y.extend_from_slice(&self.bias);
        }
        product((n, inputs, outputs), (x, inputs), &self.weight, (&mut y, outputs));
        y
    }
}

/// c (m, n) += a (m, k) b (k, n), b dense; the strides are those of the rows of a and c.
pub(crate) fn product(
    (m, k, n): (usize, usize, usize),
    (a, a_row): (&[f32], usize),
    b: &[f32],
    (c, c_row): (&mut [f32], usize),
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(a.len() >= (m - 1) * a_row + k && c.len() >= (m - 1) * c_row + n);
    assert!(b.len() >= k * n);
    let stride = |s: usize| s as isize;
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    // SAFETY: the last element that the strides reach lies within each slice
    unsafe {
        if m <= FEW {
            let (c_row, a_row, b_row) = (stride(c_row), stride(a_row), stride(n));
            let alone = gemm::Parallelism::None;
            gemm::gemm(m, n, k, c, 1, c_row, true, a, 1, a_row, b, 1, b_row, 1.0, 1.0, false, false, false, alone);
        } else {
            matrixmultiply::sgemm(m, k, n, 1.0, a, stride(a_row), 1, b, stride(n), 1, 1.0, c, stride(c_row), 1);
        }
    }
}

/// Up to so many rows `gemm` is faster, which does not copy `b` (three times, of five rows), and above it `matrixmultiply` (by a fifth).
const FEW: usize = 32;

impl Norm {
    pub(crate) fn new(weights: &NetworkWeights, name: &str) -> Result<Norm> {
        Ok(Norm { weight: get(weights, name, "weight")?.to_vec(), bias: get(weights, name, "bias")?.to_vec() })
    }

    /// Numbers of a row.
    pub(crate) fn width(&self) -> usize {
        self.weight.len()
    }

    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let d = self.weight.len();
        let mut y = Vec::with_capacity(x.len());
        for row in x.chunks_exact(d) {
            let mean = lanes(row, row, |a, _| a) / d as f32;
            let variance = lanes(row, row, |a, _| (a - mean) * (a - mean)) / d as f32;
            let scale = 1.0 / (variance + 1e-5).sqrt();
            y.extend((0..d).map(|i| (row[i] - mean) * scale * self.weight[i] + self.bias[i]));
        }
        y
    }
}

/// Sum of `f` over pairs, in eight partial sums, so that it can be vectorised.
fn lanes(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0f32; 8];
    let (whole_a, whole_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = whole_a.remainder().iter().zip(whole_b.remainder()).map(|(a, b)| f(*a, *b)).sum();
    for (a, b) in whole_a.zip(whole_b) {
        for i in 0..8 {
            sums[i] += f(a[i], b[i]);
        }
    }
    sums.iter().sum::<f32>() + rest
}
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    lanes(a, b, |a, b| a * b)
}

pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// x Phi(x), with the error function after Abramowitz and Stegun 7.1.26 (error below 1.5e-7).
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let poly = ((((1.061_405_4 * t - 1.453_152_1) * t + 1.421_413_8) * t - 0.284_496_72) * t + 0.254_829_6) * t;
    let erf = (1.0 - poly * (-z * z).exp()).copysign(x);
    0.5 * x * (1.0 + erf)
}

/// The parts `name.0`, `name.1`, and so on.
pub(crate) fn linears(weights: &NetworkWeights, name: &str) -> Result<Vec<Linear>> {
    let is_part = |i: &usize| weights.get(&format!("{name}.{i}"), "weight").is_some();
    (0..).take_while(is_part).map(|i| Linear::new(weights, &format!("{name}.{i}"))).collect()
}

pub(crate) fn get<'a>(weights: &NetworkWeights<'a>, name: &str, part: &str) -> Result<&'a [f32]> {
    let missing =
        || Error::Input(format!("the model has no weights `{name}.{part}`: the file is damaged or of another version"));
    Ok(&weights.get(name, part).ok_or_else(missing)?.values)
}
