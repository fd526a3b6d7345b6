//! k-medoids by Voronoi iteration (Park & Jun 2009): each item belongs to its nearest medoid, whose place the most central item takes.

/// Rounds at most: the iteration ends by itself.
const ROUNDS: usize = 100;

/// Places of the medoids of `items`.
pub(super) fn k_medoids<T>(items: &[T], count: usize, distance: &dyn Fn(&T, &T) -> f64) -> Vec<usize> {
    let between: Vec<Vec<f64>> = items.iter().map(|a| items.iter().map(|b| distance(a, b)).collect()).collect();
    let sum = |at: usize, members: &[usize]| members.iter().map(|member| between[at][*member]).sum::<f64>();
    let central =
        |members: &[usize]| members.iter().copied().min_by(|a, b| sum(*a, members).total_cmp(&sum(*b, members)));
    let all: Vec<usize> = (0..items.len()).collect();
    let mut medoids: Vec<usize> = central(&all).into_iter().collect();
    // each further one is the item that is farthest from those there are
    while medoids.len() < count.min(items.len()) {
        let from = |at: usize| medoids.iter().map(|medoid| between[at][*medoid]).fold(f64::INFINITY, f64::min);
        let Some(next) = all.iter().copied().max_by(|a, b| from(*a).total_cmp(&from(*b)).then(b.cmp(a))) else { break };
        medoids.push(next);
    }
    for _ in 0..ROUNDS {
        let mut clusters: Vec<Vec<usize>> = vec![Vec::new(); medoids.len()];
        for at in &all {
            let nearest =
                (0..medoids.len()).min_by(|a, b| between[*at][medoids[*a]].total_cmp(&between[*at][medoids[*b]]));
            clusters[nearest.unwrap_or(0)].push(*at);
        }
        let next: Vec<usize> =
            clusters.iter().zip(&medoids).map(|(members, medoid)| central(members).unwrap_or(*medoid)).collect();
        if next == medoids {
            break;
        }
        medoids = next;
    }
    medoids
}

#[cfg(test)]
mod tests {
    use super::k_medoids;

    #[test]
    fn medoids_are_the_middles_of_groups() {
        let items: [f64; 8] = [1.0, 2.0, 3.0, 101.0, 102.0, 103.0, 104.0, 105.0];
        let distance = |a: &f64, b: &f64| (a - b).abs();
        let mut found: Vec<f64> = k_medoids(&items, 2, &distance).iter().map(|at| items[*at]).collect();
        found.sort_by(f64::total_cmp);
        assert_eq!(found, [2.0, 103.0]);
        assert_eq!(k_medoids(&items, 20, &distance).len(), 8);
    }
}
