//! The decoder's own loops, forward and backward: what libtorch would spread over many passes through memory. The processor's widest vectors
//! are chosen at run time.
//!
//! Letters of the shapes: m rows, D the model width, H heads, E entries that a query attends to.

use seqtune_predict::network::simd::{EPSILON, Normal, add_product, dot_of, exp, normal, sum};
use seqtune_predict::widest;

widest! {
    /// Each row of `x` (m, D) less its mean, over its deviation, into `hat` (m, D), one over the deviation into `scales` (m), and the row
    /// times `weight` (D), plus `bias` (D), into `y` (m, D).
    pub(crate) fn normalise(x: &[f32], weight: &[f32], bias: &[f32], hat: &mut [f32], scales: &mut [f32], y: &mut [f32])
        = normalise_generic
}

#[inline(always)]
fn normalise_generic<const FMA: bool>(
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    hat: &mut [f32],
    scales: &mut [f32],
    y: &mut [f32],
) {
    let d = weight.len();
    let rows = x.chunks_exact(d).zip(hat.chunks_exact_mut(d)).zip(y.chunks_exact_mut(d)).zip(scales);
    for (((x, hat), y), scale) in rows {
        let mean = sum(x, |a| a) / d as f32;
        let variance = sum(x, |a| (a - mean) * (a - mean)) / d as f32;
        *scale = 1.0 / (variance + EPSILON).sqrt();
        for i in 0..d {
            hat[i] = (x[i] - mean) * *scale;
            y[i] = add_product::<FMA>(hat[i], weight[i], bias[i]);
        }
    }
}

/// What a layer norm remembers, see [`normalise`].
#[derive(Clone, Copy)]
pub(crate) struct NormMemory<'a> {
    pub(crate) hat: &'a [f32],
    pub(crate) scales: &'a [f32],
    pub(crate) weight: &'a [f32],
}

widest! {
    /// Adds to `dx` (m, D) what the gradient `dy` (m, D) of a layer norm's output means for its input, to `dweight` and `dbias` (D) what it
    /// means for these.
    pub(crate) fn normalise_back(dy: &[f32], of: NormMemory, dx: &mut [f32], dweight: &mut [f32], dbias: &mut [f32])
        = normalised_back
}

#[inline(always)]
fn normalised_back<const FMA: bool>(
    dy: &[f32],
    of: NormMemory,
    dx: &mut [f32],
    dweight: &mut [f32],
    dbias: &mut [f32],
) {
    let d = of.weight.len();
    let (weight, dweight, dbias) = (&of.weight[..d], &mut dweight[..d], &mut dbias[..d]);
    let rows = dy.chunks_exact(d).zip(of.hat.chunks_exact(d)).zip(dx.chunks_exact_mut(d)).zip(of.scales);
    for (((dy, hat), dx), scale) in rows {
        let (mut sums, mut products) = ([0f32; 16], [0f32; 16]);
        for i in 0..d {
            let g = dy[i] * weight[i];
            sums[i % 16] += g;
            products[i % 16] = add_product::<FMA>(g, hat[i], products[i % 16]);
            dweight[i] = add_product::<FMA>(dy[i], hat[i], dweight[i]);
            dbias[i] += dy[i];
        }
        let (mean, slope) = (sum(&sums, |a| a) / d as f32, sum(&products, |a| a) / d as f32);
        for i in 0..d {
            let g = dy[i] * weight[i] - mean;
            dx[i] = add_product::<FMA>(add_product::<FMA>(-hat[i], slope, g), *scale, dx[i]);
        }
    }
}

widest! {
    /// x Phi(x) of each number of `x` (m, D) plus `bias` (D), into `y`; `x` becomes the slope there.
    pub(crate) fn gelu(x: &mut [f32], bias: &[f32], y: &mut [f32]) = gelu_of_all
}

#[inline(always)]
fn gelu_of_all<const FMA: bool>(x: &mut [f32], bias: &[f32], y: &mut [f32]) {
    let d = bias.len();
    for (x, y) in x.chunks_exact_mut(d).zip(y.chunks_exact_mut(d)) {
        for i in 0..d {
            let sum = x[i] + bias[i];
            let Normal { below: phi, density } = normal::<FMA>(sum);
            y[i] = sum * phi;
            x[i] = add_product::<FMA>(sum, density, phi);
        }
    }
}

