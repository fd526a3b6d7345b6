//! Kinds of random input. A program may be right on one kind alone: softmax without its maximum, where no value is large.

use crate::verify::format::Format;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// What random input is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputKind {
    /// Numbers in [-1, 1).
    #[default]
    Uniform,
    /// The same, but each run of elements has an offset of its own.
    Offsets,
    /// The same, but one in 512 elements is large.
    Outliers,
    /// One number all over a buffer.
    Equal,
    /// Zeros.
    Zeros,
}

/// Elements of a run with one offset at most, and elements of which one is an outlier.
const RUN: usize = 256;
const OUTLIER: usize = 512;

impl InputKind {
    /// All kinds but the usual one.
    pub const OTHERS: [InputKind; 4] = [InputKind::Offsets, InputKind::Outliers, InputKind::Equal, InputKind::Zeros];

    /// The kind in words, behind "with".
    pub fn words(self) -> &'static str {
        match self {
            InputKind::Uniform => "uniform input",
            InputKind::Offsets => "input that has offsets",
            InputKind::Outliers => "input that has outliers",
            InputKind::Equal => "input of equal elements",
            InputKind::Zeros => "input of zeros",
        }
    }

    /// Largest offsets or outliers, in the order in which they are tried: sums in half precision overflow early.
    pub fn magnitudes(self) -> &'static [f64] {
        match self {
            InputKind::Offsets | InputKind::Outliers => &[100.0, 4.0],
            InputKind::Uniform | InputKind::Equal | InputKind::Zeros => &[1.0],
        }
    }

    /// Gives uniform numbers this kind.
    pub fn shape(self, data: &mut [u8], format: Format, magnitude: f64, rng: &mut ChaCha8Rng) {
        let mut elements = data.chunks_exact_mut(format.bytes());
        let add = |element: &mut [u8], more: f64| {
            let sum = format.read(element) + more;
            format.write(sum, element);
        };
        match self {
            InputKind::Uniform => {}
            InputKind::Zeros => data.fill(0),
            InputKind::Equal => {
                let value: f64 = rng.random_range(0.25..1.0);
                elements.for_each(|element| format.write(value, element));
            }
            InputKind::Offsets => loop {
                let (length, offset) = (rng.random_range(1..=RUN), magnitude * rng.random_range(-1.0..1.0));
                let mut run = elements.by_ref().take(length).peekable();
                if run.peek().is_none() {
                    break;
                }
                run.for_each(|element| add(element, offset));
            },
            InputKind::Outliers => loop {
                let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
                let Some(element) = elements.nth(rng.random_range(0..2 * OUTLIER)) else { break };
                add(element, sign * magnitude);
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use crate::verify::compare::random_data;

    fn shaped(kind: InputKind, format: Format, magnitude: f64) -> Vec<f64> {
        let mut rng = test_generator(9);
        let mut data = random_data(10_000, format, &mut rng);
        kind.shape(&mut data, format, magnitude, &mut rng);
        data.chunks(format.bytes()).map(|bytes| format.read(bytes)).collect()
    }

    #[test]
    fn each_kind_is_what_it_says_in_every_format() {
        for format in [Format::F32, Format::F16, Format::Bf16] {
            let far = |kind| shaped(kind, format, 100.0).into_iter().filter(|value| value.abs() > 1.5).count();
            assert_eq!(far(InputKind::Uniform), 0);
            assert!(far(InputKind::Offsets) > 9_000, "{format:?}");
            let outliers = far(InputKind::Outliers);
            assert!((5..80).contains(&outliers), "{format:?}: {outliers}");
            let equal = shaped(InputKind::Equal, format, 1.0);
            assert!(equal.iter().all(|value| *value == equal[0] && *value >= 0.25), "{format:?}");
            assert!(shaped(InputKind::Zeros, format, 1.0).iter().all(|value| *value == 0.0));
        }
    }

    #[test]
    fn offsets_are_of_runs_and_not_of_single_elements() {
        let values = shaped(InputKind::Offsets, Format::F32, 100.0);
        let jumps = values.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 2.0).count();
        assert!((20..400).contains(&jumps), "{jumps}");
    }
}
