//! How the small decoder compares with the whole model that it was distilled from.

use serde::{Deserialize, Serialize};

/// What the first choice of the small decoder loses beside that of the whole model, on the validation problems, paired.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Mean of how much more of the best speed the small decoder's first choice loses; of tuned configs, how many more first choices are not the
    /// tuned one: a share from -1 to 1, above 0 where it is behind.
    pub behind: f64,
    /// Standard error of that mean.
    pub error: f64,
    /// Problems.
    pub problems: usize,
}

impl Level {
    /// Of the paired losses of the small decoder's first choices and the whole model's; `None` of fewer than two.
    pub fn of(losses: &[(f64, f64)]) -> Option<Level> {
        let n = losses.len() as f64;
        let behind = losses.iter().map(|(small, whole)| small - whole).sum::<f64>() / n;
        let squares: f64 = losses.iter().map(|(small, whole)| (small - whole - behind).powi(2)).sum();
        (losses.len() > 1).then(|| Level { behind, error: (squares / (n - 1.0) / n).sqrt(), problems: losses.len() })
    }

    /// Compared with nothing, and so not level.
    pub const UNKNOWN: Level = Level { behind: 0.0, error: 0.0, problems: 0 };

    /// Whether the small decoder was compared, and is behind by no more than a standard error.
    pub fn is_level(&self) -> bool {
        self.problems > 1 && self.behind <= self.error
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
    fn a_small_decoder_is_level_where_it_is_behind_by_no_more_than_chance() {
        let level = |losses: &[(f64, f64)]| Level::of(losses).unwrap().is_level();
        assert!(level(&[(0.1, 0.0), (0.0, 0.1), (0.0, 0.0)]));
        assert!(level(&[(0.0, 0.1), (0.0, 0.1)]), "ahead");
        assert!(!level(&[(0.11, 0.0), (0.1, 0.0), (0.09, 0.0)]));
        assert!(Level::of(&[(0.0, 0.0)]).is_none());
        assert!(!Level::UNKNOWN.is_level());
    }
}
