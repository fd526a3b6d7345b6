//! The configs that one update learns from.

use crate::training_data::Example;
use rand::{Rng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_predict::features::Sequence;

/// The sequences of one update, R of each problem, problem after problem.
#[derive(Default)]
pub struct Drawn<'a> {
    /// By problem, its quantities.
    pub sources: Vec<&'a [f32]>,
    /// Sequences, problem after problem.
    pub sequences: Vec<&'a Sequence>,
    /// Share of each sequence in its problem's soft target.
    pub target: Vec<f32>,
    /// Encoded costs of each.
    pub costs: Vec<[f32; 2]>,
    /// Cost of each, as a multiple of its problem's least.
    pub relative: Vec<f32>,
    /// Whether each repeats another one because its problem has too few.
    pub filler: Vec<bool>,
}

impl<'a> Drawn<'a> {
    /// Draws the configs of the examples, `rows` of each.
    pub fn new(examples: &[&'a Example], rows: usize, rng: &mut ChaCha8Rng) -> Drawn<'a> {
        let mut drawn = Drawn::default();
        for example in examples {
            drawn.sources.push(&example.quantities);
            let chosen = choose(example, rows, rng);
            let total: f32 = chosen.iter().map(|(_, weight)| weight).sum();
            drawn.filler.extend((0..chosen.len()).map(|at| at >= example.sequences.len()));
            for (i, weight) in chosen {
                drawn.sequences.push(&example.sequences[i]);
                drawn.target.push(weight / total);
                drawn.costs.push(example.costs[i]);
                drawn.relative.push(example.cost[i] as f32);
            }
        }
        drawn
    }
}

/// Indices and target weights of the configs of one update: those with the most weight, and as many others at random (for
/// the time head, and with the weight they have). Repeats configs of weight 0 where there are too few.
fn choose(example: &Example, count: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, f32)> {
    // sequences are sorted by cost, so the heaviest come first
    let heavy = (count * 2 / 3).min(example.sequences.len());
    let mut chosen: Vec<(usize, f32)> = (0..heavy).map(|i| (i, example.target[i])).collect();
    let mut rest: Vec<usize> = (heavy..example.sequences.len()).collect();
    rest.shuffle(rng);
    chosen.extend(rest.into_iter().take(count - heavy).map(|i| (i, example.target[i])));
    while chosen.len() < count {
        chosen.push((rng.random_range(0..example.sequences.len()), 0.0));
    }
    chosen
}
