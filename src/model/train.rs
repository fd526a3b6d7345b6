//! Training: weights from tables of measured configs.

use super::examples::{Batch, Example, Imagine, Sequence, contenders, examples};
use super::net::{Net, Weights};
use super::optimizer::{AdamW, copy};
use super::settings::{STEPS, Settings, Target};
use super::store::{Hparams, Meta, Model, decode, encode};
use super::teacher::Teacher;
use super::vocab::Vocab;
use crate::dataset::{Objective, Part, Table, today, write_whole};
use crate::error::{Error, Result, input, io};
use crate::kernel::Kernel;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tch::{Reduction, Tensor, no_grad};

/// Most problems that the teacher labels.
const MOST_IMAGINED: usize = 2_000;

/// What a training run tells as it goes.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// The teacher labels unmeasured problems: so many of so many are done.
    Labelling(usize, usize),
    /// An epoch is done.
    Epoch(Epoch),
}

/// An epoch of training.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Epochs done.
    pub epoch: usize,
    pub epochs: usize,
    /// Mean training loss of the epoch, in nats per config.
    pub loss: f64,
    /// Validation scores of the averaged weights, when last taken.
    pub validation: Score,
    pub best: f64,
}

/// How well held-out problems are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Kullback-Leibler divergence from the soft target, among the measured configs, in nats: the criterion that keeps weights.
    pub divergence: f64,
    /// Mean share of the best speed of the most probable measured config.
    pub share: f64,
    /// Root mean square error of the time head in natural logarithms.
    pub time_error: f64,
}

#[derive(Serialize, Deserialize)]
struct State {
    key: String,
    epoch: usize,
    step: i64,
    best: Score,
}

/// Trains on `table` and returns the model with the best validation score.
///
/// `folder/checkpoint.safetensors` is written as it goes; when it is there, and was made from the same data and settings,
/// training goes on from it. It is removed at the end. Training may differ between machines in the last digits; on one
/// machine with one number of threads, the same seed gives the same weights.
pub fn train(
    kernel: &Kernel,
    table: &Table,
    settings: &Settings,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Model> {
    let measured = |o: &Objective| table.tried.iter().any(|t| t.costs(*o).len() >= 2);
    let objectives: Vec<Objective> = Objective::ALL.into_iter().filter(measured).collect();
    if objectives.is_empty() {
        return input("the datasets hold no problem with two working configs; there is nothing to learn");
    }
    let part = |part| table.part(kernel, &settings.split, part, Objective::Time);
    let (train, mut validation) = (part(Part::Train), part(Part::Validation));
    if train.is_empty() {
        return input("no problem shape falls into the training part; sweep more shapes");
    }
    if validation.is_empty() {
        // very small data: judge by what was trained on rather than refuse
        validation = train.clone();
    }
    let vocab = Vocab::new(kernel, table, &train);
    let tau = (settings.target == Target::Soft).then_some(settings.tau);
    let mut training = examples(kernel, &vocab, table, &train, &objectives, tau)?;
    // judged by one target, whatever is trained towards, so that scores compare
    let validation = examples(kernel, &vocab, table, &validation, &objectives, Some(0.05))?;
    let wanted = (settings.imagined * train.len()).min(MOST_IMAGINED);
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    for objective in &objectives {
        if wanted == 0 || train.len() < 2 {
            break;
        }
        progress(Progress::Labelling(0, wanted));
        let teacher = Teacher::fit(kernel, table, &train, *objective, settings.seed)?;
        let contenders = contenders(table, &train, *objective);
        let imagine = Imagine {
            kernel,
            vocab: &vocab,
            table,
            indices: &train,
            objective: *objective,
            teacher: &teacher,
            contenders: &contenders,
        };
        // in portions, so that progress can be told
        for done in (0..wanted).step_by(50) {
            let count = (wanted - done).min(50);
            training.extend(imagine.examples(count, settings.configs, tau, &mut rng)?);
            progress(Progress::Labelling(done + count, wanted));
        }
    }
    let updates = training.len().div_ceil(settings.batch);
    let epochs = settings.epochs.unwrap_or_else(|| STEPS.div_ceil(updates).clamp(10, 400));
    let key = format!("{} {:?} {:?}", settings.describe(epochs), settings.split, table.hashes);
    let checkpoint = folder.join("checkpoint.safetensors");
    let mut run = Run::begin(kernel, &vocab, settings, &checkpoint, key)?;
    let every = (epochs / 40).max(1);
    for epoch in run.epoch..epochs {
        let loss = run.epoch_of(&training, settings, epoch, (epochs * updates) as f64)?;
        if (epoch + 1) % every == 0 || epoch + 1 == epochs {
            run.validate(&validation)?;
        }
        run.epoch = epoch + 1;
        run.save_if_due(epoch + 1 == epochs, settings.checkpoint)?;
        let (validation, best) = (run.latest, run.best.divergence);
        progress(Progress::Epoch(Epoch { epoch: epoch + 1, epochs, loss, validation, best }));
    }
    let scores = BTreeMap::from([
        ("validation divergence (nats)".to_string(), run.best.divergence),
        ("validation share of best, by likelihood".to_string(), run.best.share),
        ("validation time error (ln)".to_string(), run.best.time_error),
    ]);
    let weights = run.kept;
    let model = Model {
        meta: Meta {
            format: Model::format(),
            kernel: kernel.name.clone(),
            space: kernel.space_hash(),
            hparams: settings.hparams,
            vocab: vocab.clone(),
            devices: table.devices.clone(),
            objectives,
            split: settings.split,
            data: table.hashes.clone(),
            settings: settings.describe(epochs),
            scores,
            command: settings.command.clone(),
            tool: env!("CARGO_PKG_VERSION").into(),
            date: today(),
        },
        weights,
    };
    model.save(folder)?;
    std::fs::remove_file(&checkpoint).map_err(io(&checkpoint))?;
    Ok(model)
}

/// Weights and optimizer between epochs.
struct Run<'a> {
    vocab: &'a Vocab,
    step_width: usize,
    weights: Weights,
    net: Net,
    optimizer: AdamW,
    hparams: Hparams,
    epoch: usize,
    /// The averaged weights with the best validation score.
    kept: Weights,
    best: Score,
    latest: Score,
    checkpoint: &'a Path,
    key: String,
    saved: std::time::Instant,
}

