//! Training: weights from tables of measured or tuned configs.

use super::calibration::Calibration;
use super::ensemble::member as member_of;
use super::examples::{Example, Imagine, contenders, emphasised, examples, tuned_examples};
use super::layers::Weights;
use super::predict::Predictor;
use super::run::{Checkpoint, Epoch, Lesson, Run, Score};
use super::settings::{REFINING_STEPS, STEPS, Settings, Target, is_described};
use super::speller::Speller;
use super::store::{Meta, Model};
use super::trees::Trees;
use super::vocab::Vocab;
use crate::dataset::{Objective, Part, Split, Table, today};
use crate::error::{Error, Result, input, io};
use crate::kernel::{Device, Kernel};
use crate::threads::{keep_memory, on_threads};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Updates of an epoch that a kernel of tuned configs gets, if its problems are enough for batches of [`SMALLEST_BATCH`].
const UPDATES: usize = 100;
const SMALLEST_BATCH: usize = 16;
/// Temperature of the soft target where none is chosen.
const SHARP: f64 = 0.05;

/// What a training run tells as it goes.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Boosted trees are fitted and label unmeasured problems, or problems are spelled: so many of so many are done.
    Preparing(usize, usize),
    /// An epoch is done.
    Epoch(Epoch),
}

/// What becomes of a model that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is returned if it was made from the same data and settings, and otherwise nothing is done.
    Keep,
    /// It is returned if it was made from the same data and settings, and otherwise replaced.
    Replace,
}

/// Training and validation problems of one kernel.
struct Problems {
    train: Vec<usize>,
    validation: Vec<usize>,
}

/// Trains on the tables of one kernel or several, and returns the model with the best validation score. Tables hold sweeps, or
/// what tuners chose; not both.
///
/// `folder/checkpoint-0.safetensors` (a file per network) is written as it goes; when it is there, and was made from the same
/// data and settings, training goes on from it. It is removed at the end. Training may differ between machines in the last digits; on one
/// machine with one number of threads, the same seed gives the same weights.
pub fn train(
    corpus: &[(Kernel, Table)],
    settings: &Settings,
    place: (&Path, Existing),
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    fit(None, corpus, settings, place, progress)
}

/// As [`train`], but goes on from the weights of `model`, with its vocabulary, size and number of networks: a few minutes on what was
/// measured since, with the data of before, so that they are not forgotten.
pub fn refine(
    model: &Model,
    corpus: &[(Kernel, Table)],
    settings: &Settings,
    place: (&Path, Existing),
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    let settings = Settings { hparams: model.meta.hparams, members: model.meta.members, ..settings.clone() };
    fit(Some(model), corpus, &settings, place, progress)
}

