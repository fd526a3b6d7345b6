//! A small regression network: rectified layers, squared error, Adam (Kingma and Ba 2015).

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Layers between input and output, as in ISAAC's code.
const HIDDEN: [usize; 5] = [64, 48, 32, 16, 8];
const EPOCHS: usize = 150;
const BATCH: usize = 64;
const RATE: f64 = 1e-3;

struct Layer {
    inputs: usize,
    /// Rows of `inputs` weights and a bias.
    weights: Vec<f64>,
    gradient: Vec<f64>,
    /// Adam's first and second moments.
    moments: [Vec<f64>; 2],
}

impl Layer {
    fn new(inputs: usize, outputs: usize, rng: &mut ChaCha8Rng) -> Layer {
        let scale = (6.0 / inputs as f64).sqrt();
        let count = outputs * (inputs + 1);
        let weight = |at: usize| {
            let drawn = scale * (2.0 * rng.random::<f64>() - 1.0);
            if at % (inputs + 1) == inputs { 0.0 } else { drawn }
        };
        let weights = (0..count).map(weight).collect();
        Layer { inputs, weights, gradient: vec![0.0; count], moments: [vec![0.0; count], vec![0.0; count]] }
    }

    fn forward(&self, input: &[f64], is_last: bool) -> Vec<f64> {
        let sum = |row: &[f64]| row.iter().zip(input).map(|(w, x)| w * x).sum::<f64>() + row[self.inputs];
        let rectified = |x: f64| if is_last { x } else { x.max(0.0) };
        self.weights.chunks(self.inputs + 1).map(|row| rectified(sum(row))).collect()
    }

    /// Adds to the gradient, and returns that of the input.
    fn backward(&mut self, input: &[f64], of_output: &[f64]) -> Vec<f64> {
        let mut of_input = vec![0.0; self.inputs];
        let rows = self.weights.chunks(self.inputs + 1).zip(self.gradient.chunks_mut(self.inputs + 1));
        for ((weights, gradient), slope) in rows.zip(of_output) {
            if *slope == 0.0 {
                continue;
            }
            for (at, x) in input.iter().enumerate() {
                gradient[at] += slope * x;
                of_input[at] += slope * weights[at];
            }
            gradient[self.inputs] += slope;
        }
        of_input
    }

    fn step(&mut self, count: i32) {
        let [first, second] = &mut self.moments;
        for (((w, g), m), v) in self.weights.iter_mut().zip(&mut self.gradient).zip(first).zip(second) {
            *m += 0.1 * (*g - *m);
            *v += 0.001 * (*g * *g - *v);
            let (m, v) = (*m / (1.0 - 0.9f64.powi(count)), *v / (1.0 - 0.999f64.powi(count)));
            *w -= RATE * m / (v.sqrt() + 1e-8);
            *g = 0.0;
        }
    }
}

/// A fitted network.
pub struct Perceptron {
    layers: Vec<Layer>,
    /// Mean and deviation of each input, the label last.
    scales: Vec<(f64, f64)>,
}

fn scale(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt().max(1e-6))
}

impl Perceptron {
    /// Fits rows to labels.
    pub fn fit(rows: &[Vec<f64>], labels: &[f64], rng: &mut ChaCha8Rng) -> Perceptron {
        let columns = rows[0].len();
        let mut scales: Vec<(f64, f64)> = (0..columns).map(|c| scale(rows.iter().map(move |row| row[c]))).collect();
        scales.push(scale(labels.iter().copied()));
        let sizes: Vec<usize> = std::iter::once(columns).chain(HIDDEN).chain([1]).collect();
        let layers = sizes.windows(2).map(|pair| Layer::new(pair[0], pair[1], rng)).collect();
        let mut network = Perceptron { layers, scales };
        let inputs: Vec<Vec<f64>> = rows.iter().map(|row| network.input(row)).collect();
        let (mean, deviation) = network.scales[columns];
        let targets: Vec<f64> = labels.iter().map(|x| (x - mean) / deviation).collect();
        let (mut order, mut count): (Vec<usize>, i32) = ((0..rows.len()).collect(), 0);
        for _ in 0..EPOCHS {
            order.shuffle(rng);
            for batch in order.chunks(BATCH) {
                batch.iter().for_each(|at| network.learn(&inputs[*at], targets[*at], batch.len() as f64));
                count += 1;
                network.layers.iter_mut().for_each(|layer| layer.step(count));
            }
        }
        network
    }

    fn input(&self, row: &[f64]) -> Vec<f64> {
        row.iter().zip(&self.scales).map(|(x, (mean, deviation))| (x - mean) / deviation).collect()
    }

    /// Inputs of all layers, and the output.
    fn trace(&self, input: &[f64]) -> Vec<Vec<f64>> {
        let mut trace = vec![input.to_vec()];
        for (at, layer) in self.layers.iter().enumerate() {
            let next = layer.forward(&trace[at], at + 1 == self.layers.len());
            trace.push(next);
        }
        trace
    }

    fn learn(&mut self, input: &[f64], target: f64, batch: f64) {
        let trace = self.trace(input);
        let mut slope = vec![2.0 * (trace[self.layers.len()][0] - target) / batch];
        for (at, layer) in self.layers.iter_mut().enumerate().rev() {
            slope = layer.backward(&trace[at], &slope);
            // what was rectified away has no slope
            slope.iter_mut().zip(&trace[at]).filter(|(_, x)| at > 0 && **x <= 0.0).for_each(|(s, _)| *s = 0.0);
        }
    }

    /// Label of a row.
    pub fn predict(&self, row: &[f64]) -> f64 {
        let (mean, deviation) = self.scales[row.len()];
        self.trace(&self.input(row))[self.layers.len()][0] * deviation + mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;

    #[test]
    fn a_network_learns_a_product_in_logarithms_and_a_threshold() {
        let mut rng = test_generator(1);
        let mut draw = |n: usize| -> (Vec<Vec<f64>>, Vec<f64>) {
            let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..3).map(|_| 4.0 * rng.random::<f64>()).collect()).collect();
            let labels = rows.iter().map(|r| 10.0 + r[0] + 2.0 * r[1] + if r[2] > 2.0 { 3.0 } else { 0.0 }).collect();
            (rows, labels)
        };
        let ((rows, labels), (unseen, right)) = (draw(800), draw(200));
        let network = Perceptron::fit(&rows, &labels, &mut test_generator(2));
        let squares = unseen.iter().zip(&right).map(|(row, y)| (network.predict(row) - y).powi(2)).sum::<f64>() / 200.0;
        let variance = scale(right.iter().copied()).1.powi(2);
        assert!(squares < 0.08 * variance, "{squares} of {variance}");
    }
}
