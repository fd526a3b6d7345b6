//! One network's training: weights, optimizer, checkpoints.

use super::batch::Batch;
use super::examples::{Example, Sequence};
use super::net::{Dropout, Net, Weights};
use super::optimizer::{AdamW, copy};
use super::settings::Settings;
use super::store::{decode, encode};
use super::vocab::{Speller, Vocab};
use crate::dataset::write_whole;
use crate::error::{Error, Result, io};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use tch::{Kind, Reduction, Tensor, no_grad};

/// How well held-out problems are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// In nats: Kullback-Leibler divergence from the soft target among the measured configs, or, where one config is known, how
    /// improbable it was. The criterion that keeps weights.
    pub divergence: f64,
    /// Mean share of the best speed of the most probable measured config; where one is known, share of problems that a greedy
    /// search gets right.
    pub share: f64,
    /// Root mean square error of the time head in natural logarithms, where times are known.
    pub time_error: Option<f64>,
}

/// An epoch of training.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Network of the ensemble, from 0, and how many there are.
    pub member: usize,
    pub members: usize,
    /// Epochs done.
    pub epoch: usize,
    pub epochs: usize,
    /// Mean training loss of the epoch, in nats per config.
    pub loss: f64,
    /// Validation scores of the averaged weights, when last taken.
    pub validation: Score,
    pub best: f64,
}

/// One kernel's share of the training.
pub struct Lesson<'k> {
    pub speller: Speller<'k>,
    pub training: Vec<Example>,
    pub validation: Vec<Example>,
    /// Sequences of each problem per update, and problems per update.
    pub rows: usize,
    pub batch: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    key: String,
    epoch: usize,
    step: i64,
    best: Score,
}

/// Where a training run stands on disk.
pub struct Checkpoint {
    pub path: PathBuf,
    /// What data and settings it was made with.
    pub key: String,
}

/// Weights and optimizer between epochs.
pub struct Run<'a> {
    lessons: &'a [Lesson<'a>],
    settings: &'a Settings,
    weights: Weights,
    optimizer: AdamW,
    pub member: usize,
    pub epoch: usize,
    /// The averaged weights with the best validation score.
    pub kept: Weights,
    pub best: Score,
    pub latest: Score,
    checkpoint: &'a Checkpoint,
    saved: std::time::Instant,
}

/// Updates over which the learning rate rises.
const WARM_UP: f64 = 50.0;

