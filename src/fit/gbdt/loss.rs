//! What boosted trees are fitted to: values, or a distribution over the configs of each problem.

use seqtune_predict::numeric::softmax::softmax;
use std::ops::Range;

/// A row's value, and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedValue {
    /// The value.
    pub value: f32,
    /// Its weight.
    pub weight: f32,
}

impl WeightedValue {
    /// Square of how far a score is from the value, by its weight.
    fn squared_error(self, score: f32) -> f64 {
        (self.weight * (score - self.value).powi(2)) as f64
    }
}

/// What is learned of rows.
pub enum Loss {
    /// Values of rows.
    SquaredError(Vec<WeightedValue>),
    /// As [`Loss::SquaredError`], in groups that each have an offset of their own, fitted along.
    Grouped(Groups, Vec<WeightedValue>),
    /// ListNet of so many rows each, and for each row how probable it is to be in its list: the softmax of the scores of the list's rows is to
    /// be that (ListNet, Cao et al. 2007).
    ListNet(Vec<usize>, Vec<f32>),
}

/// Groups of rows with offsets (random intercepts, Laird and Ware 1982). Of few rows a group's mean is no measure to centre by.
pub struct Groups {
    /// Rows of each.
    pub rows: Vec<usize>,
    /// Rows of weight 1 that draw an offset to nought as strongly: more than 0 where values of different groups compare.
    pub drawn: f32,
}

impl Groups {
    /// What a group's values are above their scores.
    fn offset(&self, values: &[WeightedValue], scores: &[f32]) -> f32 {
        let weight: f32 = values.iter().map(|row| row.weight).sum();
        let above = values.iter().zip(scores).map(|(row, score)| row.weight * (row.value - score));
        above.sum::<f32>() / (weight + self.drawn)
    }
}

impl Default for Loss {
    fn default() -> Loss {
        Loss::ListNet(Vec::new(), Vec::new())
    }
}

/// Least curvature of a list's loss by one score: a row that is hardly probable moves in bounded steps.
const FLATTEST: f64 = 1e-4;

impl Loss {
    /// Prediction before there is a tree.
    pub(crate) fn base(&self) -> f32 {
        match self {
            Loss::SquaredError(values) | Loss::Grouped(_, values) => {
                let weight: f32 = values.iter().map(|row| row.weight).sum();
                values.iter().map(|row| row.value * row.weight).sum::<f32>() / weight.max(f32::MIN_POSITIVE)
            }
            Loss::ListNet(..) => 0.0,
        }
    }

    /// First and second derivative of the loss by each row's score.
    pub(crate) fn gradients(&self, scores: &[f32], gradients: &mut [[f32; 2]]) {
        match self {
            Loss::SquaredError(values) => {
                for ((gradient, WeightedValue { value, weight }), score) in gradients.iter_mut().zip(values).zip(scores)
                {
                    *gradient = [(score - value) * weight, *weight];
                }
            }
            Loss::Grouped(groups, values) => {
                for group in ranges(&groups.rows) {
                    let (values, scores) = (&values[group.clone()], &scores[group.clone()]);
                    let offset = groups.offset(values, scores);
                    for ((gradient, WeightedValue { value, weight }), score) in
                        gradients[group].iter_mut().zip(values).zip(scores)
                    {
                        *gradient = [(score + offset - value) * weight, *weight];
                    }
                }
            }
            Loss::ListNet(lists, target) => {
                for list in ranges(lists) {
                    let predicted = shares(&scores[list.clone()]);
                    for ((gradient, target), predicted) in
                        gradients[list.clone()].iter_mut().zip(&target[list]).zip(predicted)
                    {
                        *gradient = [predicted as f32 - target, (predicted * (1.0 - predicted)).max(FLATTEST) as f32];
                    }
                }
            }
        }
    }

    /// What is judged by: the squared error, with that of the offsets, or the mean cross-entropy of a list in nats.
    pub(crate) fn mean(&self, scores: &[f32]) -> f64 {
        match self {
            Loss::SquaredError(values) => squared_error(values, scores, 0.0),
            Loss::Grouped(groups, values) => {
                let one = |group: Range<usize>| -> f64 {
                    let (values, scores) = (&values[group.clone()], &scores[group]);
                    let offset = groups.offset(values, scores);
                    squared_error(values, scores, offset) + (groups.drawn * offset * offset) as f64
                };
                ranges(&groups.rows).map(one).sum()
            }
            Loss::ListNet(lists, target) => {
                let one = |list: Range<usize>| -> f64 {
                    let predicted = shares(&scores[list.clone()]);
                    target[list].iter().zip(predicted).map(|(t, s)| -*t as f64 * s.max(f64::MIN_POSITIVE).ln()).sum()
                };
                ranges(lists).map(one).sum::<f64>() / lists.len().max(1) as f64
            }
        }
    }
}

/// Of scores with an offset, by how much each row counts.
fn squared_error(values: &[WeightedValue], scores: &[f32], offset: f32) -> f64 {
    values.iter().zip(scores).map(|(row, score)| row.squared_error(score + offset)).sum()
}

fn shares(scores: &[f32]) -> Vec<f64> {
    let scores: Vec<f64> = scores.iter().map(|s| *s as f64).collect();
    softmax(&scores, 1.0)
}

fn ranges(lists: &[usize]) -> impl Iterator<Item = Range<usize>> {
    lists.iter().scan(0, |at, count| {
        *at += count;
        Some(*at - count..*at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_loss() {
        let values = [(1.0, 0.5), (0.0, 1.0), (-1.0, 2.0), (0.3, 1.0), (0.1, 1.0)];
        let values: Vec<WeightedValue> =
            values.into_iter().map(|(value, weight)| WeightedValue { value, weight }).collect();
        let goals = [
            Loss::ListNet(vec![3, 2], vec![0.7, 0.2, 0.1, 0.5, 0.5]),
            Loss::SquaredError(values.clone()),
            Loss::Grouped(Groups { rows: vec![3, 2], drawn: 2.0 }, values),
        ];
        for (loss, share) in goals.iter().zip([0.5, 2.0, 2.0]) {
            let scores = [0.0, 0.5, 1.0, 0.3, 0.1];
            let mut gradients = vec![[0.0; 2]; 5];
            loss.gradients(&scores, &mut gradients);
            for row in 0..5 {
                let at = |step: f32| {
                    let mut scores = scores;
                    scores[row] += step;
                    loss.mean(&scores)
                };
                // the loss of lists is a mean over two of them, a squared error's gradient is taken without its 2
                let numeric = (at(1e-2) - at(-1e-2)) / 2e-2 / share;
                assert!((numeric - gradients[row][0] as f64).abs() < 1e-3, "{row}: {numeric} {gradients:?}");
            }
        }
    }
}
