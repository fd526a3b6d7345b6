//! One small decoder made of a whole model: an answer in a fraction of its time (distillation, Hinton et al. 2015).

pub mod batch;
pub mod chain;
pub mod lesson;
pub mod network;
pub mod teacher;
pub mod trainer;
pub mod whole;

use crate::distil::chain::Chain;
use crate::distil::lesson::{Lesson, Wanted};
use crate::distil::teacher::{Teacher, soft_target};
use crate::distil::trainer::{BestWeights, Course};
use crate::distil::whole::{Division, Whole};
use crate::ensemble::checkpoint::Checkpoint;
use crate::network::init::random_small_weights;
use crate::network::tensors::{Weights, to_arrays};
use crate::plan::{Plan, SHARP};
use seqtune_data::{KernelTable, Table, TriedConfig, today};
use seqtune_eval::measures::shown;
use seqtune_eval::measures::stated::{answers_of, trust_in_seen};
use seqtune_fit::calibration::{self, LIKELIHOOD};
use seqtune_kernel::canonical::{Canonical, structure};
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, Kernel, Objective};
use seqtune_predict::confidence::{DeviceCalibration, PoolWeights, ScoredProblem, TopPrediction};
use seqtune_predict::distilled::{Comparison, PairedLoss};
use seqtune_predict::features::{Featurizer, Instance};
use seqtune_predict::{Hparams, Meta, Model, Predictor, Settings};
use std::path::Path;
use std::sync::Arc;

/// How a model is distilled.
#[derive(Clone, Debug)]
pub struct DistilOptions {
    /// Sizes of the small decoder; `None` leaves them to the kind of data.
    pub hparams: Option<Hparams>,
    /// Problems that are invented between the measured ones; `None` leaves their number to the data.
    pub invented: Option<usize>,
    /// Updates; `None` leaves their number to the data.
    pub steps: Option<usize>,
    /// Seed of problems, weights and order.
    pub seed: u64,
    /// Command line, kept with the model.
    pub command: String,
}

/// What is done where nothing else is asked for.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    hparams: Hparams,
    invented: usize,
    steps: usize,
    /// Problems of an update.
    batch: usize,
    /// Configs of each problem of an update.
    rows: usize,
    /// Share of what was measured or tuned in the target of such a problem.
    measured: f64,
    /// Weight of the loss of the order among the configs of an update.
    rank: f64,
}

/// Measured problems below which a model of sweeps learns in half the updates: what was measured of so few is known by heart sooner.
const FEW: usize = 1_000;

impl Recipe {
    /// Of so many problems to learn from.
    fn new(options: &DistilOptions, tuned: bool, problems: usize) -> Recipe {
        let small = Hparams { width: 64, heads: 4, feed_forward: 128, encoder_layers: 1, decoder_layers: 2 };
        let default = match tuned {
            true => {
                let invented = problems.clamp(4_000, 10_000);
                let (batch, passes) = (64, 10);
                let steps = (problems.min(MOST) + invented) * passes / batch;
                let hparams = Hparams { width: 96, feed_forward: 256, ..small };
                Recipe { hparams, invented, steps, batch, rows: 1, measured: 0.2, rank: 0.0 }
            }
            false => {
                let steps = if problems < FEW { 6_000 } else { 12_000 };
                Recipe { hparams: small, invented: 4_000, steps, batch: 16, rows: 32, measured: 0.5, rank: 2.0 }
            }
        };
        Recipe {
            hparams: options.hparams.unwrap_or(default.hparams),
            invented: options.invented.unwrap_or(default.invented),
            steps: options.steps.unwrap_or(default.steps),
            ..default
        }
    }
}

impl Canonical for Recipe {
    fn canonical(&self) -> String {
        let Recipe { hparams, invented, steps, batch, rows, measured, rank } = self;
        structure(
            "Recipe",
            &[
                ("hparams", hparams),
                ("invented", invented),
                ("steps", steps),
                ("batch", batch),
                ("rows", rows),
                ("measured", measured),
                ("rank", rank),
            ],
        )
    }
}