impl<'a> Run<'a> {
    fn begin(
        kernel: &Kernel,
        vocab: &'a Vocab,
        settings: &Settings,
        checkpoint: &'a Path,
        key: String,
    ) -> Result<Run<'a>> {
        let step_width = Vocab::step_width(kernel);
        let inputs = (Vocab::source_length(kernel), step_width);
        let mut weights = Net::init(&settings.hparams, inputs, (vocab.tokens(), vocab.positions()), settings.seed);
        let mut optimizer = AdamW::new(&weights);
        let mut kept = copy(&weights);
        let (mut epoch, mut best) = (0, Score { divergence: f64::MAX, ..Score::default() });
        if checkpoint.is_file() {
            let bytes = std::fs::read(checkpoint).map_err(io(checkpoint))?;
            let at = |e: Error| e.at(checkpoint.display());
            let (tensors, meta) = decode(&bytes).map_err(at)?;
            let state: State = serde_json::from_str(meta.get("state").map_or("", String::as_str))
                .map_err(|_| at(Error::Input("is not a checkpoint; delete it".into())))?;
            if state.key != key {
                return Err(at(Error::Input(
                    "was made with other data or settings; delete it to begin anew, or train into another folder"
                        .into(),
                )));
            }
            let part = |prefix: &str| -> Weights {
                let named = tensors.iter().filter_map(|(n, t)| Some((n.strip_prefix(prefix)?.to_string(), t.copy())));
                named.collect()
            };
            weights = part("weights.");
            kept = part("kept.");
            let (first, second, average) = (part("first."), part("second."), part("average."));
            optimizer = AdamW { first, second, average, step: state.step };
            (epoch, best) = (state.epoch, state.best);
        }
        let weights: Weights = weights.into_iter().map(|(n, t)| (n, t.set_requires_grad(true))).collect();
        let net = Net::new(&settings.hparams, &weights)?;
        let hparams = settings.hparams;
        let saved = std::time::Instant::now();
        let latest = best;
        Ok(Run {
            vocab,
            step_width,
            weights,
            net,
            optimizer,
            hparams,
            epoch,
            kept,
            best,
            latest,
            checkpoint,
            key,
            saved,
        })
    }

    /// One pass over the examples; the order and the choice of configs depend on seed and epoch alone.
    fn epoch_of(&mut self, training: &[Example], settings: &Settings, epoch: usize, total_updates: f64) -> Result<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(settings.seed.wrapping_mul(1_000_003).wrapping_add(epoch as u64));
        let mut order: Vec<usize> = (0..training.len()).collect();
        order.shuffle(&mut rng);
        let mut losses = Vec::new();
        for chunk in order.chunks(settings.batch) {
            let (mut sources, mut sequences): (Vec<&[f32]>, Vec<&Sequence>) = Default::default();
            let (mut target, mut time) = (Vec::new(), Vec::new());
            for example in chunk.iter().map(|i| &training[*i]) {
                sources.push(&example.source);
                let chosen = choose(example, settings.configs, &mut rng);
                let total: f32 = chosen.iter().map(|(_, weight)| weight).sum();
                for (i, weight) in chosen {
                    sequences.push(&example.sequences[i]);
                    target.push(weight / total);
                    time.push(example.time[i]);
                }
            }
            let batch = Batch::new(self.vocab, self.step_width, &sources, settings.configs, &sequences);
            let (log, head) = batch.forward(&self.net);
            // among the chosen for measured problems, among all that is legal for those that the teacher labels: of what was
            // not measured nothing is known, so nothing is said against it
            let log = log.view([chunk.len() as i64, settings.configs as i64]); // (B, R)
            let listwise: Vec<f32> =
                chunk.iter().map(|i| (!training[*i].imagined && settings.imagined > 0) as u8 as f32).collect();
            let among = log.logsumexp([1], true) * Tensor::from_slice(&listwise).unsqueeze(1);
            let target = Tensor::from_slice(&target).view_as(&log);
            let likelihood = -((log - among) * target).sum(None) / chunk.len() as f64;
            let known: Vec<i64> = (0..time.len() as i64).filter(|i| !time[*i as usize].is_nan()).collect();
            let mut loss = likelihood.shallow_clone();
            if !known.is_empty() {
                let time: Vec<f32> = known.iter().map(|i| time[*i as usize]).collect();
                let head = head.index_select(0, &Tensor::from_slice(&known));
                loss += head.huber_loss(&Tensor::from_slice(&time), Reduction::Mean, 1.0) * settings.head;
            }
            loss.backward();
            let done = self.optimizer.step as f64 / total_updates;
            let warm = (self.optimizer.step as f64 + 1.0) / 50.0;
            let rate = settings.rate * warm.min(0.5 * (1.0 + (std::f64::consts::PI * done).cos()));
            self.optimizer.update(&mut self.weights, rate, settings.decay);
            losses.push(likelihood.double_value(&[]));
        }
        match losses.iter().all(|l| l.is_finite()) {
            true => Ok(losses.iter().sum::<f64>() / losses.len() as f64),
            false => Err(Error::Failed(format!("the loss of epoch {} is not a number; lower --rate", epoch + 1))),
        }
    }

    /// Scores the averaged weights and keeps them if they are the best so far.
    fn validate(&mut self, validation: &[Example]) -> Result<()> {
        let net = Net::new(&self.hparams, &self.optimizer.average)?;
        self.latest = no_grad(|| score(&net, self.vocab, self.step_width, validation))?;
        if self.latest.divergence < self.best.divergence {
            self.best = self.latest;
            self.kept = copy(&self.optimizer.average);
        }
        Ok(())
    }

    /// Writes the checkpoint, at most every `seconds` unless it is the last.
    fn save_if_due(&mut self, last: bool, seconds: u64) -> Result<()> {
        if !last && self.saved.elapsed().as_secs() < seconds {
            return Ok(());
        }
        self.saved = std::time::Instant::now();
        let mut tensors = Weights::new();
        let AdamW { first, second, average, step } = &self.optimizer;
        let parts = [
            ("weights", &self.weights),
            ("kept", &self.kept),
            ("first", first),
            ("second", second),
            ("average", average),
        ];
        for (prefix, part) in parts {
            tensors.extend(part.iter().map(|(n, t)| (format!("{prefix}.{n}"), t.detach())));
        }
        let state = State { key: self.key.clone(), epoch: self.epoch, step: *step, best: self.best };
        let state = serde_json::to_string(&state).map_err(|e| Error::Failed(format!("writing a checkpoint: {e}")))?;
        write_whole(self.checkpoint, &encode(&tensors, HashMap::from([("state".to_string(), state)]))?)
    }
}