fn fit(
    from: Option<&Model>,
    corpus: &[(Kernel, Table)],
    settings: &Settings,
    (folder, existing): (&Path, Existing),
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    keep_memory();
    let tuned = corpus.iter().all(|(_, table)| table.is_tuned());
    let measured = |o: &Objective| corpus.iter().flat_map(|(_, t)| &t.tried).any(|t| t.costs(*o).len() >= 2);
    let objectives: Vec<Objective> = match tuned {
        true => vec![Objective::Time],
        false => Objective::ALL.into_iter().filter(measured).collect(),
    };
    if objectives.is_empty() {
        return input("the datasets hold no problem with two working configs; there is nothing to learn");
    }
    if let Some(model) = from
        && model.meta.objectives != objectives
    {
        let named = |all: &[Objective]| all.iter().map(Objective::to_string).collect::<Vec<_>>().join(", ");
        let (knows, hold) = (named(&model.meta.objectives), named(&objectives));
        let what = "give its data too, or train without it";
        return input(format!("the model to go on from knows {knows}, these datasets hold {hold}; {what}"));
    }
    let mut problems: Vec<Problems> =
        corpus.iter().map(|(kernel, table)| divide(kernel, table, settings, tuned)).collect();
    let nothing_held_out = problems.iter().all(|p| p.validation.is_empty());
    if nothing_held_out {
        // very small data: judge by what was trained on rather than refuse
        problems.iter_mut().for_each(|p| p.validation = p.train.clone());
    }
    if problems.iter().all(|p| p.train.is_empty()) {
        return input("no problem shape falls into the training part; give more shapes");
    }
    let learned: Vec<(&Kernel, &Table, &[usize])> =
        corpus.iter().zip(&problems).map(|((kernel, table), p)| (kernel, table, p.train.as_slice())).collect();
    let vocab = Arc::new(from.map_or_else(|| Vocab::learn(&learned), |model| model.meta.vocab.refined(&learned)));
    let settings = &settings.fitted(corpus, problems.iter().map(|p| p.train.len()).sum());
    let new = corpus.iter().flat_map(|(_, table)| &table.hashes);
    // what it learned before is not forgotten, nor that it did
    let known = from.map_or(&[][..], |model| &model.meta.data);
    let hashes: Vec<&String> = known.iter().chain(new.filter(|hash| !known.contains(hash))).collect();
    let described = |epochs| match from {
        None => settings.describe(epochs),
        Some(model) => format!("{}; from {}", settings.describe(epochs), model.digest()),
    };
    if let Some(model) = finished(folder, &described(settings.epochs), &settings.split, &hashes, existing)? {
        return Ok(model);
    }
    let most = settings.batch.unwrap_or(SMALLEST_BATCH);
    let all: usize = problems.iter().map(|p| p.train.len() + p.validation.len()).sum();
    let (mut lessons, mut trees) = (Vec::new(), Vec::new());
    let mut spelled = 0;
    for ((kernel, table), p) in corpus.iter().zip(&problems) {
        let speller = Speller::new(&vocab, kernel)?;
        if tuned {
            let training = tuned_examples(&speller, table, &p.train)?;
            let validation = tuned_examples(&speller, table, &p.validation)?;
            spelled += p.train.len() + p.validation.len();
            progress(Progress::Preparing(spelled, all));
            // a kernel of few problems in smaller batches, or it would hardly be updated
            let batch = (training.len() / UPDATES).clamp(SMALLEST_BATCH.min(most), most);
            lessons.push(Lesson { speller, training, validation, rows: 1, batch });
            continue;
        }
        let tau = settings.tau.filter(|_| settings.target == Target::Soft);
        let train = from.map_or_else(|| p.train.clone(), |model| emphasised(table, &p.train, &model.meta.data));
        let mut training = examples(&speller, table, &train, &objectives, tau)?;
        // judged by one target, whatever is trained towards, so that scores compare
        let validation = examples(&speller, table, &p.validation, &objectives, Some(SHARP))?;
        for objective in &objectives {
            if settings.rank == 0.0 || !p.train.iter().any(|i| table.tried[*i].costs(*objective).len() >= 2) {
                continue;
            }
            if settings.wanted(p.train.len()) > 0 {
                progress(Progress::Preparing(0, settings.wanted(p.train.len())));
            }
            // trees that are judged by what they are fitted to would never stop
            let held: &[usize] = if nothing_held_out { &[] } else { &p.validation };
            let (aim, threads) = ((*objective, tau.unwrap_or(SHARP)), tch::get_num_threads().max(1) as usize);
            let fitted = Trees::fit(kernel, table, (&train, held), aim, (settings.seed, threads))?;
            imagine(&speller, (table, &p.train), (aim.0, tau), &fitted, settings, &mut training, progress)?;
            trees.push(fitted);
        }
        // no more than a problem has
        let longest = training.iter().map(|e| e.sequences.len()).max().unwrap_or(2).max(2);
        let rows = settings.configs.min(longest);
        lessons.push(Lesson { speller, training, validation, rows, batch: most });
    }
    let updates = Run::updates(&lessons);
    let epochs = settings.epochs.unwrap_or_else(|| match from {
        None => STEPS.div_ceil(updates).clamp(10, 400),
        Some(_) => REFINING_STEPS.div_ceil(updates).clamp(2, 100),
    });
    let described = described(Some(epochs));
    let key = format!("{described} {:?} {hashes:?}", settings.split);
    let checkpoint = |member| Checkpoint {
        path: folder.join(format!("checkpoint-{member}.safetensors")),
        key: format!("{key} member {member}"),
    };
    let checkpoints: Vec<Checkpoint> = (0..settings.members).map(checkpoint).collect();
    let trained = members((&lessons, &vocab, from), settings, epochs, &checkpoints, progress)?;
    let mut scores = BTreeMap::new();
    let mut weights = Weights::new();
    for (member, (kept, best)) in trained.into_iter().enumerate() {
        if best.divergence == f64::MAX {
            return Err(Error::Failed("training diverged: no epoch gave numbers; give a lower --rate".into()));
        }
        let name = |what: &str| match settings.members {
            1 => format!("validation {what}"),
            _ => format!("validation {what}, network {}", member + 1),
        };
        let share = if tuned { "greedy exact" } else { "share of best, by likelihood" };
        scores.insert(name("divergence (nats)"), best.divergence);
        scores.insert(name(share), best.share);
        if let Some(error) = best.time_error {
            scores.insert(name("time error (ln)"), error);
        }
        if let Some(error) = best.energy_error {
            scores.insert(name("energy error (ln)"), error);
        }
        weights.extend(kept.into_iter().map(|(name, t)| (format!("{member}.{name}"), t)));
    }
    let mut devices: Vec<Device> = Vec::new();
    for device in corpus.iter().flat_map(|(_, table)| &table.devices) {
        if !devices.contains(device) {
            devices.push(device.clone());
        }
    }
    let mut model = Model {
        meta: Meta {
            format: Model::format(),
            hparams: settings.hparams,
            members: settings.members,
            vocab: (*vocab).clone(),
            devices,
            objectives,
            split: settings.split,
            data: hashes.into_iter().cloned().collect(),
            settings: described,
            scores,
            calibration: None,
            command: settings.command.clone(),
            tool: env!("CARGO_PKG_VERSION").into(),
            date: today(),
        },
        weights,
        trees,
    };
    let aim = (!nothing_held_out).then_some(settings.tau.unwrap_or(SHARP));
    model.meta.calibration = calibrate(&model, corpus, &problems, tuned, aim)?;
    model.save(folder)?;
    for Checkpoint { path, .. } in &checkpoints {
        std::fs::remove_file(path).map_err(io(path))?;
    }
    // as it was stored, so that the model in hand is the model on disk
    Model::load(folder)
}

