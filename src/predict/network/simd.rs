//! The loops of the networks that numbers flow through, compiled for each width of vectors that a processor may have, and chosen at run time.
//!
//! The compiler vectorises them: they are written on arrays whose lengths it knows. Letters of the shapes: m rows, k numbers of each, n
//! outputs.

use seqtune_kernel::elementary::fused_multiply_add;

/// Compiles a function for AVX-512, for AVX2 and for whatever the target has at least, and calls the widest that the processor has.
/// The body is told whether the processor adds products in one rounding; the results are the same to the last bit.
#[macro_export]
macro_rules! widest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $kind:ty),*) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name($($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
                fn wide($($arg: $kind),*) {
                    $body::<true>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn middle($($arg: $kind),*) {
                    $body::<true>($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512dq") {
                    // SAFETY: the processor has what the function is compiled for
                    return unsafe { wide($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: as above
                    return unsafe { middle($($arg),*) };
                }
            }
            $body::<{ cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}

/// Sizes of a product.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

/// Numbers in rows that begin `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) numbers: &'a [f32],
    pub(crate) stride: usize,
}

/// As [`Rows`], to be written.
pub(crate) struct RowsMut<'a> {
    pub(crate) numbers: &'a mut [f32],
    pub(crate) stride: usize,
}

/// The normal distribution at a number.
#[derive(Clone, Copy)]
pub struct Normal {
    /// Share of the distribution below it.
    pub below: f32,
    /// Density there.
    pub density: f32,
}

widest! {
    /// c (m, n) += a (m, k) b (k, n), b dense.
    pub(crate) fn product(sizes: Sizes, a: Rows, b: &[f32], c: RowsMut) = product_of
}

widest! {
    /// Each row of `x` (m, D) less its mean, over its deviation, times `weight` (D), plus `bias` (D), into `y` (m, D).
    pub(crate) fn normalise(x: &[f32], weight: &[f32], bias: &[f32], y: &mut [f32]) = normalise_generic
}

widest! {
    /// x Phi(x) of each number.
    pub(crate) fn gelu(x: &mut [f32]) = gelu_of_all
}

/// Keys and values side by side (2 D), in rows that begin `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct KeysValues<'a> {
    pub(crate) numbers: &'a [f32],
    pub(crate) stride: usize,
    /// Rows that are attended to.
    pub(crate) entries: &'a [u32],
}

widest! {
    /// Softmax attention of one query (D), head by head, into `out` (D). `scores` is room for a number of each entry.
    pub(crate) fn attend(q: &[f32], to: KeysValues, heads: usize, scores: &mut [f32], out: &mut [f32]) = attend_generic
}

/// a b + sum, in one rounding: by the processor's own operation, or else by arithmetic that gives the same bits.
#[inline(always)]
pub fn add_product<const FMA: bool>(a: f32, b: f32, sum: f32) -> f32 {
    if FMA { a.mul_add(b, sum) } else { fused_multiply_add(a, b, sum) }
}

#[inline(always)]
fn product_of<const FMA: bool>(sizes: Sizes, a: Rows, b: &[f32], c: RowsMut) {
    let (n, mut column) = (sizes.n, 0);
    for (width, columns) in [(32, n / 32 * 32), (16, n / 16 * 16), (8, n / 8 * 8), (1, n)] {
        while column < columns {
            let c = RowsMut { numbers: &mut *c.numbers, stride: c.stride };
            match width {
                32 => panel::<FMA, 32>(sizes, a, b, c, column),
                16 => panel::<FMA, 16>(sizes, a, b, c, column),
                8 => panel::<FMA, 8>(sizes, a, b, c, column),
                _ => panel::<FMA, 1>(sizes, a, b, c, column),
            }
            column += width;
        }
    }
}

/// W columns of a product, a few rows at a time, whose sums stay in registers.
#[inline(always)]
fn panel<const FMA: bool, const W: usize>(sizes: Sizes, a: Rows, b: &[f32], c: RowsMut, column: usize) {
    let mut row = 0;
    while row < sizes.m {
        let a = Rows { numbers: &a.numbers[row * a.stride..], ..a };
        let c = RowsMut { numbers: &mut c.numbers[row * c.stride + column..], stride: c.stride };
        match sizes.m - row {
            1 => tile::<FMA, 1, W>(sizes, a, &b[column..], c),
            2 => tile::<FMA, 2, W>(sizes, a, &b[column..], c),
            3 => tile::<FMA, 3, W>(sizes, a, &b[column..], c),
            4 => tile::<FMA, 4, W>(sizes, a, &b[column..], c),
            _ => tile::<FMA, 5, W>(sizes, a, &b[column..], c),
        }
        row += (sizes.m - row).min(5);
    }
}

#[inline(always)]
fn tile<const FMA: bool, const R: usize, const W: usize>(sizes: Sizes, a: Rows, b: &[f32], c: RowsMut) {
    let Sizes { k, n, .. } = sizes;
    let RowsMut { numbers: c, stride: c_row } = c;
    let a: [&[f32]; R] = std::array::from_fn(|r| &a.numbers[r * a.stride..][..k]);
    let mut sums = [[0f32; W]; R];
    for (r, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&c[r * c_row..][..W]);
    }
    for i in 0..k {
        let b: &[f32] = &b[i * n..][..W];
        for r in 0..R {
            let x = a[r][i];
            for w in 0..W {
                sums[r][w] = add_product::<FMA>(x, b[w], sums[r][w]);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        c[r * c_row..][..W].copy_from_slice(sums);
    }
}

/// Sum of `f` over the numbers, in sixteen partial sums, so that it can be vectorised.
#[inline(always)]
pub fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (whole, rest) = x.as_chunks::<16>();
    let mut sums = [0f32; 16];
    for x in whole {
        sums = std::array::from_fn(|i| sums[i] + f(x[i]));
    }
    // by halves: else one number waits for the other
    let sums: [f32; 8] = std::array::from_fn(|i| sums[i] + sums[i + 8]);
    let sums: [f32; 4] = std::array::from_fn(|i| sums[i] + sums[i + 4]);
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest.iter().map(|x| f(*x)).sum::<f32>()
}

/// What a layer norm adds to the variance.
pub const EPSILON: f32 = 1e-5;

#[inline(always)]
fn normalise_generic<const FMA: bool>(x: &[f32], weight: &[f32], bias: &[f32], y: &mut [f32]) {
    let d = weight.len();
    let ((weights, last_weights), (biases, last_biases)) = (weight.as_chunks::<16>(), bias.as_chunks::<16>());
    for (x, y) in x.chunks_exact(d).zip(y.chunks_exact_mut(d)) {
        let mean = sum(x, |a| a) / d as f32;
        let variance = sum(x, |a| (a - mean) * (a - mean)) / d as f32;
        let scale = 1.0 / (variance + EPSILON).sqrt();
        let one = |x: f32, weight: f32, bias: f32| add_product::<FMA>((x - mean) * scale, weight, bias);
        let ((xs, last_xs), (ys, last_ys)) = (x.as_chunks::<16>(), y.as_chunks_mut::<16>());
        for (((x, y), weight), bias) in xs.iter().zip(ys).zip(weights).zip(biases) {
            *y = std::array::from_fn(|i| one(x[i], weight[i], bias[i]));
        }
        for (((x, y), weight), bias) in last_xs.iter().zip(last_ys).zip(last_weights).zip(last_biases) {
            *y = one(*x, *weight, *bias);
        }
    }
}

#[inline(always)]
fn attend_generic<const FMA: bool>(q: &[f32], to: KeysValues, heads: usize, scores: &mut [f32], out: &mut [f32]) {
    let (d, size) = (q.len(), q.len() / heads);
    let scale = 1.0 / (size as f32).sqrt();
    let row = |entry: u32| &to.numbers[entry as usize * to.stride..][..2 * d];
    for head in 0..heads {
        let q = &q[head * size..][..size];
        let mut highest = f32::NEG_INFINITY;
        for (score, entry) in scores.iter_mut().zip(to.entries) {
            *score = dot_of::<FMA>(q, &row(*entry)[head * size..][..size]) * scale;
            highest = highest.max(*score);
        }
        scores.iter_mut().for_each(|score| *score = exp::<FMA>(*score - highest));
        let share = 1.0 / sum(scores, |score| score);
        let out = &mut out[head * size..][..size];
        out.fill(0.0);
        for (score, entry) in scores.iter().zip(to.entries) {
            let (share, v) = (score * share, &row(*entry)[d + head * size..][..size]);
            out.iter_mut().zip(v).for_each(|(out, v)| *out = add_product::<FMA>(share, *v, *out));
        }
    }
}

widest! {
    /// Adds a token (D), and the rows of `features` (C, D) in `columns`, times `numbers`, to a sum (D).
    pub(crate) fn grow(sum: &mut [f32], token: &[f32], features: &[f32], columns: &[u16], numbers: &[f32]) = grow_generic
}

#[inline(always)]
fn grow_generic<const FMA: bool>(sum: &mut [f32], token: &[f32], features: &[f32], columns: &[u16], numbers: &[f32]) {
    let d = sum.len();
    sum.iter_mut().zip(token).for_each(|(sum, token)| *sum += token);
    for (column, number) in columns.iter().zip(numbers).filter(|(_, number)| **number != 0.0) {
        let row = &features[*column as usize * d..][..d];
        sum.iter_mut().zip(row).for_each(|(sum, weight)| *sum = add_product::<FMA>(*number, *weight, *sum));
    }
}

/// Numbers below 0 become 0; of two zeros `max` may give either, by the processor.
pub(crate) fn relu(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { 0.0 });
}

/// Sum of the products of as many numbers as the shorter has.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Sum of the products, in eight partial sums.
#[inline(always)]
pub fn dot_of<const FMA: bool>(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (whole_a, whole_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = whole_a.remainder().iter().zip(whole_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in whole_a.zip(whole_b) {
        for i in 0..8 {
            sums[i] = add_product::<FMA>(a[i], b[i], sums[i]);
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[inline(always)]
fn gelu_of_all<const FMA: bool>(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = gelu_of::<FMA>(*x));
}

#[inline(always)]
fn gelu_of<const FMA: bool>(x: f32) -> f32 {
    x * normal::<FMA>(x).below
}

/// The normal distribution's share below x, and its density there. The error function is that of Abramowitz and Stegun 7.1.26 (error below
/// 1.5e-7).
#[inline(always)]
pub fn normal<const FMA: bool>(x: f32) -> Normal {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / add_product::<FMA>(0.327_591_1, z, 1.0);
    let factors = [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6];
    let poly = factors.iter().fold(1.061_405_4, |sum, factor| add_product::<FMA>(sum, t, *factor)) * t;
    let bell = exp::<FMA>(-z * z);
    let erf = (1.0 - poly * bell).copysign(x);
    Normal { below: 0.5 * (1.0 + erf), density: bell * 0.398_942_3 }
}

/// e to the power of a number that is not above 0, without branches, so that it can be vectorised: 2 to the power of its whole part by the bits of
/// the exponent, the rest by a polynomial (Cephes; error below 2e-7 relative).
#[inline(always)]
pub fn exp<const FMA: bool>(x: f32) -> f32 {
    // below it nothing is left but numbers without all their digits
    let x = x.max(-87.0);
    // rounded to the nearest by what adding 1.5 * 2^23 cuts off; the lowest bits are the whole part then
    const ROUND: f32 = 12_582_912.0;
    let shifted = add_product::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    let rest = add_product::<FMA>(whole, 2.121_944_4e-4, add_product::<FMA>(whole, -0.693_359_4, x));
    let factors = [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5];
    let poly = factors.iter().fold(1.987_569_1e-4, |sum, factor| add_product::<FMA>(sum, rest, *factor));
    let poly = add_product::<FMA>(poly, rest * rest, rest + 1.0);
    // not `whole as i32`, which is defined for numbers out of range too, and is done one by one for it
    poly * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;

    #[test]
    fn a_product_of_any_sizes_and_strides_is_that_of_three_loops() {
        let mut rng = test_generator(1);
        for (m, k, n) in [(1, 1, 1), (1, 64, 56), (5, 20, 128), (7, 33, 61), (12, 96, 3), (4, 0, 8), (0, 3, 3)] {
            let (a_row, c_row) = (k + rng.random_range(0..3), n + rng.random_range(0..3));
            let mut numbers = |count: usize| (0..count).map(|_| rng.random::<f32>() - 0.5).collect::<Vec<f32>>();
            let (a, b, before) = (numbers(m * a_row), numbers(k * n), numbers(m * c_row));
            let mut c = before.clone();
            let a_rows = Rows { numbers: &a, stride: a_row };
            product(Sizes { m, k, n }, a_rows, &b, RowsMut { numbers: &mut c, stride: c_row });
            for (at, (after, before)) in c.iter().zip(&before).enumerate() {
                let (row, column) = (at / c_row.max(1), at % c_row.max(1));
                let sum: f64 = match column < n {
                    true => (0..k).map(|i| a[row * a_row + i] as f64 * b[i * n + column] as f64).sum(),
                    false => 0.0,
                };
                assert!((*after as f64 - *before as f64 - sum).abs() < 1e-5, "{m} {k} {n}: {after}");
            }
        }
    }

    #[test]
    fn the_exponential_and_gelu_keep_their_digits() {
        for step in -8_700..=0 {
            let x = step as f32 / 100.0;
            let (found, known) = (exp::<false>(x) as f64, (x as f64).exp());
            assert!((found / known - 1.0).abs() < 4e-7, "exp({x}) = {found}, not {known}");
        }
        assert!(exp::<false>(f32::NEG_INFINITY) < 2e-38);
        // x Phi(x), with Phi by Simpson's rule
        let phi = |x: f64| {
            let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
            let h = x / 1_000.0;
            let inner = |i: usize| density(i as f64 * h) * if i % 2 == 1 { 4.0 } else { 2.0 };
            0.5 + h / 3.0 * (density(0.0) + density(x) + (1..1_000).map(inner).sum::<f64>())
        };
        let mut values: Vec<f32> = (-60..=60).map(|i| i as f32 / 10.0).collect();
        let known: Vec<f64> = values.iter().map(|x| *x as f64 * phi(*x as f64)).collect();
        gelu(&mut values);
        for (found, known) in values.iter().zip(known) {
            assert!((*found as f64 - known).abs() < 2e-6, "{found} {known}");
        }
    }
}
