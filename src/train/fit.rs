//! Training: weights from tables of measured or tuned configs, in the order of its steps.

use crate::ensemble::checkpoint::Checkpoint;
use crate::ensemble::member::{MemberTrainer, TrainedMember};
use crate::ensemble::memory::keep_memory;
use crate::ensemble::schedule::EnsembleTraining;
use crate::ensemble::score::Score;
use crate::network::tensors::{self, Weights};
use crate::plan::{Plan, SHARP};
use crate::prepare::{Prepared, prepare};
use crate::progress::Progress;
use crate::settings::{REFINING_STEPS, STEPS};
use seqtune_data::{KernelTable, MeasuredProblem, today};
use seqtune_eval::measures::shown;
use seqtune_eval::measures::stated::{answers_of, trust_in_seen};
use seqtune_fit::cost_neighbours::{self, Known};
use seqtune_fit::imputed_energy::complete_joules;
use seqtune_fit::{calibration, error_model};
use seqtune_kernel::canonical::Canonical;
use seqtune_kernel::error::{Error, Result};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Device, Objective};
use seqtune_predict::confidence::{BestRank, Calibration, DeviceCalibration, MeasuredDevice};
use seqtune_predict::posterior::{CostNeighbours, ErrorModel};
use seqtune_predict::{Meta, Model, Predictor, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What becomes of a model that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is returned if it was made from the same data and settings, and otherwise nothing is done.
    Keep,
    /// It is returned if it was made from the same data and settings, and otherwise replaced.
    Replace,
}

/// Trains on the tables of one kernel or several, and returns the model with the best validation score. Tables hold sweeps, or
/// what tuners chose; not both.
///
/// `folder/checkpoint-0.safetensors` (a file per network) is written as it goes; when it is there, and was made from the same
/// data and settings, training goes on from it. It is removed at the end. Training may differ between machines in the last digits; on one
/// machine with one number of threads, the same seed gives the same weights.
///
/// # Errors
/// `Error::Input` where the tables hold nothing to learn from or the folder another model, `Error::Failed` where training diverges.
pub fn train(
    corpus: &[KernelTable],
    settings: &Settings,
    folder: &Path,
    existing: Existing,
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    fit(None, corpus, settings, folder, existing, progress)
}

/// As [`train`], but goes on from the weights of `model`, with its vocabulary, size and number of networks: a few minutes on what was
/// measured since, with the data of before, so that they are not forgotten.
///
/// # Errors
/// As [`train`].
pub fn refine(
    model: &Model,
    corpus: &[KernelTable],
    settings: &Settings,
    folder: &Path,
    existing: Existing,
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    let settings = Settings { hparams: model.meta.hparams, members: model.meta.members, ..settings.clone() };
    fit(Some(model), corpus, &settings, folder, existing, progress)
}

fn fit(
    from: Option<&Model>,
    corpus: &[KernelTable],
    settings: &Settings,
    folder: &Path,
    existing: Existing,
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    keep_memory();
    let completed = complete_joules(corpus, settings);
    let plan = Plan::new(from, &completed, settings)?;
    if let Some(model) = finished_model(folder, &plan, existing)? {
        return Ok(model);
    }
    let prepared = prepare(&plan, progress)?;
    let updates = MemberTrainer::updates(&prepared.kernels);
    let epochs = plan.settings.epochs.unwrap_or_else(|| match from {
        None => STEPS.div_ceil(updates).clamp(10, 400),
        Some(_) => REFINING_STEPS.div_ceil(updates).clamp(2, 100),
    });
    let settings = Settings { epochs: Some(epochs), ..plan.settings.clone() };
    let checkpoints = checkpoints(folder, &plan, &settings)?;
    let training = EnsembleTraining {
        kernels: &prepared.kernels,
        vocab: &plan.vocab,
        from,
        settings: &settings,
        epochs,
        checkpoints: &checkpoints,
    };
    let trained = training.train(progress)?;
    let mut model = describe(&plan, settings, trained, prepared)?;
    model.meta.calibration = calibration(&model, &plan)?;
    model.neighbours = neighbours(&plan, true)?;
    model.meta.device_calibration = trust(&model, &plan)?;
    model.meta.error_models = likeness(&model, &plan)?;
    if let (Some(parent), true) = (from, plan.tuned) {
        model.meta.device_calibration.measured = measured_devices(parent, &plan)?;
        // what was learned of other devices' times is still there
        let own = model.meta.device_calibration.timed.take().unwrap_or_default();
        model.meta.device_calibration.timed = parent.meta.device_calibration.timed.as_ref().map(|timed| timed | &own);
    }
    shown::record(&mut model, corpus, tch::get_num_threads().max(1) as usize)?;
    model.save(folder)?;
    checkpoints.iter().try_for_each(Checkpoint::remove)?;
    // as it was stored, so that the model in hand is the model on disk
    Model::load(folder)
}

