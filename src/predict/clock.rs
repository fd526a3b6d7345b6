//! The clock, as far as there is one: the system's, and in a browser's module one that stands still.

#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;

/// A moment in a module without a clock, where the system's would end it.
#[cfg(target_family = "wasm")]
#[derive(Clone, Copy, Debug)]
pub struct Instant;

#[cfg(target_family = "wasm")]
impl Instant {
    /// This moment.
    pub fn now() -> Instant {
        Instant
    }

    /// No time.
    pub fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
