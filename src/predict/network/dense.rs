//! The parts that the networks for prediction are built of, on plain slices.
//!
//! Letters of the shapes: n rows, D the width.

use crate::network::simd::{Rows, RowsMut, Sizes, normalise, product};
use crate::network::weights::NetworkWeights;
use seqtune_kernel::error::{Error, Result};

pub(crate) struct Linear {
    pub(crate) weight: Vec<f32>, // (in, out): in this order a product reads whole rows of it
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

    /// Of weights by output (in), as they are stored.
    pub(crate) fn of_rows(rows: &[&[f32]], bias: Vec<f32>) -> Linear {
        let inputs = rows.first().map_or(0, |row| row.len());
        Linear { weight: (0..inputs).flat_map(|i| rows.iter().map(move |row| row[i])).collect(), bias }
    }

    /// `x` (n, in) to (n, out).
    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = Vec::new();
        self.forward_into(x, &mut y);
        y
    }

    /// As [`Linear::forward`], into memory that is there.
    pub(crate) fn forward_into(&self, x: &[f32], y: &mut Vec<f32>) {
        let outputs = self.bias.len();
        let inputs = self.weight.len() / outputs;
        let n = x.len() / inputs;
        y.clear();
        for _ in 0..n {
            y.extend_from_slice(&self.bias);
        }
        let (rows, out) = (Rows { numbers: x, stride: inputs }, RowsMut { numbers: y, stride: outputs });
        product(Sizes { m: n, k: inputs, n: outputs }, rows, &self.weight, out);
    }
}

impl Norm {
    pub(crate) fn new(weights: &NetworkWeights, name: &str) -> Result<Norm> {
        Ok(Norm { weight: get(weights, name, "weight")?.to_vec(), bias: get(weights, name, "bias")?.to_vec() })
    }

    /// Numbers of a row.
    pub(crate) fn width(&self) -> usize {
        self.weight.len()
    }

    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = Vec::new();
        self.forward_into(x, &mut y);
        y
    }

    pub(crate) fn forward_into(&self, x: &[f32], y: &mut Vec<f32>) {
        y.clear();
        y.resize(x.len(), 0.0);
        normalise(x, &self.weight, &self.bias, y);
    }
}

pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
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