impl<'a> Run<'a> {
    /// Begins a run, or goes on from its checkpoint.
    pub fn begin(
        lessons: &'a [Lesson<'a>],
        vocab: &Vocab,
        settings: &'a Settings,
        (member, checkpoint): (usize, &'a Checkpoint),
    ) -> Result<Run<'a>> {
        let heads = if settings.rank > 0.0 { 2 } else { 1 };
        let weights = Net::init(&settings.hparams, vocab, heads, settings.seed + 7_919 * member as u64);
        let mut run = Run {
            lessons,
            settings,
            optimizer: AdamW::new(&weights),
            kept: copy(&weights),
            weights,
            member,
            epoch: 0,
            best: Score { divergence: f64::MAX, ..Score::default() },
            latest: Score::default(),
            checkpoint,
            saved: std::time::Instant::now(),
        };
        let path = &checkpoint.path;
        if path.is_file() {
            let bytes = std::fs::read(path).map_err(io(path))?;
            let at = |e: Error| e.at(path.display());
            let (tensors, meta) = decode(&bytes).map_err(at)?;
            let state: State = serde_json::from_str(meta.get("state").map_or("", String::as_str))
                .map_err(|_| at(Error::Input("is not a checkpoint of this version; delete it".into())))?;
            if state.key != checkpoint.key {
                return Err(at(Error::Input(
                    "was made with other data or settings; delete it to begin anew, or train into another folder"
                        .into(),
                )));
            }
            let part = |prefix: &str| -> Weights {
                let named = tensors.iter().filter_map(|(n, t)| Some((n.strip_prefix(prefix)?.to_string(), t.copy())));
                named.collect()
            };
            (run.weights, run.kept) = (part("weights."), part("kept."));
            let (first, second, average) = (part("first."), part("second."), part("average."));
            run.optimizer = AdamW { first, second, average, step: state.step };
            (run.epoch, run.best) = (state.epoch, state.best);
            run.latest = run.best;
        }
        run.learn();
        Ok(run)
    }

    fn learn(&mut self) {
        let weights = std::mem::take(&mut self.weights);
        self.weights = weights.into_iter().map(|(n, t)| (n, t.set_requires_grad(true))).collect();
    }

    /// Updates that one epoch makes.
    pub fn updates(lessons: &[Lesson]) -> usize {
        lessons.iter().map(|l| l.training.len().div_ceil(l.batch)).sum()
    }

    /// One pass over the examples; the order and the choice of configs depend on seed, member and epoch alone.
    pub fn epoch_of(&mut self, total_updates: f64) -> Result<f64> {
        let (settings, lessons) = (self.settings, self.lessons);
        let seed = (settings.seed + self.member as u64).wrapping_mul(1_000_003).wrapping_add(self.epoch as u64);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut batches: Vec<(&Lesson, Vec<usize>)> = Vec::new();
        for lesson in lessons {
            let mut order: Vec<usize> = (0..lesson.training.len()).collect();
            order.shuffle(&mut rng);
            batches.extend(order.chunks(lesson.batch).map(|chunk| (lesson, chunk.to_vec())));
        }
        batches.shuffle(&mut rng);
        let mut losses = Vec::new();
        for (lesson, chunk) in batches {
            let (loss, likelihood) = self.loss(lesson, &chunk, &mut rng)?;
            loss.backward();
            let done = self.optimizer.step as f64 / total_updates;
            let warm = (self.optimizer.step as f64 + 1.0) / WARM_UP;
            let rate = settings.rate * warm.min(0.5 * (1.0 + (std::f64::consts::PI * done).cos()));
            self.optimizer.update(&mut self.weights, rate, settings.decay);
            losses.push(likelihood);
        }
        match losses.iter().all(|l| l.is_finite()) {
            true => Ok(losses.iter().sum::<f64>() / losses.len() as f64),
            false => Err(Error::Failed(format!("the loss of epoch {} is not a number; lower --rate", self.epoch + 1))),
        }
    }

    /// The loss of one update, and the part of it that is likelihood.
    fn loss(&self, lesson: &Lesson, chunk: &[usize], rng: &mut ChaCha8Rng) -> Result<(Tensor, f64)> {
        let Settings { hparams, smoothing, dropout, half, imagined, .. } = self.settings;
        let net = if *half {
            // but for the heads, whose answers differ in digits that bfloat16 does not have
            let kind = |name: &str| if name.starts_with("head.") { Kind::Float } else { Kind::BFloat16 };
            let weights = self.weights.iter().map(|(n, t)| (n.clone(), t.to_kind(kind(n)))).collect();
            Net::new(hparams, &weights)?
        } else {
            Net::new(hparams, &self.weights)?
        };
        let net = net.with_dropout(Dropout::new(*dropout, rng.random()));
        let (mut sources, mut sequences): (Vec<&[f32]>, Vec<&Sequence>) = Default::default();
        let (mut target, mut time, mut filler) = (Vec::new(), Vec::new(), Vec::new());
        for example in chunk.iter().map(|i| &lesson.training[*i]) {
            sources.push(&example.quantities);
            let chosen = choose(example, lesson.rows, rng);
            let total: f32 = chosen.iter().map(|(_, weight)| weight).sum();
            filler.extend((0..chosen.len()).map(|at| at >= example.sequences.len()));
            for (i, weight) in chosen {
                sequences.push(&example.sequences[i]);
                target.push(weight / total);
                time.push(example.time[i]);
            }
        }
        let batch = Batch::new(&lesson.speller, &sources, lesson.rows, &sequences);
        let (log, head, rank) = batch.forward(&net);
        let mut chosen = batch.chosen(&log);
        if *smoothing > 0.0 {
            chosen = chosen * (1.0 - smoothing) + batch.mean_of_legal(&log) * *smoothing;
        }
        let problems = chunk.len() as i64;
        let chosen = chosen.sum_dim_intlist(1, false, Kind::Float).view([problems, lesson.rows as i64]); // (B, R)
        // among the chosen for measured problems, among all that is legal for those that the teacher labels or a tuner chose:
        // of what was not measured nothing is known, so nothing is said against it
        let listwise: Vec<f32> =
            chunk.iter().map(|i| (!lesson.training[*i].among_legal && *imagined > 0) as u8 as f32).collect();
        let mut against = chosen.zeros_like().narrow(1, 0, 1);
        if listwise.contains(&1.0) {
            against = chosen.logsumexp([1], true) * Tensor::from_slice(&listwise).unsqueeze(1);
        }
        let target = Tensor::from_slice(&target).view_as(&chosen);
        let likelihood = -((chosen - against) * &target).sum(None) / problems as f64;
        let known: Vec<i64> = (0..time.len() as i64).filter(|i| !time[*i as usize].is_nan()).collect();
        let mut loss = likelihood.shallow_clone();
        if let (Some(rank), true) = (rank, lesson.rows > 1) {
            // listwise: what ranks is to be distributed over the problem's configs as the target is
            let filler = Tensor::from_slice(&filler).view_as(&target);
            let log = rank.view_as(&target).masked_fill(&filler, -1e9).log_softmax(1, Kind::Float);
            loss -= (log * &target).sum(None) / problems as f64 * self.settings.rank;
        }
        if !known.is_empty() {
            let time: Vec<f32> = known.iter().map(|i| time[*i as usize]).collect();
            let head = head.index_select(0, &Tensor::from_slice(&known));
            loss += head.huber_loss(&Tensor::from_slice(&time), Reduction::Mean, 1.0) * self.settings.head;
        }
        Ok((loss, likelihood.double_value(&[])))
    }

    /// Scores the averaged weights and keeps them if they are the best so far.
    pub fn validate(&mut self) -> Result<()> {
        let net = Net::new(&self.settings.hparams, &self.optimizer.average)?;
        self.latest = no_grad(|| score(&net, self.lessons))?;
        if self.latest.divergence < self.best.divergence {
            self.best = self.latest;
            self.kept = copy(&self.optimizer.average);
        }
        Ok(())
    }

    /// Writes the checkpoint, at most as often as the settings say unless it is the last.
    pub fn save_if_due(&mut self, last: bool) -> Result<()> {
        if !last && self.saved.elapsed().as_secs() < self.settings.checkpoint {
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
        let Run { epoch, best, .. } = self;
        let state = State { key: self.checkpoint.key.clone(), epoch: *epoch, step: *step, best: *best };
        let state = serde_json::to_string(&state).map_err(|e| Error::Failed(format!("writing a checkpoint: {e}")))?;
        write_whole(
            &self.checkpoint.path,
            &encode(&tensors, HashMap::from([("state".to_string(), state)]), Dtype::F32)?,
        )
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

/// Scores a network on the validation examples of all lessons.
fn score(net: &Net, lessons: &[Lesson]) -> Result<Score> {
    let (mut divergence, mut share, mut squares, mut timed, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for lesson in lessons {
        // problems with one known config go together, swept ones each alone
        let together = if lesson.rows == 1 { lesson.batch } else { 1 };
        for chunk in lesson.validation.chunks(together) {
            let sequences: Vec<&Sequence> = chunk.iter().flat_map(|e| &e.sequences).collect();
            let sources: Vec<&[f32]> = chunk.iter().map(|e| e.quantities.as_slice()).collect();
            let rows = sequences.len() / chunk.len();
            let batch = Batch::new(&lesson.speller, &sources, rows, &sequences);
            let (all, head, rank) = batch.forward(net);
            let mut log = batch.chosen(&all).sum_dim_intlist(1, false, Kind::Float);
            if lesson.rows == 1 {
                share += batch.greedy_exact(&all).sum(Kind::Float).double_value(&[]);
            } else {
                // the probability among the measured configs, by likelihood and rank together: what a replay ranks by
                if let Some(rank) = rank {
                    log = (log + rank) / 2.0;
                }
                log = &log - log.logsumexp([0], true);
            }
            let (log, head) = (Vec::<f32>::try_from(log)?, Vec::<f32>::try_from(head)?);
            let (target, time) = (chunk.iter().flat_map(|e| &e.target), chunk.iter().flat_map(|e| &e.time));
            for (((log, p), head), time) in log.iter().zip(target).zip(&head).zip(time) {
                let p = *p as f64;
                if p > 0.0 {
                    divergence += p * (p.ln() - *log as f64);
                }
                if !time.is_nan() {
                    squares += (head - time).powi(2) as f64;
                    timed += 1.0;
                }
            }
            if lesson.rows > 1 {
                let chosen = (0..log.len()).max_by(|a, b| log[*a].total_cmp(&log[*b])).unwrap_or(0);
                share += 1.0 / chunk[0].cost[chosen];
            }
            count += chunk.len() as f64;
        }
    }
    let deviation = lessons.first().and_then(|l| l.speller.vocab.rate.as_ref()).map_or(1.0, |rate| rate.deviation);
    Ok(Score {
        divergence: divergence / count,
        share: share / count,
        time_error: (timed > 0.0).then(|| f64::sqrt(squares / timed) * deviation),
    })
}
