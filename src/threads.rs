//! Work on many items, spread over threads, and the memory that it keeps.

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

/// Tells malloc to keep what large temporaries leave: mapping and unmapping them anew at each operation costs more than the
/// operation.
pub fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets three limits of the allocator; no pointer is involved
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 1 << 28);
    }
}
