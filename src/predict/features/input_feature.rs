//! Quantities of a problem as numbers that a network takes in.
//!
//! A size is encoded by its logarithm, its phases, its divisibility and its low bits; it and every derived quantity also by
//! where it lies between the quantiles of the training problems (piecewise linear encoding, Gorishniy et al. 2022). The
//! comparison with digits and value vocabularies is in the project's log.

use seqtune_kernel::MOST_VALUES;
use seqtune_kernel::elementary::{cos, log2, log2f, sin};
use serde::{Deserialize, Serialize};

/// Mean and standard deviation that make a quantity comparable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Mean of the finite training values.
    pub mean: f64,
    /// Standard deviation of the same; 1 for a constant.
    pub deviation: f64,
}

impl Scale {
    /// Of the finite values; a constant keeps deviation 1.
    pub fn fit(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let finite = || values.clone().filter(|v| v.is_finite());
        let n = finite().count().max(1) as f64;
        let mean = finite().sum::<f64>() / n;
        let deviation = (finite().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        Scale { mean, deviation: if deviation > 1e-6 { deviation } else { 1.0 } }
    }

    /// Whether both numbers are finite, and the deviation is above 0.
    pub(crate) fn is_sound(&self) -> bool {
        self.mean.is_finite() && self.deviation.is_finite() && self.deviation > 0.0
    }

    /// In deviations from the mean, within +-5; 0 where the value is unknown.
    pub fn apply(&self, value: f64) -> f32 {
        if value.is_finite() { ((value - self.mean) / self.deviation).clamp(-5.0, 5.0) as f32 } else { 0.0 }
    }
}

/// What a quantity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Size field: a whole number.
    Size,
    /// Real-valued field.
    Real,
    /// With the number of labels.
    Choice(usize),
    /// A feature of problem and device.
    Derived,
    /// A limit of the device.
    Limit,
}

/// A quantity of a problem, and how it is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputFeature {
    /// Name of the field, feature or limit.
    pub name: String,
    /// Kind of the quantity, which decides its encoding.
    pub kind: Kind,
    /// Standardisation by the training problems.
    pub scale: Scale,
    /// Quantiles of the training problems, rising; of the logarithm for a size. Empty where they do not differ.
    pub edges: Vec<f32>,
}

/// Intervals between quantiles, for quantities of a problem.
pub const INTERVALS: usize = 40;
/// The same for what a parameter's value decides: it is encoded for every value that may be chosen.
pub const CHOICE_INTERVALS: usize = 8;
/// Quantiles of a quantity at most.
const MAX_EDGES: usize = 1_000;
/// Numbers that a size is encoded by beside its place between the quantiles.
const SIZE_WIDTH: usize = 22;
/// Numbers that a real is encoded by.
const REAL_WIDTH: usize = 4;

impl InputFeature {
    /// Learns scale and quantiles from values of training problems.
    pub fn learn(name: &str, kind: Kind, values: &[f32], intervals: usize) -> InputFeature {
        let mut known: Vec<f32> = values.iter().copied().filter(|v| v.is_finite()).map(|v| place(kind, v)).collect();
        known.sort_by(f32::total_cmp);
        let mut edges = Vec::new();
        if matches!(kind, Kind::Size | Kind::Derived) && !known.is_empty() {
            edges = (0..=intervals).map(|i| known[i * (known.len() - 1) / intervals]).collect();
            edges.dedup_by(|a, b| *a - *b <= 1e-6 * a.abs());
        }
        if edges.len() < 2 {
            edges.clear();
        }
        let on_axis = |v: &f32| if kind == Kind::Limit { log2f(v + 1.0) as f64 } else { *v as f64 };
        InputFeature { name: name.into(), kind, scale: Scale::fit(values.iter().map(on_axis)), edges }
    }

