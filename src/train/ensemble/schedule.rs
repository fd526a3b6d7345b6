//! The networks of an ensemble, trained side by side.

use crate::cost_heads;
use crate::ensemble::checkpoint::Checkpoint;
use crate::ensemble::member::{self, Epoch, MemberTrainer, TrainedMember};
use crate::network::tensors;
use crate::progress::Progress;
use crate::training_data::KernelData;
use seqtune_kernel::error::{Error, Result};
use seqtune_predict::features::Vocab;
use seqtune_predict::network::weights::member as member_of;
use seqtune_predict::{Model, Settings};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The networks of an ensemble, and what they learn from.
pub struct EnsembleTraining<'a> {
    /// By kernel, its examples.
    pub kernels: &'a [KernelData],
    /// Vocabulary of all of them.
    pub vocab: &'a Vocab,
    /// Model whose weights are gone on from.
    pub from: Option<&'a Model>,
    /// Settings of every network.
    pub settings: &'a Settings,
    /// Passes of each network over the examples.
    pub epochs: usize,
    /// By network, where its training stands on disk.
    pub checkpoints: &'a [Checkpoint],
}

impl EnsembleTraining<'_> {
    /// Trains the networks, and returns each one's best weights. Cores take turns with them, an epoch at a time, so that all are busy to
    /// the end whatever the number of networks. An epoch is computed on as many cores as there are for each network at a time, so its
    /// weights do not depend on the turns.
    ///
    /// # Errors
    /// [`Error::Failed`] where a loss is not a number, [`Error::Input`] where a checkpoint was made of other data or settings.
    pub fn train(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<TrainedMember>> {
        let cores = tch::get_num_threads().max(1) as usize;
        let together = cores.min(self.checkpoints.len());
        let queue = TrainingQueue { waiting: Mutex::new(self.begin()?), ..TrainingQueue::default() };
        if together == 1 {
            self.work(&queue, &mut |epoch| progress(Progress::Epoch(epoch)))?;
        } else {
            let (send, epochs) = std::sync::mpsc::channel();
            std::thread::scope(|scope| -> Result<()> {
                let spawn = |send: Sender<Epoch>| {
                    scope.spawn(|| {
                        // libtorch's number of threads is the calling thread's
                        tch::set_num_threads((cores / together) as i32);
                        self.work(&queue, &mut move |epoch| {
                            // nobody receives any more where another thread has failed
                            let _ = send.send(epoch);
                        })
                    })
                };
                let threads: Vec<_> = (0..together).map(|_| spawn(send.clone())).collect();
                drop(send);
                epochs.iter().for_each(|epoch| progress(Progress::Epoch(epoch)));
                let join = |thread: std::thread::ScopedJoinHandle<Result<()>>| {
                    thread.join().map_err(|_| Error::Failed("a training thread panicked".into()))?
                };
                threads.into_iter().try_for_each(join)
            })?;
        }
        let mut trained = std::mem::take(&mut *lock(&queue.done));
        trained.sort_by_key(|(member, _)| *member);
        Ok(trained.into_iter().map(|(_, trained)| trained).collect())
    }

    fn begin(&self) -> Result<VecDeque<MemberTrainer<'_>>> {
        let begin = |(member, checkpoint): (usize, _)| {
            let weights = match self.from {
                Some(model) => tensors::from_arrays(&member_of(&model.weights, member)),
                None => member::random_weights(self.kernels, self.vocab, self.settings, member),
            };
            MemberTrainer::begin(self.kernels, &weights, self.settings, member, checkpoint)
        };
        self.checkpoints.iter().enumerate().map(begin).collect()
    }

    /// Takes networks from the queue for an epoch each, until none is left or one fails.
    fn work(&self, queue: &TrainingQueue, finished: &mut dyn FnMut(Epoch)) -> Result<()> {
        while !queue.stop.load(Ordering::Relaxed) {
            let Some(mut trainer) = lock(&queue.waiting).pop_front() else { break };
            if trainer.epoch >= self.epochs {
                let fitted = cost_heads::fit(trainer.kept, trainer.best, &self.settings.hparams, self.kernels)
                    .inspect_err(|_| queue.stop.store(true, Ordering::Relaxed))?;
                lock(&queue.done).push((trainer.member, fitted));
                continue;
            }
            match self.turn(&mut trainer) {
                Ok(epoch) => finished(epoch),
                Err(e) => {
                    queue.stop.store(true, Ordering::Relaxed);
                    return Err(e);
                }
            }
            lock(&queue.waiting).push_back(trainer);
        }
        Ok(())
    }

    /// An epoch of a network, with validation and checkpoint where they are due.
    fn turn(&self, trainer: &mut MemberTrainer) -> Result<Epoch> {
        let updates = (self.epochs * MemberTrainer::updates(self.kernels)) as f64;
        let every = (self.epochs / 40).max(1);
        let loss = trainer.epoch_of(updates)?;
        let epoch = trainer.epoch + 1;
        let last = epoch == self.epochs;
        if epoch.is_multiple_of(every) || last {
            trainer.validate()?;
        }
        trainer.epoch = epoch;
        trainer.save_if_due(last)?;
        Ok(Epoch {
            member: trainer.member,
            members: self.settings.members,
            epoch,
            epochs: self.epochs,
            loss,
            validation: trainer.latest,
            best: trainer.best.divergence,
        })
    }
}

/// Networks between their epochs.
#[derive(Default)]
struct TrainingQueue<'a> {
    waiting: Mutex<VecDeque<MemberTrainer<'a>>>,
    /// Networks that are finished, with their indices.
    done: Mutex<Vec<(usize, TrainedMember)>>,
    /// Whether one has failed.
    stop: AtomicBool,
}

/// Locks; a thread that panicked with it has left it whole.
fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
