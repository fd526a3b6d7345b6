//! Beam search over token ids. It knows nothing of kernels: what may follow and how likely it is come from closures.

use seqtune_kernel::elementary::{exp, ln};
use seqtune_kernel::error::Result;

/// One candidate in the beam.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Tokens so far, those that nobody was asked for included.
    pub tokens: Vec<u16>,
    /// Natural logarithm of its probability among all sequences that may be completed.
    pub log_probability: f64,
    /// Row of the step before that it was extended from.
    pub parent: usize,
    /// What may follow; nothing when it is finished.
    pub next: Next,
}

/// The tokens that may follow a prefix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Next {
    /// Tokens that the search follows.
    pub open: Vec<u16>,
    /// Tokens that are as legal, and have their share of the probability, but are not followed: a search among some of the
    /// legal sequences ranks them by their probability among all.
    pub closed: Vec<u16>,
}

/// Extends tokens by all that are forced, and gives what may follow: nothing when the sequence is finished.
pub type Advance<'a> = &'a mut dyn FnMut(usize, &mut Vec<u16>) -> Result<Next>;

/// Scores one step. It is given the beam of each problem, all of the same number of rows; row `i` of problem `p` is row
/// `p * rows + i`, and `parent` counts rows of one problem in the step before. It returns a score for each row and token id
/// (any scale that a softmax takes). Rows of finished hypotheses are not read.
pub type Score<'a> = &'a mut dyn FnMut(&[Vec<Hypothesis>]) -> Result<Vec<f32>>;

/// The `width` most probable sequences of each of `problems`, best first, as far as the beam sees them.
///
/// Scores are masked before the softmax, so that probabilities are those among legal sequences and sum to 1 over them.
/// With `width` at least the number of legal sequences the search is exhaustive. `vocabulary` is the number of token ids.
///
/// # Errors
/// The error of `advance` or `score`.
pub fn beam_search(
    problems: usize,
    width: usize,
    vocabulary: usize,
    advance: Advance,
    score: Score,
) -> Result<Vec<Vec<Hypothesis>>> {
    let mut beams = Vec::with_capacity(problems);
    for problem in 0..problems {
        let mut tokens = Vec::new();
        let next = advance(problem, &mut tokens)?;
        beams.push(vec![Hypothesis { tokens, log_probability: 0.0, parent: 0, next }]);
    }
    while beams.iter().flatten().any(|h| !h.next.open.is_empty()) {
        // every problem gets the same number of rows, so that the scores form a box
        let rows = beams.iter().map(Vec::len).max().unwrap_or(0);
        let next = Next::default();
        let filler = Hypothesis { tokens: Vec::new(), log_probability: f64::NEG_INFINITY, parent: 0, next };
        beams.iter_mut().for_each(|beam| beam.resize(rows, filler.clone()));
        let scores = score(&beams)?;
        for (problem, beam) in beams.iter_mut().enumerate() {
            *beam = step(beam, &scores[problem * rows * vocabulary..][..rows * vocabulary], width, |tokens| {
                advance(problem, tokens)
            })?;
        }
    }
    for beam in &mut beams {
        beam.retain(|h| h.log_probability > f64::NEG_INFINITY);
    }
    Ok(beams)
}