    /// Whether it can be encoded: finite quantiles that rise, no more labels than a choice has.
    pub(crate) fn is_sound(&self) -> bool {
        let labels = if let Kind::Choice(labels) = self.kind { labels } else { 0 };
        let rises = self.edges.windows(2).all(|pair| pair[0] < pair[1]);
        rises
            && self.edges.iter().all(|edge| edge.is_finite())
            && self.edges.len() <= MAX_EDGES
            && labels <= MOST_VALUES
    }

    /// Numbers that it is encoded by.
    pub fn width(&self) -> usize {
        let plain = match self.kind {
            Kind::Size => SIZE_WIDTH,
            Kind::Real => REAL_WIDTH,
            Kind::Choice(labels) => labels,
            Kind::Derived => 1,
            Kind::Limit => 3,
        };
        plain + self.edges.len().saturating_sub(1)
    }

    /// Appends the encoding of `value`; zeros where it is NaN.
    pub fn encode(&self, value: f32, out: &mut Vec<f32>) {
        if value.is_nan() {
            out.resize(out.len() + self.width(), 0.0);
            return;
        }
        match self.kind {
            Kind::Size => encode_size(value as f64, out),
            Kind::Real => {
                let x = value;
                out.extend([(x == 0.0) as u8 as f32, (x == 1.0) as u8 as f32, x.signum(), log2f(x.abs() + 1.0)]);
            }
            Kind::Choice(labels) => out.extend((0..labels).map(|i| (i == value as usize) as u8 as f32)),
            Kind::Derived => out.push(self.scale.apply(value as f64)),
            // that it is known, and its logarithm twice: as it is, for devices far from those of the training, and by how these
            // differ, which may be little (56 compute units or 60)
            Kind::Limit => {
                let log = log2f(value + 1.0);
                out.extend([1.0, log / 8.0, self.scale.apply(log as f64)]);
            }
        }
        let at = place(self.kind, value);
        out.extend(self.edges.windows(2).map(|edge| ((at - edge[0]) / (edge[1] - edge[0])).clamp(0.0, 1.0)));
    }
}

/// Where a value lies on the axis of the quantiles.
fn place(kind: Kind, value: f32) -> f32 {
    if kind == Kind::Size { log2f(value + 1.0) } else { value }
}

/// Logarithm and its square, divisibility by powers of two, low bits, phases of the logarithm, small divisors.
fn encode_size(x: f64, out: &mut Vec<f32>) {
    let log = log2(x.max(0.5));
    let whole = x as u64;
    out.extend([(log / 8.0) as f32, (log * log / 64.0) as f32]);
    out.push(whole.max(1).trailing_zeros().min(8) as f32 / 4.0);
    out.extend((0..3).map(|bit| (whole >> bit & 1) as f32));
    for octaves in [1.0, 2.0, 4.0, 8.0] {
        let phase = std::f64::consts::TAU * log / octaves;
        out.extend([sin(phase) as f32, cos(phase) as f32]);
    }
    out.extend([3, 5, 7, 8, 16, 32, 64, 128].map(|d| whole.is_multiple_of(d) as u8 as f32));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_spelled_by_as_many_numbers_as_it_says_known_or_not() {
        for kind in [Kind::Size, Kind::Real, Kind::Choice(3), Kind::Derived, Kind::Limit] {
            let quantity = InputFeature::learn("x", kind, &[1.0, 2.0, 2.0, 7.0, 64.0, f32::NAN], INTERVALS);
            for value in [0.0, 1.0, 2.0, 1e6, f32::NAN] {
                let mut out = Vec::new();
                quantity.encode(value, &mut out);
                assert_eq!(out.len(), quantity.width(), "{kind:?}");
                assert!(out.iter().all(|x| x.is_finite()), "{kind:?} {value}");
            }
        }
    }

    #[test]
    fn a_value_fills_the_intervals_below_it_and_part_of_its_own() {
        let quantity =
            InputFeature { edges: vec![0.0, 1.0, 3.0], ..InputFeature::learn("x", Kind::Derived, &[5.0], INTERVALS) };
        let mut out = Vec::new();
        quantity.encode(2.0, &mut out);
        assert_eq!(out[1..], [1.0, 0.5]);
    }
}