/// What a model's probabilities are worth on the validation problems.
fn calibrate(
    model: &Model,
    corpus: &[(Kernel, Table)],
    problems: &[Problems],
    tuned: bool,
    tau: Option<f64>,
) -> Result<Option<Calibration>> {
    if tuned {
        // one config is known of each problem: what the others cost is not
        return Ok(None);
    }
    let mut known = Vec::new();
    for ((kernel, table), problems) in corpus.iter().zip(problems) {
        let predictor = Predictor::new(kernel, model)?;
        for objective in &model.meta.objectives {
            let cores = tch::get_num_threads().max(1) as usize;
            known.extend(on_threads(&problems.validation, cores, |i| {
                let tried = &table.tried[*i];
                Ok(predictor.score_measured(tried, &table.devices[tried.device], *objective)?.1)
            })?);
        }
    }
    Ok(Calibration::fit(&known, tau))
}

/// The model in the folder, where it is what training would make and is to be kept.
fn finished(
    folder: &Path,
    described: &str,
    split: &Split,
    data: &[&String],
    existing: Existing,
) -> Result<Option<Model>> {
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
    let same = meta.data.iter().eq(data.iter().copied())
        && is_described(&meta.settings, described)
        && meta.split == *split
        && meta.tool == env!("CARGO_PKG_VERSION");
    match (same, existing) {
        (true, _) => Ok(Some(model)),
        (false, Existing::Replace) => Ok(None),
        (false, _) => input(format!(
            "{} holds a model of other data or settings; name another folder, or pass --overwrite",
            folder.display()
        )),
    }
}

