//! Exponentials, logarithms and powers that have the same bits on every host.
//!
//! Those of the standard library come from the system's `libm`, which differs by its version and by what the processor has. These are the `libm`
//! crate's, in plain arithmetic that IEEE 754 fixes. Square roots, rounding and the four operations need no such care.

pub use libm::{cos, exp, expf, log2f, pow, sin};

/// Natural logarithm.
#[inline]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Logarithm to base 2, exact for powers of two.
#[inline]
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// `a b + c` in one rounding, as processors with such an operation compute it: by double precision, in which the product is exact, and with
/// the last bit of its sum set where that is inexact, so that the second rounding goes the right way (Boldo and Melquiond, 2008).
///
/// It is free of branches, so that loops of it are vectorised.
#[inline(always)]
pub fn fused_multiply_add(a: f32, b: f32, c: f32) -> f32 {
    let (product, addend) = (a as f64 * b as f64, c as f64);
    let sum = product + addend;
    // what the sum lost (Knuth); no number where the sum is infinite or none
    let part = sum - product;
    let lost = (product - (sum - part)) + (addend - part);
    let bits = sum.to_bits();
    // towards what was lost: away from 0 where that has the sum's sign
    let step = if (lost > 0.0) == (sum > 0.0) { 1u64 } else { u64::MAX };
    let is_even_and_inexact = (lost.abs() > 0.0) & (bits & 1 == 0);
    f64::from_bits(bits.wrapping_add(if is_even_and_inexact { step } else { 0 })) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;

    #[test]
    fn a_fused_product_is_that_of_the_processor_to_the_last_bit() {
        let mut rng = test_generator(1);
        let alike = |a: f32, b: f32, c: f32| {
            let (found, known) = (fused_multiply_add(a, b, c), a.mul_add(b, c));
            assert!(found.to_bits() == known.to_bits() || found.is_nan() && known.is_nan(), "{a:e} * {b:e} + {c:e}");
        };
        let special = [0.0, -0.0, 1.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        for a in special {
            special.iter().for_each(|b| special.iter().for_each(|c| alike(a, *b, -*c)));
        }
        for _ in 0..400_000 {
            let [a, b, c] = [(); 3].map(|()| f32::from_bits(rng.random()));
            alike(a, b, c);
            // close to a tie between two numbers, and close to 0
            let near = |x: f32, by: i32| f32::from_bits(x.to_bits().wrapping_add_signed(by));
            alike(a, b, near(-(a * b), rng.random_range(-3..=3)));
            let (one, two) = (rng.random_range(-2f32..2.0), rng.random_range(-2f32..2.0));
            alike(one, two, rng.random_range(-2f32..2.0) * 2f32.powi(rng.random_range(-60..60)));
            alike(
                1.0 + f32::EPSILON * rng.random_range(0..99) as f32,
                1.0 + f32::EPSILON,
                one.signum() * 2f32.powi(-24),
            );
        }
    }

    #[test]
    fn logarithms_of_powers_of_two_and_powers_of_whole_numbers_are_exact() {
        for exponent in -1_000..1_000 {
            assert_eq!(log2(2f64.powi(exponent)), exponent as f64);
        }
        for base in 2u64..200 {
            for exponent in 0..7 {
                assert_eq!(pow(base as f64, exponent as f64), base.pow(exponent) as f64, "{base}^{exponent}");
            }
        }
    }

    #[test]
    fn values_are_those_that_were_written_down() {
        // bits of one host, to be had on all
        let found = [exp(1.0), exp(-0.3), ln(10.0), log2(3.0), pow(1.5, 2.5), sin(0.7), cos(0.7)];
        let known = [
            0x4005bf0a8b14576au64,
            0x3fe7b4c869c37c05,
            0x40026bb1bbb55516,
            0x3ff95c01a39fbd68,
            0x40060b9fd68a4554,
            0x3fe49d6e694619b8,
            0x3fe87996529f9d93,
        ];
        assert_eq!(found.map(f64::to_bits).map(|b| format!("{b:x}")), known.map(|b: u64| format!("{b:x}")));
    }
}
