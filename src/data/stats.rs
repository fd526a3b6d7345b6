//! Medians, quantiles and means.

/// Median of unsorted values; NaN where there are none.
pub fn median(samples: &[f32]) -> f64 {
    unsorted_quantile(samples, 0.5)
}

/// Quantile `q` in [0, 1] of unsorted values, linear between neighbours; NaN where there are none.
pub fn unsorted_quantile(samples: &[f32], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f32::total_cmp);
    quantile(&sorted, q)
}

/// Quantile `q` in [0, 1] of sorted values, linear between neighbours; NaN where there are none.
pub fn quantile<T: Copy + Into<f64>>(sorted: &[T], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = q * last as f64;
    let (low, high) = (sorted[at.floor() as usize].into(), sorted[at.ceil() as usize].into());
    low + (high - low) * at.fract()
}

/// Interval of 95 % of the median of sorted values, whatever their distribution: order statistics n/2 -+ 0.98 sqrt(n), linear between neighbours.
pub fn median_interval<T: Copy + Into<f64>>(sorted: &[T]) -> [f64; 2] {
    let reach = 0.98 / (sorted.len() as f64).sqrt();
    [(0.5 - reach).max(0.0), (0.5 + reach).min(1.0)].map(|q| quantile(sorted, q))
}

/// Geometric mean of positive values; NaN where there are none.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}
