//! One network's training: weights, optimizer, checkpoints.

use crate::ensemble::checkpoint::{Checkpoint, Resumed};
use crate::ensemble::loss;
use crate::ensemble::score::{Score, score};
use crate::network::adamw::{AdamW, copy};
use crate::network::init;
use crate::network::layers::Dropout;
use crate::network::tensors::Weights;
use crate::network::transformer::Transformer;
use crate::training_data::batch::{Batch, Forward};
use crate::training_data::drawn::Drawn;
use crate::training_data::{Example, KernelData};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::{Error, Result};
use seqtune_predict::Settings;
use seqtune_predict::features::Vocab;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor, no_grad};

/// A network that was trained.
pub struct TrainedMember {
    /// Its best weights.
    pub weights: Weights,
    /// Their score on the validation problems.
    pub score: Score,
}

/// An epoch of training.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Network of the ensemble, from 0, and how many there are.
    pub member: usize,
    /// Networks of the ensemble.
    pub members: usize,
    /// Epochs done.
    pub epoch: usize,
    /// Epochs in all.
    pub epochs: usize,
    /// Mean training loss of the epoch, in nats per config.
    pub loss: f64,
    /// Validation scores of the averaged weights, when last taken.
    pub validation: Score,
    /// Best divergence so far, in nats.
    pub best: f64,
}

#[derive(Serialize, Deserialize)]
struct MemberState {
    epoch: usize,
    best: Score,
}

/// Weights and optimizer between epochs.
pub struct MemberTrainer<'a> {
    kernels: &'a [KernelData],
    settings: &'a Settings,
    weights: Weights,
    optimizer: AdamW,
    /// Index of the network in the ensemble.
    pub member: usize,
    /// Epochs done.
    pub epoch: usize,
    /// The averaged weights with the best validation score.
    pub kept: Weights,
    /// Scores of the kept weights.
    pub best: Score,
    /// Scores when last taken.
    pub latest: Score,
    checkpoint: &'a Checkpoint,
    saved: std::time::Instant,
}