widest! {
    /// Adds `y` (rows, D) plus `bias` (D) to `x`, each number times that of `mask` (D) at the same place.
    pub(crate) fn add_masked(x: &mut [f32], y: &[f32], bias: &[f32], mask: &[f32]) = added_masked
}

#[inline(always)]
fn added_masked<const FMA: bool>(x: &mut [f32], y: &[f32], bias: &[f32], mask: &[f32]) {
    let d = bias.len();
    let mask = &mask[..d];
    for (x, y) in x.chunks_exact_mut(d).zip(y.chunks_exact(d)) {
        for i in 0..d {
            x[i] = add_product::<FMA>(y[i] + bias[i], mask[i], x[i]);
        }
    }
}

widest! {
    /// Adds the rows of `x` (m, D) to `sum` (D).
    pub(crate) fn add_rows(x: &[f32], sum: &mut [f32]) = added_rows
}

#[inline(always)]
fn added_rows<const FMA: bool>(x: &[f32], sum: &mut [f32]) {
    let d = sum.len();
    for x in x.chunks_exact(d) {
        for i in 0..d {
            sum[i] += x[i];
        }
    }
}

/// Keys and values side by side (2 D), in rows that begin `stride` apart, of which the first begins at `first`.
#[derive(Clone, Copy)]
pub(crate) struct KeysValues<'a> {
    pub(crate) numbers: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) first: usize,
    pub(crate) width: usize,
}

impl<'a> KeysValues<'a> {
    fn row(&self, entry: u32) -> (&'a [f32], &'a [f32]) {
        self.numbers[self.first + entry as usize * self.stride..][..2 * self.width].split_at(self.width)
    }
}

widest! {
    /// Softmax attention of one query (D) to the rows `entries` (E), head by head, into `out` (D); the shares into `shares` (H, E).
    pub(crate) fn attend(q: &[f32], to: KeysValues, entries: &[u32], shares: &mut [f32], out: &mut [f32]) = attend_generic
}

#[inline(always)]
fn attend_generic<const FMA: bool>(q: &[f32], to: KeysValues, entries: &[u32], shares: &mut [f32], out: &mut [f32]) {
    // the usual widths of a head are known to the compiler
    match width_of_heads(q, entries, shares) {
        16 => attended_by::<FMA, 16>(q, to, entries, shares, out),
        32 => attended_by::<FMA, 32>(q, to, entries, shares, out),
        _ => attended_by::<FMA, 0>(q, to, entries, shares, out),
    }
}

/// Numbers of a head, of which there are as many as shares of each entry.
#[inline(always)]
fn width_of_heads(q: &[f32], entries: &[u32], shares: &[f32]) -> usize {
    q.len() / (shares.len() / entries.len())
}

/// With heads of W numbers, or, where W is 0, of as many as there are.
#[inline(always)]
fn attended_by<const FMA: bool, const W: usize>(
    q: &[f32],
    to: KeysValues,
    entries: &[u32],
    shares: &mut [f32],
    out: &mut [f32],
) {
    let size = if W > 0 { W } else { width_of_heads(q, entries, shares) };
    let (scale, count) = (1.0 / (size as f32).sqrt(), entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let heads = q.chunks_exact(size).zip(to.row(*entry).0.chunks_exact(size));
        for ((q, k), shares) in heads.zip(shares.chunks_exact_mut(count)) {
            shares[at] = product::<FMA, W>(q, k) * scale;
        }
    }
    for shares in shares.chunks_exact_mut(count) {
        let highest = shares.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        shares.iter_mut().for_each(|share| *share -= highest);
    }
    shares.iter_mut().for_each(|share| *share = exp::<FMA>(*share));
    for shares in shares.chunks_exact_mut(count) {
        let all = 1.0 / shares.iter().sum::<f32>();
        shares.iter_mut().for_each(|share| *share *= all);
    }
    out.fill(0.0);
    for (at, entry) in entries.iter().enumerate() {
        let heads = out.chunks_exact_mut(size).zip(to.row(*entry).1.chunks_exact(size));
        for ((out, v), shares) in heads.zip(shares.chunks_exact(count)) {
            add_scaled::<FMA, W>(out, v, shares[at]);
        }
    }
}

/// What a query's attention remembers.
#[derive(Clone, Copy)]
pub(crate) struct Attended<'a> {
    /// The query (D).
    pub(crate) q: &'a [f32],
    pub(crate) to: KeysValues<'a>,
    /// Rows that it attended to (E).
    pub(crate) entries: &'a [u32],
    /// By head and entry, the share: (H, E).
    pub(crate) shares: &'a [f32],
}

