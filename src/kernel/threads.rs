//! Work on many items, spread over threads.

use crate::error::{Error, Result};
use rayon::prelude::*;

/// Threads that run at once here.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `work`, in which rayon finds at most `threads` threads that end with it.
///
/// Threads that stayed would be missing in a child that this process forks, as Python's `multiprocessing` does: it would wait for them for ever.
///
/// # Errors
/// [`Error::Failed`] where threads cannot be started.
pub fn run_in_pool<A: Send>(threads: usize, work: impl FnOnce() -> A + Send) -> Result<A> {
    // a browser starts none
    if cfg!(target_family = "wasm") {
        return Ok(work());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    Ok(pool.map_err(|e| Error::Failed(format!("starting threads: {e}")))?.install(work))
}

/// `make` of every item, in order, on at most `threads` threads; on the calling one where one is enough.
///
/// # Errors
/// The first error of `make` by the order of the items, or that threads cannot be started.
pub fn on_threads<T: Sync, A: Send>(
    items: &[T],
    threads: usize,
    make: impl Fn(&T) -> Result<A> + Sync,
) -> Result<Vec<A>> {
    // a browser starts none
    if cfg!(target_family = "wasm") || threads < 2 || items.len() < 2 {
        return items.iter().map(make).collect();
    }
    let make = &make;
    run_in_pool(threads.min(items.len()), || items.par_iter().with_max_len(1).map(make).collect())?
}
