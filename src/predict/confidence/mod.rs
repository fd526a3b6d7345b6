//! How sure an answer is: calibrated probabilities, corrections by device, held-out results, and the mark `unsure`.

pub(crate) mod calibration;
mod credible_set;
pub mod device;
pub(crate) mod device_calibration;
pub(crate) mod held_out;
mod known_costs;
pub mod opinion_pool;
pub(crate) mod stated_probability;
mod unsure;

pub use calibration::{
    BestRank, Calibration, KnownCost, LOSS, MarkedPrediction, RISK, RankedConfig, ScoredConfigs, ScoredProblem,
    TopPrediction,
};
pub use device_calibration::{DeviceCalibration, MeasuredDevice, PlattScaling};
pub use held_out::{
    CandidatePool, HeldOut, HeldOutResult, HeldOutScore, LearnedProblem, MIN_PROBLEMS, TrainingRange, UNSURE_SHARE,
};
pub use opinion_pool::{EQUAL, LogProbs, MIN_LOG_PROBABILITY, PoolWeights};