impl Default for DistilOptions {
    fn default() -> DistilOptions {
        DistilOptions { hparams: None, invented: None, steps: None, seed: 1, command: String::new() }
    }
}

/// How far distillation has come.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Boosted trees are fitted to so many tuned problems.
    Fitting(usize),
    /// Problems that the whole model has answered, of so many.
    Asking(usize, usize),
    /// Updates done of so many, mean loss, last validation score in nats.
    Learning(usize, usize, f64, f64),
}

/// Tuned problems up to which trees are asked beside the networks.
const WITH_TREES: usize = 30_000;

/// Measured problems that the whole model is asked about, at most.
const MOST: usize = 40_000;

/// Distils a model into a small decoder whose likelihood alone ranks, and writes it beside the model, into `folder`. `corpus` is what the model
/// was trained on. It goes on from its checkpoint. On the devices of `refined`, a model that went on from this one with their data alone, the small
/// decoder learns what that one says.
///
/// # Errors
/// `Error::Mismatch` where the model was trained on other data, or the other one did not go on from it; else as training.
pub fn distil(
    model: &Model,
    refined: Option<&Model>,
    corpus: &[KernelTable],
    options: &DistilOptions,
    folder: &Path,
    told: &mut dyn FnMut(Stage),
) -> Result<Model> {
    let [KernelTable { kernel, table }] = corpus else {
        return input("a small decoder serves one kernel; distil one model at a time");
    };
    if model.meta.distilled.is_some() {
        return input("the model is a distilled one; distil the whole model");
    }
    let settings = Settings { split: model.meta.split, ..model.meta.settings.clone() };
    let plan = Plan::new(Some(model), corpus, &settings)?;
    if !table.is_exactly(&model.meta.data) {
        return Err(Error::Mismatch(format!(
            "the model was trained on {} datasets, which these are not; distil it with those that it was trained on",
            model.meta.data.len()
        )));
    }
    let featurizer = Featurizer::new(&Arc::new(model.meta.vocab.clone()), kernel)?;
    let whole = Whole::new(kernel, model, refined)?;
    let train = &plan.problems[0].train;
    let recipe = Recipe::new(options, plan.tuned, train.len());
    let (plan, featurizer, whole) = (&plan, &featurizer, &whole);
    let made = Distillation { model, plan, kernel, table, featurizer, whole, options, recipe };
    let checkpoint = Checkpoint {
        path: folder.join("checkpoint-distilled.safetensors"),
        key: checkpoint_key(&model.training_digest(), &recipe, options.seed, refined.map(Model::training_digest)),
    };
    let small = made.train(&checkpoint, told)?;
    small.save(folder)?;
    checkpoint.remove()?;
    Model::load(&Model::small_file(folder))
}

/// What tells a distillation from others: the whole model, how it is distilled, and the model that went on from it.
fn checkpoint_key(model: &str, recipe: &Recipe, seed: u64, refined: Option<String>) -> String {
    format!("{model} {} {seed} {}", recipe.canonical(), refined.canonical())
}

/// As [`distil`], unless the folder holds the small decoder of the very model already, made with the same options.
///
/// # Errors
/// As [`distil`].
pub fn distil_or_keep(model: &Model, corpus: &[KernelTable], options: &DistilOptions, folder: &Path) -> Result<Model> {
    let file = Model::small_file(folder);
    if file.is_file() {
        let small = Model::load(&file)?;
        if small.meta.parent.as_ref() == Some(&model.training_digest()) && small.meta.command == options.command {
            return Ok(small);
        }
    }
    distil(model, None, corpus, options, folder, &mut |_| {})
}

/// What is distilled.
struct Distillation<'a> {
    model: &'a Model,
    plan: &'a Plan<'a>,
    kernel: &'a Kernel,
    table: &'a Table,
    featurizer: &'a Featurizer,
    whole: &'a Whole,
    options: &'a DistilOptions,
    recipe: Recipe,
}

