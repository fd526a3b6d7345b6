//! The memory of large temporaries.

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