impl<'a> MemberTrainer<'a> {
    /// Begins a run with the given weights, or goes on from its checkpoint.
    ///
    /// # Errors
    /// As [`Checkpoint::resume`].
    pub fn begin(
        kernels: &'a [KernelData],
        weights: &Weights,
        settings: &'a Settings,
        member: usize,
        checkpoint: &'a Checkpoint,
    ) -> Result<MemberTrainer<'a>> {
        let mut trainer = MemberTrainer {
            kernels,
            settings,
            optimizer: AdamW::new(weights),
            kept: copy(weights),
            weights: copy(weights),
            member,
            epoch: 0,
            best: Score { divergence: f64::MAX, ..Score::default() },
            latest: Score::default(),
            checkpoint,
            saved: std::time::Instant::now(),
        };
        if let Some(Resumed { weights, kept, optimizer, state }) = checkpoint.resume::<MemberState>()? {
            (trainer.weights, trainer.kept, trainer.optimizer) = (weights, kept, optimizer);
            (trainer.epoch, trainer.best, trainer.latest) = (state.epoch, state.best, state.best);
        }
        let weights = std::mem::take(&mut trainer.weights);
        trainer.weights = weights.into_iter().map(|(n, t)| (n, t.set_requires_grad(true))).collect();
        Ok(trainer)
    }

    /// Updates that one epoch makes.
    pub fn updates(kernels: &[KernelData]) -> usize {
        kernels.iter().map(|l| l.training.len().div_ceil(l.batch)).sum()
    }

    /// One pass over the examples; the order and the choice of configs depend on seed, member and epoch alone.
    ///
    /// # Errors
    /// `Error::Failed` where the loss is not a number.
    pub fn epoch_of(&mut self, total_updates: f64) -> Result<f64> {
        let (settings, kernels) = (self.settings, self.kernels);
        let seed = (settings.seed + self.member as u64).wrapping_mul(1_000_003).wrapping_add(self.epoch as u64);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut batches: Vec<(&KernelData, Vec<usize>)> = Vec::new();
        for kernel_data in kernels {
            let mut order: Vec<usize> = (0..kernel_data.training.len()).collect();
            order.shuffle(&mut rng);
            batches.extend(order.chunks(kernel_data.batch).map(|chunk| (kernel_data, chunk.to_vec())));
        }
        batches.shuffle(&mut rng);
        let mut losses = Vec::new();
        for (kernel_data, chunk) in batches {
            let likelihood = self.learn(kernel_data, &chunk, &mut rng)?;
            let rate = self.optimizer.rate(settings.rate, total_updates);
            self.optimizer.update(&mut self.weights, rate, settings.decay);
            losses.push(likelihood);
        }
        match losses.iter().all(|l| l.is_finite()) {
            true => Ok(losses.iter().sum::<f64>() / losses.len() as f64),
            false => Err(Error::Failed(format!(
                "the loss of epoch {} is not a number; lower --learning-rate",
                self.epoch + 1
            ))),
        }
    }

    /// The network of the current weights, with dropout.
    fn network(&self, seed: u64) -> Result<Transformer> {
        let Settings { hparams, dropout, .. } = self.settings;
        let net = Transformer::new(hparams, &self.weights)?;
        Ok(net.with_dropout(Dropout::new(*dropout, seed)))
    }

    /// Leaves the gradients of one update in the weights; the part of its loss that is likelihood.
    fn learn(&self, kernel_data: &KernelData, chunk: &[usize], rng: &mut ChaCha8Rng) -> Result<f64> {
        let Settings { smoothing, pairwise_weight, head, .. } = self.settings;
        let net = self.network(rng.random())?;
        let examples: Vec<&Example> = chunk.iter().map(|i| &kernel_data.training[*i]).collect();
        let drawn = Drawn::new(&examples, kernel_data.rows, rng);
        let batch = Batch::new(&kernel_data.featurizer, &drawn.sources, kernel_data.rows, &drawn.sequences);
        let Forward { decoded, scores } = batch.forward(&net);
        let mut log = decoded.log.shallow_clone();
        if *smoothing > 0.0 {
            log = &log * (1.0 - smoothing) + batch.mean_of_node(&log) * *smoothing;
        }
        let chosen = batch.take_chosen(&log);
        let shape = [chunk.len() as i64, kernel_data.rows as i64];
        let chosen = chosen.sum_dim_intlist(1, false, Kind::Float).view(shape); // (B, R)
        let target = Tensor::from_slice(&drawn.target).view(shape);
        let likelihood = -((&chosen - self.against(&chosen, &examples)) * &target).sum(None) / shape[0] as f64;
        let mut loss = likelihood.shallow_clone();
        if let (Some(rank), true) = (&scores.rank, kernel_data.rows > 1) {
            let filler = Tensor::from_slice(&drawn.filler).view(shape);
            let ranks = rank.view(shape).masked_fill(&filler, loss::FILLER);
            loss += loss::listwise(&ranks, &target) * self.settings.rank;
            if *pairwise_weight > 0.0 {
                loss += loss::pairwise(&ranks, &Tensor::from_slice(&drawn.relative).view(shape)) * *pairwise_weight;
            }
        }
        let vocab = &kernel_data.featurizer.vocab;
        let heads = [(scores.time.as_ref(), &vocab.rate), (scores.energy.as_ref(), &vocab.efficiency)];
        for (which, (predicted, scale)) in heads.into_iter().enumerate() {
            let (Some(predicted), Some(scale)) = (predicted, scale) else { continue };
            let known: Vec<f32> = drawn.costs.iter().map(|c| c[which]).collect();
            if let Some(error) = loss::costs(predicted, &known, shape, scale.deviation) {
                loss += error * *head;
            }
        }
        loss.backward();
        decoded.back();
        Ok(likelihood.double_value(&[]))
    }

    /// The normaliser of each problem's log-probabilities (B, R), as (B, 1): among the chosen configs for measured problems, 0 (among
    /// all legal ones) for those that trees label or a tuner chose. Of what was not measured nothing is known, so nothing is learned
    /// against it.
    fn against(&self, chosen: &Tensor, examples: &[&Example]) -> Tensor {
        let listwise = |e: &&Example| (!e.among_legal && self.settings.pseudo_labels > 0) as u8 as f32;
        let listwise: Vec<f32> = examples.iter().map(listwise).collect();
        match listwise.contains(&1.0) {
            true => chosen.logsumexp([1], true) * Tensor::from_slice(&listwise).unsqueeze(1),
            false => chosen.zeros_like().narrow(1, 0, 1),
        }
    }

    /// Scores the averaged weights and keeps them if they are the best so far.
    ///
    /// # Errors
    /// `Error::Failed` where libtorch fails.
    pub fn validate(&mut self) -> Result<()> {
        let net = Transformer::new(&self.settings.hparams, &self.optimizer.average)?;
        self.latest = no_grad(|| score(&net, self.kernels))?;
        if self.latest.divergence < self.best.divergence {
            self.best = self.latest;
            self.kept = copy(&self.optimizer.average);
        }
        Ok(())
    }

    /// Writes the checkpoint, at most as often as the settings say unless it is the last.
    ///
    /// # Errors
    /// `Error::Failed` where the file cannot be written.
    pub fn save_if_due(&mut self, last: bool) -> Result<()> {
        if !last && self.saved.elapsed().as_secs() < self.settings.checkpoint {
            return Ok(());
        }
        self.saved = std::time::Instant::now();
        let state = MemberState { epoch: self.epoch, best: self.best };
        self.checkpoint.save(&self.weights, &self.kept, &self.optimizer, state)
    }
}

/// Random weights of a network: those of the same seed and member are the same.
pub fn random_weights(kernels: &[KernelData], vocab: &Vocab, settings: &Settings, member: usize) -> Weights {
    let mut sequences = kernels.iter().flat_map(|l| &l.training).flat_map(|e| &e.sequences);
    let reranks = sequences.any(|s| !s.finished.is_empty());
    init::random_weights(&settings.hparams, vocab, reranks, settings.seed + 7_919 * member as u64)
}