impl Distillation<'_> {
    fn train(&self, checkpoint: &Checkpoint, told: &mut dyn FnMut(Stage)) -> Result<Model> {
        let (problems, seed) = (&self.plan.problems[0], self.options.seed);
        let recipe = self.recipe;
        let Recipe { hparams, steps, invented, .. } = recipe;
        let chain = self.chain(told)?;
        let mut lessons = Vec::new();
        for objective in &self.model.meta.objectives {
            let teacher = Teacher {
                whole: self.whole,
                featurizer: self.featurizer,
                table: self.table,
                indices: &problems.train,
                objective: *objective,
                tau: self.plan.temperature().unwrap_or(SHARP),
                measured: recipe.measured,
                most: MOST,
                chain: chain.as_ref(),
            };
            let mut asked = |done, all| told(Stage::Asking(done, all));
            lessons.extend(teacher.lessons(invented, seed, &mut asked)?);
        }
        let validation = self.validation(&problems.validation)?;
        let course = Course {
            featurizer: self.featurizer,
            lessons: &lessons,
            validation: &validation,
            hparams,
            steps,
            batch: recipe.batch,
            rows: recipe.rows,
            rate: 2e-3,
            decay: self.plan.settings.decay,
            rank: recipe.rank,
            head: 0.3,
            seed,
        };
        let weights = random_small_weights(&hparams, &self.featurizer.vocab, seed);
        let mut learned = |step, loss, nats| told(Stage::Learning(step, steps, loss, nats));
        let BestWeights { weights, nats } = course.take(weights, checkpoint, &mut learned)?;
        let mut small = self.describe(weights, nats, hparams)?;
        self.compare(&mut small)?;
        shown::record(&mut small, &[KernelTable::new(self.kernel.clone(), self.table.clone())], threads())?;
        Ok(small)
    }

    /// Trees of tuned configs, where these are not so many that networks alone know as much.
    fn chain(&self, told: &mut dyn FnMut(Stage)) -> Result<Option<Chain>> {
        let problems = &self.plan.problems[0];
        if !self.plan.tuned || problems.train.len() > WITH_TREES || problems.validation.is_empty() {
            return Ok(None);
        }
        told(Stage::Fitting(problems.train.len()));
        Chain::fit(self.featurizer, self.table, &problems.train, &problems.validation, self.options.seed).map(Some)
    }

    /// The small decoder of these weights, compared with nothing yet.
    fn describe(&self, weights: Weights, nats: f64, hparams: Hparams) -> Result<Model> {
        let weights = weights.into_iter().map(|(name, tensor)| (format!("0.{name}"), tensor)).collect();
        let Meta { format, vocab, devices, objectives, split, data, settings, .. } = self.model.meta.clone();
        let meta = Meta {
            format,
            hparams,
            members: 1,
            vocab,
            devices,
            objectives,
            split,
            data,
            settings,
            parent: Some(self.model.training_digest()),
            scores: [("validation divergence (nats)".to_string(), nats)].into(),
            calibration: None,
            device_calibration: DeviceCalibration::default(),
            error_models: Vec::new(),
            held_out: Vec::new(),
            training_ranges: Vec::new(),
            distilled: Some(Comparison::UNKNOWN),
            threads: Some(tch::get_num_threads().max(1) as usize),
            command: self.options.command.clone(),
            tool: env!("CARGO_PKG_VERSION").into(),
            date: today(),
        };
        Ok(Model { meta, weights: to_arrays(&weights)?, trees: Vec::new(), neighbours: Vec::new(), checksum: None })
    }

    /// Lessons of what was measured or tuned, by one target whatever is trained towards.
    fn validation(&self, indices: &[usize]) -> Result<Vec<Lesson>> {
        let make = |i: &usize| {
            let tried = &self.table.problems[*i];
            let instance = Instance::new(self.kernel, &tried.problem, &self.table.devices[tried.device]);
            let wanted = |config: &Config, target| Wanted { config: config.clone(), target, costs: [f32::NAN; 2] };
            let mut lessons = Vec::new();
            if self.plan.tuned {
                let Some(TriedConfig { config, .. }) = tried.tuned_config() else { return Ok(lessons) };
                return Ok(vec![Lesson::new(self.featurizer, &instance, Objective::Time, vec![wanted(config, 1.0)])?]);
            }
            for objective in &self.model.meta.objectives {
                let costs = tried.costs(*objective);
                if costs.len() < 2 {
                    continue;
                }
                let all = soft_target(&costs, SHARP).into_iter().map(|share| wanted(share.config, share.share));
                lessons.push(Lesson::new(self.featurizer, &instance, *objective, all.collect())?);
            }
            Ok(lessons)
        };
        Ok(on_threads(indices, threads(), make)?.into_iter().flatten().collect())
    }

    /// Calibrates the small decoder, and compares it with the whole model on the validation problems.
    fn compare(&self, small: &mut Model) -> Result<()> {
        let own = Predictor::new(self.kernel, small)?;
        let divided = self.whole.divide(self.table, &self.plan.problems[0].validation);
        let mut losses: Vec<PairedLoss> = Vec::new();
        let pair = |distilled: Option<f64>, full: Option<f64>| Some(PairedLoss { distilled: distilled?, full: full? });
        match self.plan.tuned {
            true => {
                let mut all = Vec::new();
                for Division { predictor: whole, indices } in divided {
                    let of = |predictor| answers_of(predictor, self.table, &indices, Objective::Time, threads());
                    let (own, whole) = (of(&own)?, of(whole)?);
                    losses.extend(own.iter().zip(&whole).filter_map(|(s, w)| pair(s.first.lost, w.first.lost)));
                    all.extend(own);
                }
                small.meta.device_calibration.seen = trust_in_seen(&all);
                small.meta.device_calibration.timed = Some(self.table.timed_devices());
            }
            false => {
                let mut all = Vec::new();
                for Division { predictor: whole, indices } in divided {
                    let (known, of_whole) = (self.score_known(&own, &indices)?, self.score_known(whole, &indices)?);
                    let weights = whole.pool_weights();
                    let pairs = known.iter().zip(&of_whole);
                    losses.extend(pairs.filter_map(|(s, w)| pair(lost(s, &LIKELIHOOD), lost(w, &weights))));
                    all.extend(known);
                }
                small.meta.calibration = match self.plan.nothing_held_out {
                    true => calibration::fit(&all, None),
                    false => calibration::fit_weighed(&all, LIKELIHOOD),
                };
            }
        }
        small.meta.distilled = Comparison::from_losses(&losses).or(small.meta.distilled);
        Ok(())
    }

    /// Scores of all measured configs of problems, beside their costs.
    fn score_known(&self, predictor: &Predictor, indices: &[usize]) -> Result<Vec<ScoredProblem>> {
        let asked: Vec<(usize, Objective)> =
            self.model.meta.objectives.iter().flat_map(|o| indices.iter().map(|i| (*i, *o))).collect();
        on_threads(&asked, threads(), |(i, objective)| {
            let tried = &self.table.problems[*i];
            let device = &self.table.devices[tried.device];
            Ok(predictor.score_known(&tried.problem, device, *objective, &tried.costs(*objective))?.problem)
        })
    }
}

/// What the first choice loses; `None` of no configs.
fn lost(known: &ScoredProblem, weights: &PoolWeights) -> Option<f64> {
    let scores = known.scores(weights);
    TopPrediction::from_scores(&scores, &scores, &known.costs)?.lost
}

fn threads() -> usize {
    tch::get_num_threads().max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written out: a key that changes orphans every checkpoint.
    #[test]
    fn digests_of_distillations_are_taken_of_this_text() {
        let recipe = Recipe::new(&DistilOptions::default(), false, 10);
        let expected = "abc Recipe { hparams: Hparams { width: 64, heads: 4, feed_forward: 128, encoder_layers: 1, decoder_layers: 2 }, \
                        invented: 4000, steps: 6000, batch: 16, rows: 32, measured: 0.5, rank: 2.0 } 7 Some(\"def\")";
        assert_eq!(checkpoint_key("abc", &recipe, 7, Some("def".into())), expected);
        assert!(checkpoint_key("abc", &recipe, 7, None).ends_with(" 7 None"));
    }
}
