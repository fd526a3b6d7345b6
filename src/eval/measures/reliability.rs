//! How well a model knows how good it is.

use crate::measures::sets::{CredibleSet, Sets};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::Problem;
use seqtune_kernel::error::Result;
use seqtune_predict::confidence::{LOSS, MarkedPrediction, RISK, ScoredProblem, TopPrediction};
use seqtune_predict::{Predictor, Query};
use serde::Serialize;

/// How true the stated probabilities of first choices are.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CalibrationError {
    /// Mean gap between probability and frequency, over intervals of probability.
    pub calibration_error: f64,
    /// What the error would be by chance on these problems if every probability were true.
    pub error_by_chance: f64,
}

impl CalibrationError {
    /// The error of first choices with their probabilities.
    pub fn from_predictions(firsts: &[TopPrediction]) -> CalibrationError {
        CalibrationError {
            calibration_error: calibration_error(firsts),
            error_by_chance: calibration_error_by_chance(firsts),
        }
    }
}

/// What a model says of a problem whose costs are known.
#[derive(Clone, Copy, Debug)]
pub struct Sureness {
    /// Its first choice.
    pub first: TopPrediction,
    /// Whether it was marked unsure.
    pub unsure: bool,
    /// Whether the mark rests on what was shown of the model, so that no share of losses is stated.
    pub by_shown: bool,
    /// The configs that are to hold the best.
    pub set: CredibleSet,
}

impl Sureness {
    /// `None` of a model without calibration. It is marked as an answer among all legal configs is, where something was shown of the model, else by
    /// what the model was found reliable at among the measured ones.
    ///
    /// # Errors
    /// The error of a prediction.
    pub fn from_prediction(
        predictor: &Predictor,
        problem: &Problem,
        query: &Query,
        known: &ScoredProblem,
    ) -> Result<Option<Sureness>> {
        let device = query.device;
        let both = predictor.top_prediction(device, known).zip(CredibleSet::of_known(predictor, device, known));
        let Some((MarkedPrediction { first, unsure: below }, set)) = both else { return Ok(None) };
        let by_shown = predictor.held_out_result(device, query.objective).is_some();
        let unsure = match by_shown {
            false => below,
            true => predictor.predict_one(problem, query)?.unsure,
        };
        Ok(Some(Sureness { first, unsure, by_shown, set }))
    }
}

/// How well a model knows how good it is. Shares of the problems.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reliability {
    /// Calibration error of the first choices.
    #[serde(flatten)]
    pub trueness: CalibrationError,
    /// First choices (of likelihood and judge, all configs) that are the best.
    pub best: f64,
    /// Share of answers marked unsure.
    pub unsure: f64,
    /// Of the answers that are not marked unsure, and of those that are: first choices that lose more than
    /// [`LOSS`].
    pub lossy_sure: Option<f64>,
    /// Share of marked first choices that lose more; `None` where none is marked.
    pub lossy_unsure: Option<f64>,
    /// Whether marks state that no more than a share of the others lose so much: those that do not rest on what was shown.
    #[serde(skip)]
    pub states_losses: bool,
    /// Whether sets hold what they are to hold.
    pub sets: Sets,
}

impl Reliability {
    /// Of what was said of problems; `None` of none.
    pub fn from_answers(said: &[Sureness]) -> Option<Reliability> {
        let lossy = |unsure: bool| {
            let of_kind: Vec<&TopPrediction> = said.iter().filter(|s| s.unsure == unsure).map(|s| &s.first).collect();
            let lossy = of_kind.iter().filter(|f| f.lost > Some(LOSS)).count() as f64;
            (!of_kind.is_empty()).then(|| lossy / of_kind.len() as f64)
        };
        let count = said.len() as f64;
        let all: Vec<TopPrediction> = said.iter().map(|s| s.first).collect();
        let sets: Vec<CredibleSet> = said.iter().map(|s| s.set).collect();
        Sets::summarize(&sets).map(|sets| Reliability {
            trueness: CalibrationError::from_predictions(&all),
            best: all.iter().filter(|first| first.best).count() as f64 / count,
            unsure: said.iter().filter(|s| s.unsure).count() as f64 / count,
            lossy_sure: lossy(false),
            lossy_unsure: lossy(true),
            states_losses: said.iter().all(|s| !s.by_shown),
            sets,
        })
    }

    /// Some sentences.
    pub fn text(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let whole = |share: f64| format!("{:.0} %", 100.0 * share);
        let loss = whole(LOSS);
        let stated = |words: &str| match self.states_losses {
            true => format!(" ({}{words})", whole(RISK)),
            false => String::new(),
        };
        let lossy = match (self.lossy_sure, self.lossy_unsure) {
            (Some(sure), Some(unsure)) => format!(
                "More than {loss} is lost by {} of the first choices that are not marked{}, and by {} of those that are",
                percent(sure),
                stated(" are stated"),
                percent(unsure)
            ),
            (Some(sure), None) => {
                format!("More than {loss} is lost by {} of the first choices{}", percent(sure), stated(" are stated"))
            }
            (None, unsure) => format!(
                "More than {loss} is lost by {} of them; none is left unmarked{}",
                percent(unsure.unwrap_or_default()),
                stated(" would be stated of those")
            ),
        };
        format!(
            "\nFirst choices are the best in {}; expected calibration error of how probable they were said to be: {} (by chance alone, were they true: {}).\n\
             Marked unsure: {}. {lossy}.\n{}",
            percent(self.best),
            percent(self.trueness.calibration_error),
            percent(self.trueness.error_by_chance),
            percent(self.unsure),
            self.sets.text("the best config"),
        )
    }
}

/// Intervals of probability that the calibration error is counted in.
const BINS: usize = 15;

/// Expected calibration error (Naeini et al. 2015): by how much the mean probability of the first choices differs from the share of
/// them that were the best, in `BINS` intervals of equal width, weighted by how many fall into each.
pub fn calibration_error(firsts: &[TopPrediction]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for first in firsts {
        let bin = &mut bins[((first.probability * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += first.probability;
        bin.1 += first.best as u8 as f64;
    }
    bins.iter().map(|(expected, observed)| f64::abs(expected - observed)).sum::<f64>() / firsts.len().max(1) as f64
}

/// The mean of [`calibration_error`] where each first choice is the best as probably as predicted: what is left of it, on so few problems, by
/// chance. By a thousand seeded draws.
pub fn calibration_error_by_chance(firsts: &[TopPrediction]) -> f64 {
    const DRAWS: usize = 1_000;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut draw = || {
        let drawn = |f: &TopPrediction| TopPrediction { best: rng.random::<f64>() < f.probability, ..*f };
        calibration_error(&firsts.iter().map(drawn).collect::<Vec<_>>())
    };
    (0..DRAWS).map(|_| draw()).sum::<f64>() / DRAWS as f64
}
