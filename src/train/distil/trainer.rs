//! The small decoder's training: updates, validation, the best weights.

use crate::distil::batch::{Answers, LessonBatch};
use crate::distil::lesson::Lesson;
use crate::distil::network::Student;
use crate::ensemble::checkpoint::{Checkpoint, Resumed};
use crate::ensemble::loss;
use crate::network::adamw::{AdamW, copy};
use crate::network::tensors::{Weights, numbers};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use seqtune_kernel::error::{Error, Result};
use seqtune_predict::Hparams;
use seqtune_predict::features::Featurizer;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor, no_grad};

/// What the small decoder learns from, and how.
pub struct Course<'a> {
    /// Encoder of the kernel.
    pub featurizer: &'a Featurizer,
    /// Lessons to learn from.
    pub lessons: &'a [Lesson],
    /// Lessons of what was measured or tuned, which choose the weights.
    pub validation: &'a [Lesson],
    /// Sizes of the network.
    pub hparams: Hparams,
    /// Updates.
    pub steps: usize,
    /// Problems of an update.
    pub batch: usize,
    /// Configs of each problem of an update.
    pub rows: usize,
    /// Highest learning rate.
    pub rate: f64,
    /// Weight decay.
    pub decay: f64,
    /// Weight of the loss of the order among the configs of an update.
    pub rank: f64,
    /// Weight of the loss of predicted costs.
    pub head: f64,
    /// Seed of the order of lessons.
    pub seed: u64,
}

/// Weights with the best validation score.
pub struct BestWeights {
    /// The weights.
    pub weights: Weights,
    /// Their score in nats.
    pub nats: f64,
}

#[derive(Serialize, Deserialize)]
struct TrainerState {
    best: f64,
}

/// Updates between validations, after each of which the checkpoint is written.
const VALIDATE: usize = 200;

impl Course<'_> {
    /// Trains weights, and returns those with the best validation score, in nats. Goes on from its checkpoint. `told` hears of the updates done, the
    /// mean loss and the last validation score.
    ///
    /// # Errors
    /// `Error::Failed` where the loss is not a number, else as [`Checkpoint::resume`].
    pub fn take(
        &self,
        weights: Weights,
        checkpoint: &Checkpoint,
        told: &mut dyn FnMut(usize, f64, f64),
    ) -> Result<BestWeights> {
        let fresh = || Resumed {
            optimizer: AdamW::new(&weights),
            kept: copy(&weights),
            weights: copy(&weights),
            state: TrainerState { best: f64::MAX },
        };
        let Resumed { weights, mut kept, mut optimizer, mut state } = checkpoint.resume()?.unwrap_or_else(fresh);
        let mut weights: Weights = weights.into_iter().map(|(n, t)| (n, t.set_requires_grad(true))).collect();
        let (mut sum, mut count) = (0.0, 0.0);
        for step in optimizer.step as usize..self.steps {
            sum += self.update(&mut weights, &mut optimizer, step)?;
            count += 1.0;
            let done = step + 1;
            if done.is_multiple_of(VALIDATE) || done == self.steps {
                let nats = no_grad(|| self.validate(&optimizer.average))?;
                if nats < state.best {
                    (state.best, kept) = (nats, copy(&optimizer.average));
                }
                told(done, sum / count, nats);
                (sum, count) = (0.0, 0.0);
                checkpoint.save(&weights, &kept, &optimizer, &state)?;
            }
        }
        match state.best < f64::MAX {
            true => Ok(BestWeights { weights: kept, nats: state.best }),
            false => Err(Error::Failed("training diverged: no update gave numbers; give another --seed".into())),
        }
    }

    /// One update; what it learns from depends on the seed and its number alone. The part of the loss that is likelihood.
    fn update(&self, weights: &mut Weights, optimizer: &mut AdamW, step: usize) -> Result<f64> {
        let seed = |of: usize| self.seed.wrapping_mul(1_000_003).wrapping_add(of as u64);
        let batch = self.batch.min(self.lessons.len());
        // passes through the lessons, each in another order
        let per_pass = self.lessons.len() / batch;
        let mut order: Vec<usize> = (0..self.lessons.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed(step / per_pass)));
        let chunk: Vec<&Lesson> = order[step % per_pass * batch..][..batch].iter().map(|i| &self.lessons[*i]).collect();
        let (loss, likelihood) = self.loss(weights, &chunk, &mut ChaCha8Rng::seed_from_u64(!seed(step)))?;
        loss.backward();
        optimizer.update(weights, optimizer.rate(self.rate, self.steps as f64), self.decay);
        Ok(likelihood)
    }

    fn loss(&self, weights: &Weights, lessons: &[&Lesson], rng: &mut ChaCha8Rng) -> Result<(Tensor, f64)> {
        let net = Student::new(&self.hparams, weights)?;
        let batch = LessonBatch::new(self.featurizer, lessons, self.rows, rng);
        let Answers { log, costs, nats } = batch.forward(&net, self.featurizer.kernel_index);
        let log = log.view(batch.shape);
        let ranks = log.masked_fill(&batch.filler, loss::FILLER);
        let among = || &log - ranks.logsumexp([1], true) * &batch.listed;
        let likelihood = nats.unwrap_or_else(|| -(among() * &batch.target).sum(None)) / batch.shape[0] as f64;
        let mut loss = likelihood.shallow_clone();
        if self.rank > 0.0 && self.rows > 1 {
            loss += loss::listwise(&ranks, &batch.target) * self.rank;
        }
        let vocab = &self.featurizer.vocab;
        for (which, scale) in [&vocab.rate, &vocab.efficiency].into_iter().enumerate() {
            let Some(scale) = scale else { continue };
            let predicted = costs.select(1, which as i64);
            if let Some(error) = loss::costs(&predicted, &batch.costs[which], batch.shape, scale.deviation) {
                loss += error * self.head;
            }
        }
        Ok((loss, likelihood.double_value(&[])))
    }

    /// Nats between the target and what the network says: among the configs of a lesson, or, where it has one, among all.
    fn validate(&self, weights: &Weights) -> Result<f64> {
        let net = Student::new(&self.hparams, weights)?;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let (mut nats, mut count) = (0.0, 0.0);
        // problems with one known config go together, swept ones each alone
        let tuned = self.validation.iter().all(|lesson| lesson.paths.len() == 1);
        for lesson in self.validation.chunks(if tuned { 64 } else { 1 }) {
            let lessons: Vec<&Lesson> = lesson.iter().collect();
            // so many that none is left out
            let rows = if tuned { 1 } else { lessons[0].paths.len() * 3 / 2 + 1 };
            let batch = LessonBatch::new(self.featurizer, &lessons, rows, &mut rng);
            let mut log = batch
                .forward(&net, self.featurizer.kernel_index)
                .log
                .view(batch.shape)
                .masked_fill(&batch.filler, loss::FILLER);
            if rows > 1 {
                log = log.log_softmax(1, Kind::Float);
            }
            for (log, p) in numbers(&log)?.iter().zip(numbers(&batch.target)?).filter(|(_, p)| *p > 0.0) {
                nats += p as f64 * ((p as f64).ln() - *log as f64);
            }
            count += lessons.len() as f64;
        }
        Ok(nats / count)
    }
}
