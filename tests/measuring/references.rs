//! References of kernels whose results are no sums of products, which `[exact]` would check: each against double precision on the host.

use crate::common::opencl_or_skip;
use seqtune_kernel::Kernel;
use seqtune_measure::executor::KernelArg;
use seqtune_measure::registry::open;
use seqtune_measure::verify::on_device::DeviceComparison;
use seqtune_measure::verify::workload::{SEED, Wanted, load};
use std::sync::{Mutex, PoisonError};

static OPENING: Mutex<()> = Mutex::new(());

/// Buffers of a problem in the order of the arguments, as bits of 32: inputs, and outputs as the reference left them.
struct Data {
    sizes: Vec<usize>,
    buffers: Vec<Vec<u32>>,
    tolerance: f64,
}

impl Data {
    fn drawn(kernel: &str, text: &str) -> Data {
        // OpenCL's loader finds no platform where two threads call it first
        let _one_by_one = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = Kernel::open(kernel).unwrap();
        let problem = kernel.problem(text).unwrap();
        let mut executor = open("opencl:0").unwrap();
        let made =
            load(executor.as_mut(), &kernel, &problem, &Wanted::uniform(SEED), Some(&mut DeviceComparison::default()))
                .unwrap();
        let (source, env) = (kernel.source().unwrap(), kernel.env(&problem, None));
        let (mut sizes, mut buffers) = (Vec::new(), Vec::new());
        for (value, argument) in made.values.iter().zip(&source.arguments) {
            match value {
                KernelArg::Buffer(buffer) => {
                    let mut bytes = vec![0; 4 * argument.amount.eval(&env) as usize];
                    executor.read(*buffer, &mut bytes).unwrap();
                    buffers.push(bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect());
                }
                KernelArg::Int(size) => sizes.push(*size as usize),
                _ => {}
            }
        }
        Data { sizes, buffers, tolerance: source.tolerance.eval(&env) }
    }

    fn numbers(&self, at: usize) -> Vec<f64> {
        self.buffers[at].iter().map(|bits| f64::from(f32::from_bits(*bits))).collect()
    }

    /// The last buffer is what was expected, within the kernel's tolerance of its largest element.
    fn assert_is(&self, expected: &[f64]) {
        let found = self.numbers(self.buffers.len() - 1);
        assert_eq!(found.len(), expected.len());
        let largest = expected.iter().fold(0.0, |all: f64, x| all.max(x.abs()));
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            let off = (found - expected).abs();
            assert!(off <= self.tolerance * largest, "element {at} is {found}, double precision says {expected}");
        }
    }
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|x| (x - top).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[test]
fn rows_are_made_shares_and_normalised_as_in_double_precision() {
    if !opencl_or_skip() {
        return;
    }
    let data = Data::drawn("softmax", "rows=7,columns=1003");
    data.assert_is(&data.numbers(0).chunks(1003).flat_map(softmax).collect::<Vec<f64>>());
    for (kind, is_layer) in [("layer", true), ("rms", false)] {
        let data = Data::drawn("norm", &format!("rows=5,columns=777,kind={kind},epsilon=0.001"));
        let (w, b) = (data.numbers(1), data.numbers(2));
        let row = |x: &[f64]| {
            let mean = if is_layer { x.iter().sum::<f64>() / x.len() as f64 } else { 0.0 };
            let root = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64 + 0.001).sqrt();
            let normal = |(c, x): (usize, &f64)| (x - mean) / root * w[c] + if is_layer { b[c] } else { 0.0 };
            x.iter().enumerate().map(normal).collect::<Vec<f64>>()
        };
        data.assert_is(&data.numbers(0).chunks(777).flat_map(row).collect::<Vec<f64>>());
    }
}

#[test]
fn a_sparse_product_and_counts_are_as_in_double_precision() {
    if !opencl_or_skip() {
        return;
    }
    let data = Data::drawn("spmv", "rows=137,columns=190,nonzeros=2701,spread=50,band=60,run=3");
    let (values, x) = (data.numbers(2), data.numbers(3));
    let [starts, columns] = [0, 1].map(|at| data.buffers[at].iter().map(|i| *i as usize).collect::<Vec<usize>>());
    assert_eq!((starts.len(), starts[137]), (138, 2701), "every nonzero is in a row");
    let row = |ends: &[usize]| (ends[0]..ends[1]).map(|i| values[i] * x[columns[i]]).sum();
    data.assert_is(&starts.windows(2).map(row).collect::<Vec<f64>>());

    let data = Data::drawn("histogram", "n=1003,batch=3,bins=37");
    let [n, _, bins] = data.sizes[..] else { panic!("{:?}", data.sizes) };
    let mut counts = vec![0.0; 3 * bins];
    for (i, x) in data.numbers(0).iter().enumerate() {
        // the counters divide the values from -1 to 1 into equal parts
        let bin = ((x + 1.0) / 2.0 * bins as f64).floor().clamp(0.0, bins as f64 - 1.0);
        counts[i / n * bins + bin as usize] += 1.0;
    }
    let found = data.numbers(1);
    // a value at the edge of two counters may fall into either, by rounding
    let moved = found.iter().zip(&counts).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
    assert!(found.iter().sum::<f64>() == 3009.0 && moved <= 3.0, "{moved} of 3009 values are counted elsewhere");
}

#[test]
fn forces_and_attention_are_as_in_double_precision() {
    if !opencl_or_skip() {
        return;
    }
    for layout in ["aos", "soa"] {
        let data = Data::drawn("nbody", &format!("targets=40,sources=133,layout={layout}"));
        let (s, t) = (data.numbers(0), data.numbers(1));
        let at = |all: &[f64], i: usize, c: usize, n: usize, width: usize| match layout {
            "soa" => all[c * n + i],
            _ => all[i * width + c],
        };
        let mut expected = vec![0.0; 3 * 40];
        for i in 0..40 {
            for j in 0..133 {
                let d = [0, 1, 2].map(|c| at(&s, j, c, 133, 4) - at(&t, i, c, 40, 3));
                let f = at(&s, j, 3, 133, 4) * (d.iter().map(|d| d * d).sum::<f64>() + 0.01).powf(-1.5);
                for (c, d) in d.iter().enumerate() {
                    expected[if layout == "soa" { c * 40 + i } else { 3 * i + c }] += f * d;
                }
            }
        }
        data.assert_is(&expected);
    }
    for (causal, hidden) in [("no", 0), ("yes", 1)] {
        let data = Data::drawn("attention", &format!("batch=1,heads=2,queries=9,keys=19,D=d32,causal={causal}"));
        let [q, k, v] = [0, 1, 2].map(|at| data.numbers(at));
        let mut expected = Vec::new();
        for row in 0..2 * 9 {
            let (pair, query) = (row / 9, row % 9);
            let seen = if hidden == 1 { query + 1 + 19 - 9 } else { 19 };
            let key = |all: &[f64], at: usize, d: usize| all[(pair * 19 + at) * 32 + d];
            let score = |at: usize| (0..32).map(|d| q[row * 32 + d] * key(&k, at, d)).sum::<f64>() / 32f64.sqrt();
            let weights = softmax(&(0..seen).map(score).collect::<Vec<f64>>());
            expected.extend((0..32).map(|d| weights.iter().enumerate().map(|(at, w)| w * key(&v, at, d)).sum::<f64>()));
        }
        data.assert_is(&expected);
    }
}
