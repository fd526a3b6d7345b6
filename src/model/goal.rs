//! What boosted trees are fitted to: values, or an order within lists.

use super::loss::relevance;
use std::ops::Range;

/// What is learned.
pub enum Goal {
    /// Each row's value, and how much it counts.
    Values(Vec<(f32, f32)>),
    /// The order within lists: so many rows each, with the cost of each row relative to the best of its list.
    Order(Vec<usize>, Vec<f32>),
}

impl Default for Goal {
    fn default() -> Goal {
        Goal::Order(Vec::new(), Vec::new())
    }
}

impl Goal {
    /// What is said before there is a tree.
    pub(super) fn base(&self) -> f32 {
        match self {
            Goal::Values(values) => {
                let weight: f32 = values.iter().map(|(_, weight)| weight).sum();
                values.iter().map(|(value, weight)| value * weight).sum::<f32>() / weight.max(f32::MIN_POSITIVE)
            }
            Goal::Order(..) => 0.0,
        }
    }

    /// First and second derivative of the loss by each row's score.
    pub(super) fn slopes(&self, scores: &[f32], slopes: &mut [[f32; 2]]) {
        match self {
            Goal::Values(values) => {
                for ((slope, (value, weight)), score) in slopes.iter_mut().zip(values).zip(scores) {
                    *slope = [(score - value) * weight, *weight];
                }
            }
            Goal::Order(lists, costs) => {
                slopes.fill([0.0; 2]);
                for list in ranges(lists) {
                    order(&costs[list.clone()], &scores[list.clone()], &mut slopes[list]);
                }
            }
        }
    }

    /// What is judged by: the squared error, or 1 less the mean discounted gain of the first three.
    pub(super) fn loss(&self, scores: &[f32]) -> f64 {
        match self {
            Goal::Values(values) => {
                let one = |((value, weight), score): (&(f32, f32), &f32)| (weight * (score - value).powi(2)) as f64;
                values.iter().zip(scores).map(one).sum::<f64>()
            }
            Goal::Order(lists, costs) => {
                let one = |list: Range<usize>| gain_of_three(&costs[list.clone()], &scores[list]);
                1.0 - ranges(lists).map(one).sum::<f64>() / lists.len().max(1) as f64
            }
        }
    }
}

fn ranges(lists: &[usize]) -> impl Iterator<Item = Range<usize>> {
    lists.iter().scan(0, |at, count| {
        *at += count;
        Some(*at - count..*at)
    })
}

fn gain(cost: f32) -> f64 {
    relevance(cost as f64).round().exp2() - 1.0
}

fn discount(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

/// Places of a list, the highest score first.
fn by_score(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

/// The discounted gain of the best order, of the first `count`.
fn ideal(costs: &[f32], count: usize) -> f64 {
    let mut gains: Vec<f64> = costs.iter().map(|c| gain(*c)).collect();
    gains.sort_by(|a, b| b.total_cmp(a));
    gains.iter().take(count).enumerate().map(|(place, gain)| gain * discount(place)).sum()
}

fn gain_of_three(costs: &[f32], scores: &[f32]) -> f64 {
    let found: f64 =
        by_score(scores).iter().take(3).enumerate().map(|(place, i)| gain(costs[*i]) * discount(place)).sum();
    found / ideal(costs, 3)
}

/// Places of a list beyond which order does not matter.
const DEEP: usize = 10;

/// LambdaMART's slopes of one list (Burges 2010): each pair in question pulls as hard as its exchange would change the discounted gain, pairs of
/// near scores harder, lists alike.
fn order(costs: &[f32], scores: &[f32], slopes: &mut [[f32; 2]]) {
    let sorted = by_score(scores);
    let gains: Vec<f64> = costs.iter().map(|c| gain(*c)).collect();
    let most = ideal(costs, DEEP);
    let spread = sorted.first().zip(sorted.last()).is_some_and(|(first, last)| scores[*first] != scores[*last]);
    let mut pull = 0.0;
    let mut exact = vec![[0.0f64; 2]; costs.len()];
    for (place, &i) in sorted.iter().enumerate().take(DEEP) {
        for (other, &j) in sorted.iter().enumerate().skip(place + 1) {
            if gains[i] == gains[j] {
                continue;
            }
            let (high, low) = if gains[i] > gains[j] { (i, j) } else { (j, i) };
            let apart = (scores[high] - scores[low]) as f64;
            let mut change = (gains[high] - gains[low]) * (discount(place) - discount(other)).abs() / most;
            if spread {
                change /= 0.01 + apart.abs();
            }
            let wrong = 1.0 / (1.0 + apart.exp());
            let (slope, curve) = (change * wrong, change * wrong * (1.0 - wrong));
            exact[high][0] -= slope;
            exact[low][0] += slope;
            exact[high][1] += curve;
            exact[low][1] += curve;
            pull += 2.0 * slope;
        }
    }
    let scale = if pull > 0.0 { (1.0 + pull).log2() / pull } else { 1.0 };
    slopes.iter_mut().zip(exact).for_each(|(slope, exact)| *slope = exact.map(|x| (x * scale) as f32));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_pull_the_better_up_and_add_up_to_nothing() {
        let goal = Goal::Order(vec![3, 2], vec![1.0, 1.2, 2.0, 1.0, 1.05]);
        let mut slopes = vec![[0.0; 2]; 5];
        goal.slopes(&[0.0, 0.5, 1.0, 0.3, 0.1], &mut slopes);
        assert!(slopes[0][0] < 0.0 && slopes[2][0] > 0.0 && slopes[3][0] < 0.0 && slopes[4][0] > 0.0, "{slopes:?}");
        for list in [0..3, 3..5] {
            let sum: f32 = slopes[list].iter().map(|s| s[0]).sum();
            assert!(sum.abs() < 1e-6, "{slopes:?}");
        }
        assert!(slopes.iter().all(|s| s[1] > 0.0), "{slopes:?}");
    }

    #[test]
    fn the_right_order_has_no_loss_and_the_best_third_some() {
        let goal = Goal::Order(vec![4], vec![1.0, 1.1, 1.3, 2.0]);
        assert!(goal.loss(&[4.0, 3.0, 2.0, 1.0]).abs() < 1e-12);
        let third = goal.loss(&[2.0, 4.0, 3.0, 1.0]);
        assert!(third > 0.3 && goal.loss(&[1.0, 3.0, 2.0, 4.0]) > third, "{third}");
    }
}
