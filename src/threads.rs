//! Work on many items, spread over threads.

use crate::error::{Error, Result};

/// Threads that run at once here.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `make` of every item, in order, on at most `threads` threads; on the calling one where one is enough.
pub fn on_threads<T: Sync, A: Send>(
    items: &[T],
    threads: usize,
    make: impl Fn(&T) -> Result<A> + Sync,
) -> Result<Vec<A>> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    if share >= items.len() {
        return items.iter().map(make).collect();
    }
    let make = &make;
    std::thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(make).collect::<Result<Vec<A>>>()))
            .collect();
        let mut made = Vec::with_capacity(items.len());
        for part in parts {
            made.extend(part.join().map_err(|_| Error::Failed("a thread panicked".into()))??);
        }
        Ok(made)
    })
}
