//! How the small decoder compares with the whole model that it was distilled from.

use serde::{Deserialize, Serialize};

/// What the first choice of the small decoder loses beside that of the whole model, on the validation problems, paired.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Mean of how much more of the best speed the small decoder's first choice loses; of tuned configs, how many more first choices are not the
    /// tuned one: a share from -1 to 1, above 0 where it is behind.
    pub behind: f64,
    /// Standard error of that mean.
    pub error: f64,
    /// Problems.
    pub problems: usize,
}

/// What the first choices of both lose on a problem, as shares of the best speed.
#[derive(Clone, Copy, Debug)]
pub struct PairedLoss {
    /// Loss of the small decoder.
    pub distilled: f64,
    /// Loss of the whole model.
    pub full: f64,
}

impl Comparison {
    /// Of the paired losses of the small decoder's first choices and the whole model's; `None` of fewer than two.
    pub fn from_losses(losses: &[PairedLoss]) -> Option<Comparison> {
        let n = losses.len() as f64;
        let behind = losses.iter().map(|loss| loss.distilled - loss.full).sum::<f64>() / n;
        let squares: f64 = losses.iter().map(|loss| (loss.distilled - loss.full - behind).powi(2)).sum();
        (losses.len() > 1).then(|| Comparison {
            behind,
            error: (squares / (n - 1.0) / n).sqrt(),
            problems: losses.len(),
        })
    }

    /// Compared with nothing, and so not level.
    pub const UNKNOWN: Comparison = Comparison { behind: 0.0, error: 0.0, problems: 0 };

    /// Whether the small decoder was compared, and is behind by no more than a standard error.
    pub fn is_on_par(&self) -> bool {
        self.problems > 1 && self.behind <= self.error
    }

    /// What the small decoder costs beside the whole model, in words; of tuned configs it is choices that are counted.
    pub fn cost(&self, is_tuned: bool) -> String {
        let (points, error) = (100.0 * self.behind.abs(), 100.0 * self.error);
        let against = format!("on {} problems that the whole model was compared on", self.problems);
        match (self.problems > 1, is_tuned, self.behind > 0.0) {
            (false, ..) => "it was never compared with the whole model".into(),
            (true, true, behind) => {
                let count = if behind { "fewer" } else { "more" };
                format!("its first choice is the tuned config in {points:.1} ± {error:.1} % {count} {against}")
            }
            (true, false, behind) => {
                let speed = if behind { "lower" } else { "higher" };
                format!(
                    "the speed of its first choices is {points:.1} ± {error:.1} % of the best speed {speed} {against}"
                )
            }
        }
    }

    /// Whether the numbers can be those of a comparison.
    pub(crate) fn is_sound(&self) -> bool {
        (-1.0..=1.0).contains(&self.behind) && (0.0..=1.0).contains(&self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_decoder_is_on_par_where_it_is_behind_by_no_more_than_chance() {
        let compare = |losses: &[(f64, f64)]| {
            let paired = losses.iter().map(|(distilled, full)| PairedLoss { distilled: *distilled, full: *full });
            Comparison::from_losses(&paired.collect::<Vec<_>>())
        };
        let level = |losses: &[(f64, f64)]| compare(losses).unwrap().is_on_par();
        assert!(level(&[(0.1, 0.0), (0.0, 0.1), (0.0, 0.0)]));
        assert!(level(&[(0.0, 0.1), (0.0, 0.1)]), "ahead");
        assert!(!level(&[(0.11, 0.0), (0.1, 0.0), (0.09, 0.0)]));
        assert!(compare(&[(0.0, 0.0)]).is_none());
        assert!(!Comparison::UNKNOWN.is_on_par());
    }

    #[test]
    fn what_a_small_decoder_costs_is_said_in_words() {
        let behind = Comparison { behind: 0.0125, error: 0.004, problems: 56 };
        let ahead = Comparison { behind: -0.0125, ..behind };
        for (level, is_tuned, words) in [
            (behind, false, "the speed of its first choices is 1.2 ± 0.4 % of the best speed lower on 56 problems"),
            (behind, true, "its first choice is the tuned config in 1.2 ± 0.4 % fewer on 56 problems"),
            (ahead, false, "% of the best speed higher on 56 problems"),
            (ahead, true, "% more on 56 problems"),
            (Comparison::UNKNOWN, true, "it was never compared with the whole model"),
        ] {
            assert!(level.cost(is_tuned).contains(words), "{}", level.cost(is_tuned));
        }
    }
}
