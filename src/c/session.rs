//! What a session leads to.

use crate::fields::Scratch;
use crate::predictor::Shared;
use crate::status::{Answer, Fault};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Memory of one thread's predictions: with it, a prediction needs no other.
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    scratch: Mutex<Scratch>,
}

impl Session {
    pub(crate) fn new(shared: &Arc<Shared>) -> Session {
        Session { shared: shared.clone(), scratch: Mutex::new(Scratch::new(shared)) }
    }

    /// Its memory, unless another thread uses it.
    pub(crate) fn scratch(&self) -> Answer<MutexGuard<'_, Scratch>> {
        match self.scratch.try_lock() {
            Ok(scratch) => Ok(scratch),
            // every call fills it anew
            Err(TryLockError::Poisoned(scratch)) => Ok(scratch.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Fault::input("the session is in use by another thread: open one for each thread"))
            }
        }
    }
}
