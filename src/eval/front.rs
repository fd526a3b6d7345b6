//! How good a predicted Pareto front of time and energy is: the share of the true front's hypervolume that its configs reach.

/// Area that points (time, energy) dominate, up to the reference point. Points beyond the reference add nothing.
fn hypervolume(points: &[(f64, f64)], reference: (f64, f64)) -> f64 {
    let mut sorted: Vec<(f64, f64)> =
        points.iter().copied().filter(|p| p.0 < reference.0 && p.1 < reference.1).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut below = reference.1;
    let mut area = 0.0;
    for (time, energy) in sorted {
        if energy < below {
            area += (reference.0 - time) * (below - energy);
            below = energy;
        }
    }
    area
}

/// Hypervolume of the true costs of `chosen` over that of `all`, the reference at the greatest time and the greatest energy of all; `None`
/// where all configs are level in one of them.
pub fn share(all: &[(f64, f64)], chosen: &[(f64, f64)]) -> Option<f64> {
    let worst = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let reference = (worst(|p| p.0), worst(|p| p.1));
    let whole = hypervolume(all, reference);
    (whole > 0.0).then(|| hypervolume(chosen, reference) / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_without_one_of_its_points_lacks_the_area_that_this_alone_dominates() {
        let all = [(1.0, 4.0), (2.0, 2.0), (4.0, 1.0), (5.0, 5.0), (3.0, 3.0)];
        // 4 x 1 + 3 x 2 + 1 x 1
        assert_eq!(hypervolume(&all, (5.0, 5.0)), 11.0);
        assert_eq!(share(&all, &all), Some(1.0));
        assert_eq!(share(&all, &[(1.0, 4.0), (4.0, 1.0), (3.0, 3.0)]), Some((4.0 + 2.0 + 2.0) / 11.0));
        assert_eq!(share(&all, &[]), Some(0.0));
        assert_eq!(share(&[(1.0, 2.0), (1.0, 3.0)], &[(1.0, 2.0)]), None);
    }
}
