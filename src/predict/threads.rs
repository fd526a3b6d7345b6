//! Work on many items, spread over threads.

use crate::error::{Error, Result};
use rayon::prelude::*;

/// Threads that run at once here.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.min(items.len())).build();
    let pool = pool.map_err(|e| Error::Failed(format!("starting threads: {e}")))?;
    let make = &make;
    pool.install(|| items.par_iter().with_max_len(1).map(make).collect())
}
