//! Selection by non-dominated fronts and crowding: NSGA-II (Deb, Pratap, Agarwal and Meyarivan, 2002). Less is better in both objectives.

use std::cmp::Ordering;

/// Two objectives of an individual.
pub type Point = [f64; 2];

fn dominates(a: &Point, b: &Point) -> bool {
    a[0] <= b[0] && a[1] <= b[1] && a != b
}

/// Indices by fronts: the first is dominated by nobody, the second by the first alone, and so on.
pub fn fronts(points: &[Point]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..points.len()).collect();
    let mut all = Vec::new();
    while !left.is_empty() {
        let is_free = |at: &usize| !left.iter().any(|other| dominates(&points[*other], &points[*at]));
        let front: Vec<usize> = left.iter().copied().filter(is_free).collect();
        left.retain(|at| !front.contains(at));
        all.push(front);
    }
    all
}

/// Room that each individual of a front has between its neighbours; infinite at the ends.
pub fn crowding(points: &[Point], front: &[usize]) -> Vec<f64> {
    let mut room = vec![0.0; front.len()];
    let objectives: [fn(&Point) -> f64; 2] = [|point| point[0], |point| point[1]];
    for objective in objectives {
        let value = |at: usize| objective(&points[front[at]]);
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
        let (Some(first), Some(last)) = (order.first().copied(), order.last().copied()) else { continue };
        let range = value(last) - value(first);
        room[first] = f64::INFINITY;
        room[last] = f64::INFINITY;
        for three in order.windows(3) {
            let gap = value(three[2]) - value(three[0]);
            room[three[1]] += if range > 0.0 { gap / range } else { 0.0 };
        }
    }
    room
}

/// A place in the order of selection: front first, then room.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    front: usize,
    room: f64,
}

impl Rank {
    /// Whether this one is chosen before another one.
    pub fn is_before(&self, other: &Rank) -> bool {
        self.order(other) == Ordering::Less
    }

    fn order(&self, other: &Rank) -> Ordering {
        self.front.cmp(&other.front).then(other.room.total_cmp(&self.room))
    }
}

/// Rank of each individual.
pub fn ranks(points: &[Point]) -> Vec<Rank> {
    let mut all = vec![Rank { front: 0, room: 0.0 }; points.len()];
    for (number, front) in fronts(points).into_iter().enumerate() {
        for (at, room) in front.iter().zip(crowding(points, &front)) {
            all[*at] = Rank { front: number, room };
        }
    }
    all
}

/// The `count` individuals that survive, best first.
pub fn survivors(points: &[Point], count: usize) -> Vec<usize> {
    let ranks = ranks(points);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| ranks[*a].order(&ranks[*b]).then(a.cmp(b)));
    order.truncate(count);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn fronts_are_those_of_their_definition_on_random_points() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for _ in 0..200 {
            let count = rng.random_range(1..30);
            // few values, so that some are equal
            let points: Vec<Point> =
                (0..count).map(|_| [0, 0].map(|_: i32| f64::from(rng.random_range(0..6)))).collect();
            let all = fronts(&points);
            assert_eq!(all.iter().map(Vec::len).sum::<usize>(), count);
            for (number, front) in all.iter().enumerate() {
                for at in front {
                    // the longest chain of individuals of which each dominates the next ends in the front of its length
                    let before =
                        all[..number].last().is_none_or(|f| f.iter().any(|o| dominates(&points[*o], &points[*at])));
                    let among = front.iter().any(|other| dominates(&points[*other], &points[*at]));
                    assert!(before && !among, "{points:?}");
                }
            }
        }
    }

    #[test]
    fn survivors_keep_the_ends_of_the_first_front_and_the_lonely_ones() {
        let points = [[0.0, 9.0], [9.0, 0.0], [4.0, 4.0], [4.1, 3.95], [4.2, 3.9], [9.0, 9.0]];
        let kept = survivors(&points, 3);
        assert!(kept.contains(&0) && kept.contains(&1) && !kept.contains(&5), "{kept:?}");
        assert_eq!(survivors(&points, 10).len(), 6);
        assert_eq!(*survivors(&points, 6).last().unwrap(), 5);
    }

    #[test]
    fn selection_alone_drives_a_known_problem_to_its_front() {
        // Schaffer's first problem: x^2 and (x - 2)^2, whose best are x from 0 to 2
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let point = |x: &f64| [x * x, (x - 2.0) * (x - 2.0)];
        let mut all: Vec<f64> = (0..24).map(|_| rng.random_range(-50.0..50.0)).collect();
        for _ in 0..60 {
            let children: Vec<f64> =
                (0..24).map(|_| all[rng.random_range(0..all.len())] + rng.random_range(-2.0..2.0)).collect();
            all.extend(children);
            let points: Vec<Point> = all.iter().map(point).collect();
            all = survivors(&points, 24).into_iter().map(|at| all[at]).collect();
        }
        let [least, most] = [f64::min, f64::max].map(|pick| all.iter().copied().reduce(pick).unwrap());
        assert!((-0.2..0.3).contains(&least) && (1.7..2.2).contains(&most), "{all:?}");
    }
}
