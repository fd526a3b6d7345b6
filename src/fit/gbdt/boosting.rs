//! Boosted regression trees: each of them is fitted to what the ones before left (Friedman 2001), until what is held out gains no more.

use crate::gbdt::samples::Samples;
use crate::gbdt::tree::{BinnedRows, TreeBuilder};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::trees::Forest;
use seqtune_predict::trees::forest::walk;

/// Trees at most, and how many may pass without a gain on what is held out.
const MOST: usize = 1_500;
const PATIENCE: usize = 100;
/// Trees where nothing is held out.
const UNJUDGED: usize = 300;
/// Share of the rows, and of the columns, that a tree sees.
const ROWS: f64 = 0.8;
const COLUMNS: f64 = 0.7;

/// Fits trees until what is `held` out has not gained for [`PATIENCE`] trees, and keeps those up to the best. Where nothing is held out it
/// keeps [`UNJUDGED`].
pub fn fit(samples: &Samples, held: &Samples, seed: u64) -> Forest {
    let n = samples.count();
    let binned = BinnedRows::new(samples);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut forest = Forest { base: samples.loss.base(), trees: Vec::new() };
    let (mut scores, mut held_scores) = (vec![forest.base; n], vec![forest.base; held.count()]);
    let mut best = (f64::INFINITY, 0);
    let mut gradients = vec![[0.0; 2]; n];
    let mut columns: Vec<u16> = (0..samples.columns as u16).collect();
    let most = if held.count() > 0 { MOST } else { UNJUDGED };
    for _ in 0..most {
        samples.loss.gradients(&scores, &mut gradients);
        columns.shuffle(&mut rng);
        let seen = ((COLUMNS * columns.len() as f64).ceil() as usize).max(1);
        let rows: Vec<u32> = (0..n as u32).filter(|_| rng.random::<f64>() < ROWS).collect();
        let tree = TreeBuilder { binned: &binned, gradients: &gradients, columns: &columns[..seen] }.grow(rows);
        let add = |(score, row): (&mut f32, &[f32])| *score += walk(&tree, row);
        scores.iter_mut().zip(samples.rows.chunks_exact(samples.columns)).for_each(add);
        held_scores.iter_mut().zip(held.rows.chunks_exact(samples.columns)).for_each(add);
        forest.trees.push(tree);
        let loss = held.loss.mean(&held_scores);
        if loss < best.0 {
            best = (loss, forest.trees.len());
        }
        if held.count() > 0 && forest.trees.len() >= best.1 + PATIENCE {
            break;
        }
    }
    if held.count() > 0 {
        forest.trees.truncate(best.1.max(1));
    }
    forest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use crate::gbdt::loss::WeightedValue;
    use crate::gbdt::loss::{Groups, Loss};

    /// Rows of three numbers, the last of no use, and what they are worth: a product of steps, with a little noise.
    fn rows(count: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
        let mut rng = test_generator(seed);
        let rows: Vec<f32> = (0..3 * count).map(|_| rng.random()).collect();
        let worth = |row: &[f32]| {
            let sign = |x: f32, at: f32| if x > at { 1.0 } else { -1.0 };
            sign(row[0], 0.4) * sign(row[1], 0.7) + 0.5 * row[0]
        };
        let worth = rows.chunks(3).map(worth).collect();
        (rows, worth)
    }

    fn values(count: usize, seed: u64) -> Samples {
        let (rows, worth) = rows(count, seed);
        Samples {
            columns: 3,
            rows,
            loss: Loss::SquaredError(worth.into_iter().map(|value| WeightedValue { value, weight: 1.0 }).collect()),
        }
    }

    /// ListNet of ten, of which that with the most worth is most probable.
    fn lists(count: usize, seed: u64) -> Samples {
        let (rows, worth) = rows(10 * count, seed);
        let shares = worth.chunks(10).flat_map(|list| {
            let sum: f32 = list.iter().map(|w| (4.0 * w).exp()).sum();
            list.iter().map(move |w| (4.0 * w).exp() / sum).collect::<Vec<f32>>()
        });
        Samples { columns: 3, rows, loss: Loss::ListNet(vec![10; count], shares.collect()) }
    }

    #[test]
    fn values_that_two_columns_make_together_are_learned() {
        let (train, held, test) = (values(3_000, 1), values(500, 2), values(500, 3));
        let forest = fit(&train, &held, 1);
        let Loss::SquaredError(known) = &test.loss else { unreachable!() };
        let error = |(row, known): (&[f32], &WeightedValue)| (forest.predict(row) - known.value).powi(2);
        let error: f32 = test.rows.chunks(3).zip(known).map(error).sum::<f32>() / 500.0;
        assert!(error < 0.05, "{error}; the values' own variance is 1");
        assert_eq!(forest, fit(&train, &held, 1), "the same seed gives the same trees");
        assert!(forest != fit(&train, &held, 2));
        assert!(forest.is_sound(3) && !forest.is_sound(1), "{} trees", forest.trees.len());
        let mut damaged = forest.clone();
        damaged.trees[0][0].children = 0;
        assert!(!damaged.is_sound(3), "a walk would not end");
    }

    #[test]
    fn what_is_probable_in_lists_is_learned_without_values() {
        let (train, held, test) = (lists(300, 1), lists(50, 2), lists(50, 3));
        let forest = fit(&train, &held, 1);
        let Loss::ListNet(_, shares) = &test.loss else { unreachable!() };
        let scores = forest.in_step().predict(&test.rows, 3);
        let (loss, blind) = (test.loss.mean(&scores), test.loss.mean(&vec![0.0; 500]));
        // what is told apart at best: the entropy of the shares themselves
        let least = -shares.iter().map(|s| (s * s.ln()) as f64).sum::<f64>() / 50.0;
        assert!(loss - least < 0.15 * (blind - least), "{least} < {loss} < {blind}");
    }

    #[test]
    fn too_few_rows_to_split_make_a_forest_that_says_the_mean() {
        let samples = values(3, 1);
        let forest = fit(&samples, &Samples::default(), 1);
        let Loss::SquaredError(known) = &samples.loss else { unreachable!() };
        let mean = known.iter().map(|known| known.value).sum::<f32>() / 3.0;
        let farthest = known.iter().map(|known| (known.value - mean).abs()).fold(0.0, f32::max);
        let said = forest.predict(&[0.1, 0.9, 0.5]);
        assert_eq!(said, forest.predict(&[0.9, 0.1, 0.5]), "no tree has a split");
        // each tree sees some of the rows, so that the forest strays from the mean of all by a part of how far they are apart
        assert!(
            (said - mean).abs() <= 0.5 * farthest + 1e-6,
            "{said} for a mean of {mean}, {farthest} from it at most"
        );
    }

    #[test]
    fn three_configs_of_each_of_a_dozen_problems_teach_which_are_fast() {
        let mut rng = test_generator(7);
        let test = values(500, 6);
        let Loss::SquaredError(known) = &test.loss else { unreachable!() };
        let mut ordered = |seed: u64| {
            let (rows, worth) = rows(36, seed);
            // what a problem costs at all varies more than what its configs do
            let mut level = 0.0;
            let at_levels = worth.iter().enumerate().map(|(at, worth)| {
                level = if at % 3 == 0 { 3.0 * rng.random::<f32>() } else { level };
                WeightedValue { value: worth + level, weight: 1.0 }
            });
            let groups = Groups { rows: vec![3; 12], drawn: 2.0 };
            let samples = Samples { columns: 3, rows, loss: Loss::Grouped(groups, at_levels.collect()) };
            let forest = fit(&samples, &Samples::default(), 1);
            let said: Vec<f32> = test.rows.chunks(3).map(|row| forest.predict(row)).collect();
            (0..499).filter(|i| (said[*i] < said[i + 1]) == (known[*i].value < known[i + 1].value)).count()
        };
        // of so few rows one forest orders 280 to 355
        let mean = (10..18).map(&mut ordered).sum::<usize>() / 8;
        assert!(mean > 300, "{mean} of 499 pairs; by chance 250");
    }

    #[test]
    fn what_is_not_known_is_a_group_of_its_own() {
        let mut rng = test_generator(4);
        let rows: Vec<f32> = (0..400).map(|i| if i % 2 == 0 { f32::MIN } else { rng.random() }).collect();
        let known = rows.iter().map(|x| WeightedValue { value: (*x == f32::MIN) as u8 as f32, weight: 1.0 }).collect();
        let samples = Samples { columns: 1, rows, loss: Loss::SquaredError(known) };
        let forest = fit(&samples, &Samples::default(), 1);
        let said = forest.in_step().predict(&[f32::MIN, 0.01], 1);
        assert!(said[0] > 0.95 && said[1] < 0.05, "{said:?}");
    }
}