/// The model in the folder, where it is what training would make and is to be kept.
fn finished_model(folder: &Path, plan: &Plan, existing: Existing) -> Result<Option<Model>> {
    if !Model::file(folder).is_file() {
        return Ok(None);
    }
    let model = match (Model::load(folder), existing) {
        (Ok(model), _) => model,
        // what cannot be read is not the same
        (Err(_), Existing::Replace) => return Ok(None),
        (Err(e), Existing::Keep) => return Err(e),
    };
    let meta = &model.meta;
    let same = meta.data == plan.hashes
        && meta.trained_as().is_as_asked(&plan.settings)
        && meta.parent == plan.parent()
        && meta.tool == env!("CARGO_PKG_VERSION");
    match (same, existing) {
        (true, _) => Ok(Some(model)),
        (false, Existing::Replace) => Ok(None),
        (false, _) => seqtune_kernel::error::input(format!(
            "{} holds a model of other data or settings; name another folder, or pass --overwrite",
            folder.display()
        )),
    }
}

/// Where each network's training stands on disk.
fn checkpoints(folder: &Path, plan: &Plan, settings: &Settings) -> Result<Vec<Checkpoint>> {
    let key = checkpoint_key(settings, plan.parent(), &plan.hashes);
    let checkpoint = |member| Checkpoint {
        path: folder.join(format!("checkpoint-{member}.safetensors")),
        key: format!("{key} member {member}"),
    };
    Ok((0..settings.members).map(checkpoint).collect())
}

/// What tells a training from others: settings, the model that it went on from, and datasets.
fn checkpoint_key(settings: &Settings, parent: Option<String>, hashes: &[String]) -> String {
    let same = Settings { command: String::new(), checkpoint: 0, ..settings.clone() };
    [same.canonical(), parent.canonical(), hashes.canonical()].join(" ")
}

/// The model that was trained, without its calibration.
fn describe(plan: &Plan, settings: Settings, trained: Vec<TrainedMember>, prepared: Prepared) -> Result<Model> {
    let (mut scores, mut weights) = (BTreeMap::new(), Weights::new());
    for (member, TrainedMember { weights: kept, score: best }) in trained.into_iter().enumerate() {
        if best.divergence == f64::MAX {
            return Err(Error::Failed("training diverged: no epoch gave numbers; give a lower --learning-rate".into()));
        }
        scores.extend(named_scores(&best, plan, member, settings.members));
        weights.extend(kept.into_iter().map(|(name, t)| (format!("{member}.{name}"), t)));
    }
    let mut devices: Vec<Device> = Vec::new();
    for device in plan.corpus.iter().flat_map(|data| &data.table.devices) {
        if !devices.contains(device) {
            devices.push(device.clone());
        }
    }
    let meta = Meta {
        format: Model::format(),
        hparams: settings.hparams,
        members: settings.members,
        vocab: (*plan.vocab).clone(),
        devices,
        objectives: plan.objectives.clone(),
        split: settings.split,
        data: plan.hashes.clone(),
        command: settings.command.clone(),
        settings,
        parent: plan.parent(),
        scores,
        calibration: None,
        device_calibration: DeviceCalibration::default(),
        error_models: Vec::new(),
        held_out: Vec::new(),
        training_ranges: Vec::new(),
        distilled: None,
        threads: Some(tch::get_num_threads().max(1) as usize),
        tool: env!("CARGO_PKG_VERSION").into(),
        date: today(),
    };
    Ok(Model {
        meta,
        weights: tensors::to_arrays(&weights)?,
        trees: prepared.trees.into_iter().map(Arc::new).collect(),
        neighbours: neighbours(plan, false)?,
        checksum: None,
    })
}

/// Profiles of the only kernel of a plan, where it asks for them.
fn neighbours(plan: &Plan, validation_too: bool) -> Result<Vec<Arc<CostNeighbours>>> {
    // what each part of a model counts is learned for all its kernels together
    let ([data], [problems], false) = (plan.corpus, &plan.problems[..], plan.tuned) else { return Ok(Vec::new()) };
    cost_neighbours::fit(&Known {
        data,
        problems,
        validation_too,
        objectives: &plan.objectives,
        tau: plan.temperature().unwrap_or(SHARP),
        threads: tch::get_num_threads().max(1) as usize,
        seed: plan.settings.seed,
    })
}

/// Validation scores by the names that people read.
fn named_scores(best: &Score, plan: &Plan, member: usize, members: usize) -> Vec<(String, f64)> {
    let of = if plan.nothing_held_out { "on what was learned:" } else { "validation" };
    let name = |what: &str| match members {
        1 => format!("{of} {what}"),
        _ => format!("{of} {what}, network {}", member + 1),
    };
    let share = if plan.tuned { "greedy exact" } else { "share of best, by likelihood" };
    let mut scores = vec![(name("divergence (nats)"), best.divergence), (name(share), best.share)];
    scores.extend(best.time_error.map(|error| (name("time error (ln)"), error)));
    scores.extend(best.energy_error.map(|error| (name("energy error (ln)"), error)));
    scores
}