/// Indices and target weights of the configs of one update: those with the most weight, and as many others at random (for
/// the time head, and with the weight they have). Repeats configs of weight 0 where there are too few.
fn choose(example: &Example, count: usize, rng: &mut ChaCha8Rng) -> Vec<(usize, f32)> {
    // sequences are sorted by cost, so the heaviest come first
    let heavy = (count * 2 / 3).min(example.sequences.len());
    let mut chosen: Vec<(usize, f32)> = (0..heavy).map(|i| (i, example.target[i])).collect();
    let mut rest: Vec<usize> = (heavy..example.sequences.len()).collect();
    rest.shuffle(rng);
    chosen.extend(rest.into_iter().take(count - heavy).map(|i| (i, example.target[i])));
    while chosen.len() < count {
        chosen.push((rng.random_range(0..example.sequences.len()), 0.0));
    }
    chosen
}

/// Scores a network on examples.
fn score(net: &Net, vocab: &Vocab, step_width: usize, examples: &[Example]) -> Result<Score> {
    let (mut divergence, mut share, mut squares, mut count) = (0.0, 0.0, 0.0, 0.0);
    for example in examples {
        let sequences: Vec<&Sequence> = example.sequences.iter().collect();
        let batch = Batch::new(vocab, step_width, &[&example.source], sequences.len(), &sequences);
        let (log, head) = batch.forward(net);
        // the probability among the measured configs: what a replay ranks by
        let log = &log - log.logsumexp([0], true);
        let (log, head) = (Vec::<f32>::try_from(log)?, Vec::<f32>::try_from(head)?);
        for (i, log) in log.iter().enumerate() {
            let p = example.target[i] as f64;
            if p > 0.0 {
                divergence += p * (p.ln() - *log as f64);
            }
            squares += (head[i] - example.time[i]).powi(2) as f64;
            count += 1.0;
        }
        let chosen = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b])).unwrap_or(0);
        share += 1.0 / example.cost[chosen];
    }
    let n = examples.len() as f64;
    let time_error = f64::sqrt(squares / count) * vocab.rate.deviation;
    Ok(Score { divergence: divergence / n, share: share / n, time_error })
}