/// Trains the networks of an ensemble. Cores take turns with them, an epoch at a time, so that all are busy to the end whatever the number of
/// networks. An epoch is computed on as many cores as there are for each network at a time, so its weights do not depend on the turns.
fn members(
    (lessons, vocab, from): (&[Lesson], &Vocab, Option<&Model>),
    settings: &Settings,
    epochs: usize,
    checkpoints: &[Checkpoint],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<(Weights, Score)>> {
    let cores = tch::get_num_threads().max(1) as usize;
    let together = cores.min(checkpoints.len());
    let updates = (epochs * Run::updates(lessons)) as f64;
    let every = (epochs / 40).max(1);
    let turn = |run: &mut Run| -> Result<Epoch> {
        let epoch = run.epoch;
        let loss = run.epoch_of(updates)?;
        let last = epoch + 1 == epochs;
        if (epoch + 1).is_multiple_of(every) || last {
            run.validate()?;
        }
        run.epoch = epoch + 1;
        run.save_if_due(last)?;
        let (member, members, validation, best) = (run.member, settings.members, run.latest, run.best.divergence);
        Ok(Epoch { member, members, epoch: epoch + 1, epochs, loss, validation, best })
    };
    let mut runs = VecDeque::new();
    for (member, checkpoint) in checkpoints.iter().enumerate() {
        let first = from.map(|model| member_of(&model.weights, member));
        runs.push_back(Run::begin(lessons, (vocab, first), settings, (member, checkpoint))?);
    }
    let (waiting, done) = (Mutex::new(runs), Mutex::new(Vec::new()));
    let stop = AtomicBool::new(false);
    let work = |tell: &mut dyn FnMut(Epoch)| -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let Some(mut run) = held(&waiting).pop_front() else { break };
            if run.epoch >= epochs {
                held(&done).push((run.member, (run.kept, run.best)));
                continue;
            }
            match turn(&mut run) {
                Ok(epoch) => tell(epoch),
                Err(e) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(e);
                }
            }
            held(&waiting).push_back(run);
        }
        Ok(())
    };
    if together == 1 {
        work(&mut |epoch| progress(Progress::Epoch(epoch)))?;
    } else {
        let (tell, told) = std::sync::mpsc::channel();
        let listen = |tell: Sender<Epoch>| {
            // libtorch's number of threads is the calling thread's
            tch::set_num_threads((cores / together) as i32);
            work(&mut |epoch| {
                // nobody listens any more where another has failed
                let _ = tell.send(epoch);
            })
        };
        std::thread::scope(|scope| -> Result<()> {
            let listen = &listen;
            let spawn = |tell: Sender<Epoch>| scope.spawn(move || listen(tell));
            let threads: Vec<_> = (0..together).map(|_| spawn(tell.clone())).collect();
            drop(tell);
            told.iter().for_each(|epoch| progress(Progress::Epoch(epoch)));
            let join = |thread: std::thread::ScopedJoinHandle<Result<()>>| {
                thread.join().map_err(|_| Error::Failed("a training thread panicked".into()))?
            };
            threads.into_iter().try_for_each(join)
        })?;
    }
    let mut trained = std::mem::take(&mut *held(&done));
    trained.sort_by_key(|(at, _)| *at);
    Ok(trained.into_iter().map(|(_, member)| member).collect())
}

/// What is locked; a thread that panicked with it has left it whole.
fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn divide(kernel: &Kernel, table: &Table, settings: &Settings, tuned: bool) -> Problems {
    let part = |part| match tuned {
        true => table.tuned_part(kernel, &settings.split, part),
        false => table.part(kernel, &settings.split, part, Objective::Time),
    };
    Problems { train: part(Part::Train), validation: part(Part::Validation) }
}

/// Adds examples of unmeasured problems that the trees label.
fn imagine(
    speller: &Speller,
    (table, train): (&Table, &[usize]),
    (objective, tau): (Objective, Option<f64>),
    trees: &Trees,
    settings: &Settings,
    training: &mut Vec<Example>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let wanted = settings.wanted(train.len());
    if wanted == 0 || train.len() < 2 {
        return Ok(());
    }
    let contenders = contenders(table, train, objective);
    let imagine = Imagine { speller, table, indices: train, objective, trees, contenders: &contenders };
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    // in portions, so that progress can be told
    for done in (0..wanted).step_by(50) {
        let count = (wanted - done).min(50);
        training.extend(imagine.examples(count, settings.configs, tau, &mut rng)?);
        progress(Progress::Preparing(done + count, wanted));
    }
    Ok(())
}
