//! The methods that are compared, by the names that reports show.

use serde::{Serialize, Serializer};
use std::fmt;

/// A way to choose configs for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The model as `predict` uses it: the beam's configs, ranked by networks and trees together.
    Predict,
    /// Another model, judged beside the one that a report is of.
    Beside,
    /// The likelihood of every config, of the small decoder that the model was distilled into.
    Distilled,
    /// The decoder's likelihood of every config.
    Likelihood,
    /// The time or energy that the model predicts for every config.
    PredictedCost,
    /// The re-ranker's score of every config.
    Reranker,
    /// Likelihood and re-ranker of every config together.
    Networks,
    /// The model's own boosted trees, of every config.
    OwnTrees,
    /// Networks and trees of every config together.
    Pooled,
    /// The kernel's default config.
    KernelDefault,
    /// The config that did best on the training problems on average.
    BestOnAverage,
    /// The config that was most often the tuned one in training.
    Majority,
    /// The best config of the nearest training problem.
    NearestNeighbour,
    /// The expectation of a random config.
    Random,
    /// LightGBM fitted to the logarithm of the cost.
    LightGbmRegression,
    /// LightGBM fitted to the order of the configs.
    LightGbmRanking,
    /// A chain of LightGBM classifiers, one for each parameter.
    LightGbmChain,
    /// A LightGBM classifier of whole configs.
    LightGbmConfigs,
    /// Extremely randomised trees that classify whole configs.
    ExtraTrees,
    /// The vendor's library.
    VendorLibrary,
}

impl Method {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Predict => "seqtune, as predict",
            Method::Beside => "the model beside",
            Method::Distilled => "seqtune, distilled",
            Method::Likelihood => "seqtune, likelihood alone",
            Method::PredictedCost => "seqtune, predicted cost alone",
            Method::Reranker => "seqtune, re-ranker alone",
            Method::Networks => "seqtune, networks alone",
            Method::OwnTrees => "seqtune, its trees alone",
            Method::Pooled => "seqtune, networks and trees, no beam",
            Method::KernelDefault => "kernel default",
            Method::BestOnAverage => "best on average",
            Method::Majority => "majority",
            Method::NearestNeighbour => "nearest neighbour",
            Method::Random => "random (expected)",
            Method::LightGbmRegression => "LightGBM, regression",
            Method::LightGbmRanking => "LightGBM, lambdarank",
            Method::LightGbmChain => "LightGBM, classifier chain",
            Method::LightGbmConfigs => "LightGBM, whole configs",
            Method::ExtraTrees => "extremely randomised trees, whole configs",
            Method::VendorLibrary => "the vendor's library",
        }
    }

    /// Whether it is one of LightGBM's ways to rank measured configs.
    pub const fn is_light_gbm(self) -> bool {
        matches!(self, Method::LightGbmRegression | Method::LightGbmRanking)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
