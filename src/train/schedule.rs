//! The networks of an ensemble, trained side by side.

use crate::member::{Checkpoint, Epoch, KernelData, MemberTrainer, Score};
use crate::network::tensors::{self, Weights};
use crate::progress::Progress;
use seqtune_predict::Model;
use seqtune_predict::error::{Error, Result};
use seqtune_predict::network::weights::member as member_of;
use seqtune_predict::settings::Settings;
use seqtune_predict::vocab::Vocab;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Trains the networks of an ensemble. Cores take turns with them, an epoch at a time, so that all are busy to the end whatever the number of
/// networks. An epoch is computed on as many cores as there are for each network at a time, so its weights do not depend on the turns.
pub fn members(
    (kernels, vocab, from): (&[KernelData], &Vocab, Option<&Model>),
    settings: &Settings,
    epochs: usize,
    checkpoints: &[Checkpoint],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<(Weights, Score)>> {
    let cores = tch::get_num_threads().max(1) as usize;
    let together = cores.min(checkpoints.len());
    let updates = (epochs * MemberTrainer::updates(kernels)) as f64;
    let every = (epochs / 40).max(1);
    let turn = |run: &mut MemberTrainer| -> Result<Epoch> {
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
        let first = from.map(|model| tensors::from_arrays(&member_of(&model.weights, member)));
        runs.push_back(MemberTrainer::begin(kernels, (vocab, first), settings, (member, checkpoint))?);
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
