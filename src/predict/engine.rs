//! What answers for a kernel: the full model, or the small decoder that it was distilled into, behind one interface.
//!
//! Engines rank configs and estimate their costs. Probabilities are stated by [`crate::confidence::stated_probability`] alone.

use crate::features::featurizer::Instance;
use crate::search::candidate::{Candidate, Scored};
use crate::search::query::Query;
use seqtune_kernel::error::Result;
use seqtune_kernel::{Choice, Config, Objective, Problem};

/// Which form of a model answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// The full model: networks with re-rankers, and boosted trees.
    Full,
    /// The small decoder that the full model was distilled into.
    Distilled,
}

/// Problems per batch: so few that the buffers of a step stay in the cache and below the size that malloc maps anew.
pub(crate) const PROBLEMS_PER_BATCH: usize = 12;

/// Ranks the legal configs of problems of one kernel. An object of this trait is called once a prediction, never within its loops.
pub(crate) trait Engine: Send + Sync {
    /// Returns which form of the model this is.
    fn kind(&self) -> EngineKind;

    /// Returns how many configs a beam finds for a query.
    fn width(&self, query: &Query) -> usize;

    /// Returns whether a beam always finds every legal config.
    fn finds_all(&self, objective: Objective) -> bool;

    /// Returns whether every legal config can be ranked: not by networks that learned from tuned configs.
    fn ranks_all(&self) -> bool;

    /// Returns whether there are boosted trees for an objective.
    fn has_trees(&self, objective: Objective) -> bool;

    /// Searches each problem with a beam.
    ///
    /// # Errors
    /// [`Error::NoLegalConfig`](crate::Error::NoLegalConfig) where the constraints leave a problem none,
    /// [`Error::Input`](crate::Error::Input) where they are too entangled to look ahead.
    fn search(&self, problems: &[Problem], query: &Query) -> Result<Vec<BeamFinds>>;

    /// Returns the best `query.top` of given configs of one problem, best first; each must be legal.
    ///
    /// # Errors
    /// As [`Engine::search`]; [`Error::Config`](crate::Error::Config) where a config is illegal.
    fn rank(&self, problem: &Problem, query: &Query, configs: &[Config]) -> Result<Vec<Candidate>>;

    /// Scores given configs of one problem; each must be legal.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where a config is illegal.
    fn score(&self, instance: &Instance, objective: Objective, configs: &[Config]) -> Result<Vec<Scored>>;

    /// Returns the most probable value at each step: among those that break no constraint so far, or among all. `None` is a dead end.
    fn greedy(&self, instance: &Instance, unbroken: bool) -> Option<Config>;

    /// Judges every legal config of a problem.
    ///
    /// # Errors
    /// As [`Engine::search`]; [`Error::Input`](crate::Error::Input) where nothing ranks every legal config.
    fn judge_all(&self, problem: &Problem, query: &Query) -> Result<Judged>;

    /// Returns, for each problem, the prefixes that a beam asks about with what the networks expect to follow.
    ///
    /// # Errors
    /// As [`Engine::search`]; [`Error::Input`](crate::Error::Input) of a small decoder.
    fn prefix_scores(&self, problems: &[Problem], query: &Query) -> Result<Vec<Vec<PrefixScores>>>;
}

/// What a beam found of one problem. Its candidates have no probability yet.
pub(crate) struct BeamFinds {
    /// The best `query.top`, best first.
    pub(crate) candidates: Vec<Candidate>,
    /// Scores of all configs of the beam, best first; empty where likelihood alone ranks them and no calibration applies.
    pub(crate) scores: Vec<f64>,
    /// Likelihood of all configs of the beam together.
    pub(crate) likelihood: f64,
}

/// What came of judging every legal config. Its candidates have no probability yet.
pub(crate) struct Judged {
    /// Configs that a network scored.
    pub(crate) scored: u64,
    /// The best `query.top`, best first.
    pub(crate) best: Vec<Candidate>,
}

/// What a network expects behind a prefix.
#[derive(Clone, Debug)]
pub struct PrefixScores {
    /// The choices before.
    pub prefix: Vec<Choice>,
    /// Natural logarithm of the prefix's probability among all of its length that may be completed.
    pub log_probability: f64,
    /// What may follow.
    pub choices: Vec<Choice>,
    /// Natural logarithm of the probability of each of them.
    pub log: Vec<f64>,
}
