//! What a prediction consists of.

use crate::confidence::opinion_pool::LogProbs;
use seqtune_kernel::Config;
use std::cmp::Ordering;

/// A predicted config.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Legal config, as indices of values.
    pub config: Config,
    /// Natural logarithm of the likelihood among all legal configs.
    pub log_probability: f64,
    /// Probability that it is the best of all legal configs (`crate::confidence::stated_probability`); of a model without calibration, the likelihood. `None` where the
    /// beam was too narrow to state one.
    pub probability: Option<f64>,
    /// Predicted device time in microseconds; `None` where the model never saw a time.
    pub time_us: Option<f64>,
    /// Predicted joules per launch; `None` where the model never saw energy.
    pub joules: Option<f64>,
    /// How probably it loses more than [`LOSS`](crate::confidence::calibration::LOSS), where the model knows that of the problem itself
    /// ([`crate::posterior::cost_neighbours`]).
    pub risk: Option<f64>,
    /// Whether its cost was measured, not predicted.
    pub measured: bool,
}

/// Orders costs; unknown ones come last.
pub(crate) fn by_cost(a: Option<f64>, b: Option<f64>) -> Ordering {
    a.unwrap_or(f64::INFINITY).total_cmp(&b.unwrap_or(f64::INFINITY))
}

impl Candidate {
    /// A config of this likelihood with estimated microseconds and joules, and no probability yet.
    pub(crate) fn with_estimates(
        config: Config,
        log_probability: f64,
        [time_us, joules]: [Option<f64>; 2],
    ) -> Candidate {
        Candidate { config, log_probability, probability: None, time_us, joules, risk: None, measured: false }
    }
}

/// A config with what the model makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Natural logarithm of its probability among legal configs.
    pub log_probability: f64,
    /// Positions where there was a choice, and whether the config's value was the most probable one there.
    pub steps: Vec<(usize, bool)>,
    /// Predicted device time in microseconds; `None` where the model never saw a time.
    pub time_us: Option<f64>,
    /// Predicted joules per launch; `None` where the model never saw energy.
    pub joules: Option<f64>,
    /// The re-ranker's score: the logarithm of how probably it is the best of the configs that were scored with it; 0 where the model has none.
    pub rank: f64,
    /// The scores of the boosted trees of values and of lists, likewise; 0 where the model has none.
    pub trees: [f64; 2],
    /// As [`Candidate::risk`], among the configs that were scored with it.
    pub risk: Option<f64>,
}

impl Scored {
    /// The start of a score, with nothing known of the config.
    pub(crate) fn unknown() -> Scored {
        Scored {
            log_probability: 0.0,
            steps: Vec::new(),
            time_us: None,
            joules: None,
            rank: 0.0,
            trees: [0.0; 2],
            risk: None,
        }
    }

    /// Log-probabilities by decoder, re-ranker and both forests, as they are pooled.
    pub fn opinions(&self) -> LogProbs {
        [self.log_probability, self.rank, self.trees[0], self.trees[1]]
    }
}