/// What a model's probabilities are worth on the validation problems.
fn calibration(model: &Model, plan: &Plan) -> Result<Option<Calibration>> {
    if plan.tuned {
        // one config is known of each problem: what the others cost is not
        return Ok(None);
    }
    let mut known = Vec::new();
    for (KernelTable { kernel, table }, problems) in plan.corpus.iter().zip(&plan.problems) {
        let predictor = Predictor::new(kernel, model)?;
        for objective in &model.meta.objectives {
            let cores = tch::get_num_threads().max(1) as usize;
            known.extend(on_threads(&problems.validation, cores, |i| {
                let tried = &table.problems[*i];
                let device = &table.devices[tried.device];
                Ok(predictor.score_known(&tried.problem, device, *objective, &tried.costs(*objective))?.problem)
            })?);
        }
    }
    Ok(calibration::fit(&known, plan.calibration_temperature()))
}

/// How the model's errors go together on the validation problems.
fn likeness(model: &Model, plan: &Plan) -> Result<Vec<ErrorModel>> {
    let mut all = Vec::new();
    if plan.tuned {
        // one config is known of each problem
        return Ok(all);
    }
    let cores = tch::get_num_threads().max(1) as usize;
    for (KernelTable { kernel, table }, problems) in plan.corpus.iter().zip(&plan.problems) {
        let predictor = Predictor::new(kernel, model)?;
        let of = |part: &[usize]| part.iter().map(|i| &table.problems[*i]).collect::<Vec<&MeasuredProblem>>();
        let parts = [&of(&problems.train)[..], &of(&problems.validation)];
        all.extend(error_model::learn(&predictor, table, parts, cores)?);
    }
    Ok(all)
}

/// Problems of a device that was new to the model that is gone on from, at most, that do not yet make the device a seen one.
const FEW: usize = 200;

/// What likelihoods are worth on devices of which a few problems are learned: what those of the model that is gone on from were worth there,
/// which had not learned these problems.
fn measured_devices(parent: &Model, plan: &Plan) -> Result<Vec<MeasuredDevice>> {
    let (mut trust, cores) = (parent.meta.device_calibration.clone(), tch::get_num_threads().max(1) as usize);
    for (KernelTable { kernel, table }, problems) in plan.corpus.iter().zip(&plan.problems) {
        let predictor = Predictor::new(kernel, parent)?.without_correction();
        for (at, device) in table.devices.iter().enumerate() {
            let all = problems.train.iter().chain(&problems.validation);
            // of very small data the same problems are in both parts
            let indices: BTreeSet<usize> = all.copied().filter(|i| table.problems[*i].device == at).collect();
            let indices: Vec<usize> = indices.into_iter().collect();
            trust.measured.retain(|m| m.device != device.name || indices.is_empty());
            if !device.is_among(&parent.meta.devices) && (1..=FEW).contains(&indices.len()) {
                let said = answers_of(&predictor, table, &indices, Objective::Time, cores)?;
                let places: Vec<BestRank> = said.iter().map(|s| s.place).collect();
                trust.measure(device, &parent.meta.devices, &places);
            }
        }
    }
    Ok(trust.measured)
}

/// What the likelihoods of a model of tuned configs are worth on the validation problems.
fn trust(model: &Model, plan: &Plan) -> Result<DeviceCalibration> {
    if !plan.tuned {
        // calibrated already
        return Ok(DeviceCalibration::default());
    }
    let (mut all, mut timed) = (Vec::new(), BTreeSet::new());
    for (KernelTable { kernel, table }, problems) in plan.corpus.iter().zip(&plan.problems) {
        timed.extend(table.timed_devices());
        let (predictor, cores) = (Predictor::new(kernel, model)?, tch::get_num_threads().max(1) as usize);
        all.extend(answers_of(&predictor, table, &problems.validation, Objective::Time, cores)?);
    }
    Ok(DeviceCalibration { seen: trust_in_seen(&all), timed: Some(timed), ..DeviceCalibration::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written out: a key that changes orphans every checkpoint.
    #[test]
    fn digests_of_checkpoints_are_taken_of_this_text() {
        let settings = Settings { tau: Some(0.05), command: "seqtune train".into(), ..Settings::default() };
        let expected = "Settings { hparams: Hparams { width: 64, heads: 4, feed_forward: 128, encoder_layers: 2, decoder_layers: 2 }, \
                        members: 3, target: Soft, tau: Some(0.05), epochs: None, batch: None, configs: 32, rate: 0.0015, decay: 0.05, \
                        dropout: 0.0, smoothing: 0.0, bf16: false, pseudo_labels: 12, head: 0.3, rank: 2.0, pairwise_weight: 0.5, \
                        split: Split { seed: 1, test: 0.2, validation: 0.1, from: 0.0 }, seed: 1, command: \"\", checkpoint: 0 } \
                        Some(\"0123456789abcdef\") [\"a\", \"b\"]";
        assert_eq!(checkpoint_key(&settings, Some("0123456789abcdef".into()), &["a".into(), "b".into()]), expected);
        let tuned = checkpoint_key(&Settings::for_tuned(), None, &[]);
        assert!(tuned.contains("target: Best, tau: None, epochs: Some(12), batch: Some(128)"), "{tuned}");
        assert!(tuned.ends_with(" None []"), "{tuned}");
    }
}