widest! {
    /// What the gradient `dout` (D) of [`attend`]'s output means: for the query into `dq` (D), for keys and values added to `to`, which lies
    /// as those do. `scratch` is room for as many numbers as there are shares.
    pub(crate) fn attend_back(dout: &[f32], of: Attended, dq: &mut [f32], to: &mut [f32], scratch: &mut [f32])
        = attended_back
}

#[inline(always)]
fn attended_back<const FMA: bool>(dout: &[f32], of: Attended, dq: &mut [f32], to: &mut [f32], scratch: &mut [f32]) {
    match width_of_heads(of.q, of.entries, of.shares) {
        16 => attended_back_by::<FMA, 16>(dout, of, dq, to, scratch),
        32 => attended_back_by::<FMA, 32>(dout, of, dq, to, scratch),
        _ => attended_back_by::<FMA, 0>(dout, of, dq, to, scratch),
    }
}

#[inline(always)]
fn attended_back_by<const FMA: bool, const W: usize>(
    dout: &[f32],
    of: Attended,
    dq: &mut [f32],
    to: &mut [f32],
    scratch: &mut [f32],
) {
    let size = if W > 0 { W } else { width_of_heads(of.q, of.entries, of.shares) };
    let (scale, count, d) = (1.0 / (size as f32).sqrt(), of.entries.len(), of.to.width);
    let slopes = &mut scratch[..of.shares.len()];
    for (at, entry) in of.entries.iter().enumerate() {
        let heads = dout.chunks_exact(size).zip(of.to.row(*entry).1.chunks_exact(size));
        for ((dout, v), slopes) in heads.zip(slopes.chunks_exact_mut(count)) {
            slopes[at] = product::<FMA, W>(dout, v);
        }
    }
    for (slopes, shares) in slopes.chunks_exact_mut(count).zip(of.shares.chunks_exact(count)) {
        let mean: f32 = slopes.iter().zip(shares).map(|(slope, share)| slope * share).sum();
        slopes.iter_mut().zip(shares).for_each(|(slope, share)| *slope = (*slope - mean) * share * scale);
    }
    dq.fill(0.0);
    for (at, entry) in of.entries.iter().enumerate() {
        let (dk, dv) = to[of.to.first + *entry as usize * of.to.stride..][..2 * d].split_at_mut(d);
        let keys = of.q.chunks_exact(size).zip(of.to.row(*entry).0.chunks_exact(size));
        let changed = dq.chunks_exact_mut(size).zip(dk.chunks_exact_mut(size));
        for (((q, k), (dq, dk)), slopes) in keys.zip(changed).zip(slopes.chunks_exact(count)) {
            add_scaled::<FMA, W>(dq, k, slopes[at]);
            add_scaled::<FMA, W>(dk, q, slopes[at]);
        }
        let values = dout.chunks_exact(size).zip(dv.chunks_exact_mut(size));
        for ((dout, dv), shares) in values.zip(of.shares.chunks_exact(count)) {
            add_scaled::<FMA, W>(dv, dout, shares[at]);
        }
    }
}

/// Sum of the products of W numbers, or of all where W is 0.
#[inline(always)]
fn product<const FMA: bool, const W: usize>(a: &[f32], b: &[f32]) -> f32 {
    if W == 0 {
        return dot_of::<FMA>(a, b);
    }
    let (a, b) = (&a[..W], &b[..W]);
    let mut products = [0f32; 16];
    for (i, product) in products.iter_mut().enumerate() {
        *product = a[i] * b[i];
    }
    for first in (16..W).step_by(16) {
        for (i, product) in products.iter_mut().enumerate() {
            *product = add_product::<FMA>(a[first + i], b[first + i], *product);
        }
    }
    sum(&products, |x| x)
}

/// Adds W numbers of `x` to a sum, or all where W is 0, times `scale`.
#[inline(always)]
fn add_scaled<const FMA: bool, const W: usize>(sum: &mut [f32], x: &[f32], scale: f32) {
    let count = if W > 0 { W } else { sum.len() };
    let (sum, x) = (&mut sum[..count], &x[..count]);
    for i in 0..count {
        sum[i] = add_product::<FMA>(scale, x[i], sum[i]);
    }
}
