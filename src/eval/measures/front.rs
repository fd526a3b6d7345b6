//! How good a predicted Pareto front of time and energy is: the share of the true front's hypervolume that its configs reach.

/// Time and energy of a config.
#[derive(Clone, Copy, Debug)]
pub struct TimeEnergy {
    /// Time, in any unit.
    pub time: f64,
    /// Energy, in any unit.
    pub energy: f64,
}

/// Area that points of time and energy dominate, up to the reference point. Points beyond the reference add nothing.
fn hypervolume(points: &[TimeEnergy], reference: TimeEnergy) -> f64 {
    let is_within = |point: &TimeEnergy| point.time < reference.time && point.energy < reference.energy;
    let mut sorted: Vec<TimeEnergy> = points.iter().copied().filter(is_within).collect();
    sorted.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.energy.total_cmp(&b.energy)));
    let mut below = reference.energy;
    let mut area = 0.0;
    for TimeEnergy { time, energy } in sorted {
        if energy < below {
            area += (reference.time - time) * (below - energy);
            below = energy;
        }
    }
    area
}

/// Hypervolume of the true costs of `chosen` over that of `all`, the reference at the greatest time and the greatest energy of all; `None`
/// where all configs are level in one of them.
pub fn share(all: &[TimeEnergy], chosen: &[TimeEnergy]) -> Option<f64> {
    let worst = |of: fn(&TimeEnergy) -> f64| all.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let reference = TimeEnergy { time: worst(|point| point.time), energy: worst(|point| point.energy) };
    let whole = hypervolume(all, reference);
    (whole > 0.0).then(|| hypervolume(chosen, reference) / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_without_one_of_its_points_lacks_the_area_that_this_alone_dominates() {
        let at = |time: f64, energy: f64| TimeEnergy { time, energy };
        let all = [at(1.0, 4.0), at(2.0, 2.0), at(4.0, 1.0), at(5.0, 5.0), at(3.0, 3.0)];
        // 4 x 1 + 3 x 2 + 1 x 1
        assert_eq!(hypervolume(&all, at(5.0, 5.0)), 11.0);
        assert_eq!(share(&all, &all), Some(1.0));
        assert_eq!(share(&all, &[at(1.0, 4.0), at(4.0, 1.0), at(3.0, 3.0)]), Some((4.0 + 2.0 + 2.0) / 11.0));
        assert_eq!(share(&all, &[]), Some(0.0));
        assert_eq!(share(&[at(1.0, 2.0), at(1.0, 3.0)], &[at(1.0, 2.0)]), None);
    }
}