/// The best `width` of what is finished and of all extensions of what is open.
fn step(
    beam: &[Hypothesis],
    scores: &[f32],
    width: usize,
    mut advance: impl FnMut(&mut Vec<u16>) -> Result<Next>,
) -> Result<Vec<Hypothesis>> {
    let vocabulary = scores.len() / beam.len();
    // (log-probability, row, token to append or none)
    let mut candidates: Vec<(f64, usize, Option<u16>)> = Vec::new();
    for (row, hypothesis) in beam.iter().enumerate() {
        let Next { open, closed } = &hypothesis.next;
        if open.is_empty() {
            candidates.push((hypothesis.log_probability, row, None));
            continue;
        }
        let scores = &scores[row * vocabulary..][..vocabulary];
        let legal = || open.iter().chain(closed).map(|t| scores[*t as usize]);
        let highest = legal().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = legal().map(|score| exp((score - highest) as f64)).sum();
        for token in open {
            let log_probability = (scores[*token as usize] - highest) as f64 - ln(sum);
            candidates.push((hypothesis.log_probability + log_probability, row, Some(*token)));
        }
    }
    // ties go to the earlier row and the smaller token, so that results do not depend on the sort
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    candidates.truncate(width);
    candidates
        .into_iter()
        .map(|(log_probability, row, token)| {
            let mut tokens = beam[row].tokens.clone();
            let next = match token {
                Some(token) => {
                    tokens.push(token);
                    advance(&mut tokens)?
                }
                None => Next::default(),
            };
            Ok(Hypothesis { tokens, log_probability, parent: row, next })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;

    /// A random set of sequences of 4 tokens, position `p` using ids `4 p ..`.
    fn random_legal(rng: &mut ChaCha8Rng) -> Vec<Vec<u16>> {
        let mut legal: Vec<Vec<u16>> =
            (0..rng.random_range(1..30)).map(|_| (0..4).map(|p| p * 4 + rng.random_range(0..4)).collect()).collect();
        legal.sort();
        legal.dedup();
        legal
    }

    fn following(legal: &[Vec<u16>], tokens: &[u16]) -> Vec<u16> {
        let mut next: Vec<u16> =
            legal.iter().filter(|s| s.starts_with(tokens)).filter_map(|s| s.get(tokens.len()).copied()).collect();
        next.dedup();
        next
    }

    /// A fixed pseudo-random score of a token after a prefix, mixed well enough that two sequences do not tie.
    fn score_of(tokens: &[u16], token: u16) -> f32 {
        let mix = |h: u32, t: &u16| {
            let h = (h ^ *t as u32).wrapping_mul(2_654_435_761);
            h ^ h >> 15
        };
        let h = tokens.iter().chain([&token]).fold(17, mix);
        (h >> 8) as f32 / 2_097_152.0
    }

    fn search(spaces: &[Vec<Vec<u16>>], width: usize) -> Vec<Vec<Hypothesis>> {
        let mut advance = |p: usize, tokens: &mut Vec<u16>| {
            loop {
                let next = following(&spaces[p], tokens);
                match next.as_slice() {
                    [only] => tokens.push(*only),
                    _ => return Ok(Next { open: next, closed: Vec::new() }),
                }
            }
        };
        let mut score = |beams: &[Vec<Hypothesis>]| {
            let rows = beams.iter().flatten();
            Ok(rows.flat_map(|h| (0..16).map(|t| score_of(&h.tokens, t)).collect::<Vec<_>>()).collect())
        };
        beam_search(spaces.len(), width, 16, &mut advance, &mut score).unwrap()
    }

    /// Every legal sequence with its log-probability, best first.
    fn exhaustive(legal: &[Vec<u16>]) -> Vec<(Vec<u16>, f64)> {
        let mut all: Vec<(Vec<u16>, f64)> = legal
            .iter()
            .map(|s| {
                let log = (0..s.len()).map(|at| {
                    let next = following(legal, &s[..at]);
                    let sum: f64 = next.iter().map(|t| exp(score_of(&s[..at], *t) as f64)).sum();
                    score_of(&s[..at], s[at]) as f64 - ln(sum)
                });
                (s.clone(), log.sum())
            })
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    #[test]
    fn a_beam_as_wide_as_the_space_is_an_exhaustive_search() {
        let mut rng = test_generator(4);
        for _ in 0..100 {
            let spaces: Vec<_> = (0..3).map(|_| random_legal(&mut rng)).collect();
            for (found, legal) in search(&spaces, 64).iter().zip(&spaces) {
                let expected = exhaustive(legal);
                assert_eq!(found.len(), expected.len());
                let total: f64 = found.iter().map(|h| exp(h.log_probability)).sum();
                assert!((total - 1.0).abs() < 1e-9, "probabilities sum to {total}");
                for (h, (tokens, log)) in found.iter().zip(&expected) {
                    assert!((h.log_probability - log).abs() < 1e-9);
                    assert_eq!(&h.tokens, tokens);
                }
            }
        }
    }

    #[test]
    fn tokens_that_are_not_followed_keep_their_share_of_the_probability() {
        let mut rng = test_generator(7);
        for _ in 0..50 {
            let legal = random_legal(&mut rng);
            let wanted: Vec<Vec<u16>> = legal.iter().step_by(3).cloned().collect();
            let mut advance = |_: usize, tokens: &mut Vec<u16>| {
                let open = following(&wanted, tokens);
                let closed = following(&legal, tokens).into_iter().filter(|t| !open.contains(t)).collect();
                Ok(Next { open, closed })
            };
            let mut score = |beams: &[Vec<Hypothesis>]| {
                let rows = beams.iter().flatten();
                Ok(rows.flat_map(|h| (0..16).map(|t| score_of(&h.tokens, t)).collect::<Vec<_>>()).collect())
            };
            let found = beam_search(1, 64, 16, &mut advance, &mut score).unwrap().remove(0);
            let expected: Vec<_> =
                exhaustive(&legal).into_iter().filter(|(tokens, _)| wanted.contains(tokens)).collect();
            assert_eq!(found.len(), expected.len());
            for (h, (tokens, log)) in found.iter().zip(&expected) {
                assert_eq!(&h.tokens, tokens);
                assert!((h.log_probability - log).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_narrow_beam_returns_legal_sequences_with_their_true_probability_best_first() {
        let mut rng = test_generator(5);
        for width in [1, 2, 5] {
            let spaces: Vec<_> = (0..20).map(|_| random_legal(&mut rng)).collect();
            for (found, legal) in search(&spaces, width).iter().zip(&spaces) {
                let expected = exhaustive(legal);
                assert_eq!(found.len(), width.min(found.len()));
                assert!(found.is_sorted_by(|a, b| a.log_probability >= b.log_probability));
                for h in found {
                    let truth = expected.iter().find(|(tokens, _)| *tokens == h.tokens);
                    assert!(truth.is_some_and(|(_, log)| (log - h.log_probability).abs() < 1e-9), "{h:?}");
                }
            }
        }
    }
}
