//! Whether the sets that are to hold the best config with a stated probability do so, and how large they are.

use seqtune_data::{MeasuredProblem, TriedConfig};
use seqtune_kernel::Device;
use seqtune_kernel::error::Result;
use seqtune_predict::confidence::ScoredProblem;
use seqtune_predict::{Predictor, Query};
use serde::Serialize;

/// Probability that judged sets are asked for.
pub const SHARE: f64 = 0.9;

/// A set of configs that is to hold the best one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CredibleSet {
    /// Configs in it.
    pub size: usize,
    /// Whether it holds the best or tuned one.
    pub holds: bool,
}

impl CredibleSet {
    /// Of a problem with a tuned config, among all legal ones; `None` without one.
    ///
    /// # Errors
    /// The error of a prediction.
    pub fn of_tuned(predictor: &Predictor, tried: &MeasuredProblem, device: &Device) -> Result<Option<CredibleSet>> {
        let Some(TriedConfig { config: tuned, .. }) = tried.tuned_config() else { return Ok(None) };
        let found = predictor.credible_set(&tried.problem, &Query::new(device), SHARE)?.candidates;
        Ok(Some(CredibleSet { size: found.len(), holds: found.iter().any(|c| c.config == *tuned) }))
    }

    /// Of configs whose costs are known; `None` without calibration.
    pub fn of_known(predictor: &Predictor, device: &Device, known: &ScoredProblem) -> Option<CredibleSet> {
        let set = predictor.credible_set_of_known(device, known, SHARE)?;
        Some(CredibleSet { size: set.len(), holds: set.contains(&known.best()?) })
    }
}

/// Many such sets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sets {
    /// Share of the sets that hold the best or tuned config.
    pub hold: f64,
    /// Median of their sizes.
    pub median: usize,
}

impl Sets {
    /// `None` of none.
    pub fn summarize(sets: &[CredibleSet]) -> Option<Sets> {
        let mut sizes: Vec<usize> = sets.iter().map(|s| s.size).collect();
        sizes.sort_unstable();
        let hold = sets.iter().filter(|s| s.holds).count() as f64 / sets.len() as f64;
        sizes.get(sizes.len() / 2).map(|median| Sets { hold, median: *median })
    }

    /// A sentence of sets that are to hold what is named.
    pub fn text(&self, what: &str) -> String {
        let configs = if self.median == 1 { "config" } else { "configs" };
        format!(
            "Sets that are to hold {what} with a probability of {:.0} % do so in {:.1} % of the problems; half of them have {} {configs} at most.\n",
            100.0 * SHARE,
            100.0 * self.hold,
            self.median
        )
    }
}
