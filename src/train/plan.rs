//! What a training run learns from and towards, checked and divided before the work begins.

use crate::settings::fit_settings;
use crate::training_data::vocabulary::{self, LearnedKernel};
use seqtune_data::KernelTable;
use seqtune_fit::parts::{Problems, divide};
use seqtune_kernel::Objective;
use seqtune_kernel::error::{Result, input};
use seqtune_predict::features::Vocab;
use seqtune_predict::model::Target;
use seqtune_predict::{Model, Settings};
use std::sync::Arc;

/// Temperature of the soft target where none is chosen.
pub const SHARP: f64 = 0.05;

/// What is learned from and towards.
pub struct Plan<'a> {
    /// The model to go on from.
    pub from: Option<&'a Model>,
    /// Kernels with their tables.
    pub corpus: &'a [KernelTable],
    /// Whether the data are what tuners chose, not sweeps.
    pub tuned: bool,
    /// Quantities that are learned.
    pub objectives: Vec<Objective>,
    /// By kernel.
    pub problems: Vec<Problems>,
    /// Whether the data are so few that nothing is held out: then what chooses weights is what was trained on.
    pub nothing_held_out: bool,
    /// Vocabulary of all kernels.
    pub vocab: Arc<Vocab>,
    /// With what the data decide, but for the number of epochs.
    pub settings: Settings,
    /// Hashes of the datasets, those that the model to go on from knows first.
    pub hashes: Vec<String>,
}

impl<'a> Plan<'a> {
    /// Refuses data that nothing can be learned from, and data that do not go with the model to go on from.
    ///
    /// # Errors
    /// `Error::Input` where the tables hold nothing to learn from, or do not fit the model that is gone on from.
    pub fn new(from: Option<&'a Model>, corpus: &'a [KernelTable], settings: &Settings) -> Result<Plan<'a>> {
        let tuned = corpus.iter().all(|data| data.table.is_tuned());
        let objectives = objectives(corpus, tuned)?;
        from.map_or(Ok(()), |model| check_objectives(model, &objectives))?;
        let mut problems = divide(corpus, &settings.split, tuned);
        let nothing_held_out = problems.iter().all(|p| p.validation.is_empty());
        if nothing_held_out {
            // judge by what was trained on rather than refuse
            problems.iter_mut().for_each(|p| p.validation = p.train.clone());
        }
        if problems.iter().all(|p| p.train.is_empty()) {
            return input("no problem shape falls into the training part; give more shapes");
        }
        let pairs = corpus.iter().zip(&problems);
        let learned: Vec<LearnedKernel> = pairs
            .map(|(KernelTable { kernel, table }, p)| LearnedKernel { kernel, table, problems: &p.train })
            .collect();
        let vocab = match from {
            None => vocabulary::learn(&learned),
            Some(model) => vocabulary::refine(&model.meta.vocab, &learned),
        };
        // what it learned before is not forgotten, nor that it did
        let mut hashes = from.map_or(Vec::new(), |model| model.meta.data.clone());
        for hash in corpus.iter().flat_map(|data| &data.table.hashes) {
            if !from.is_some_and(|model| model.meta.data.contains(hash)) {
                hashes.push(hash.clone());
            }
        }
        let settings = fit_settings(settings, corpus, problems.iter().map(|p| p.train.len()).sum());
        let vocab = Arc::new(vocab);
        Ok(Plan { from, corpus, tuned, objectives, problems, nothing_held_out, vocab, settings, hashes })
    }

    /// What tells the model to go on from.
    pub fn parent(&self) -> Option<String> {
        self.from.map(Model::training_digest)
    }

    /// Temperature of the target that the decoder is trained towards; `None` for the best config alone.
    pub fn temperature(&self) -> Option<f64> {
        self.settings.tau.filter(|_| self.settings.target == Target::Soft)
    }

    /// Temperature of the target that the calibration is fitted towards; `None` where the model knows the answers by heart.
    pub fn calibration_temperature(&self) -> Option<f64> {
        (!self.nothing_held_out).then_some(self.settings.tau.unwrap_or(SHARP))
    }
}

/// What the data know the costs of.
fn objectives(corpus: &[KernelTable], tuned: bool) -> Result<Vec<Objective>> {
    let measured = |o: &Objective| corpus.iter().flat_map(|data| &data.table.problems).any(|t| t.costs(*o).len() >= 2);
    let objectives: Vec<Objective> = match tuned {
        true => vec![Objective::Time],
        false => Objective::ALL.into_iter().filter(measured).collect(),
    };
    match objectives.is_empty() {
        true => input("the datasets hold no problem with two working configs; there is nothing to learn"),
        false => Ok(objectives),
    }
}

/// Refuses to go on from a model that knows other objectives.
fn check_objectives(model: &Model, objectives: &[Objective]) -> Result<()> {
    if model.meta.objectives == objectives {
        return Ok(());
    }
    let named = |all: &[Objective]| all.iter().map(Objective::to_string).collect::<Vec<_>>().join(", ");
    let (knows, hold) = (named(&model.meta.objectives), named(objectives));
    let what = "give its data too, or train without it";
    input(format!("the model to go on from knows {knows}, these datasets hold {hold}; {what}"))
}
