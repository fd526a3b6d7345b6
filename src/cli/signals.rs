//! Signals that end long work in order.

use seqtune_predict::error::{Error, Result};
use signal_hook::consts::SIGTERM;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What SIGTERM sets, with which batch systems announce the end: the journal is whole at any moment, but programs are torn down. A second
/// one ends this process at once.
pub fn stop_at_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let failed = |e: std::io::Error| Error::Failed(format!("waiting for signals: {e}"));
    signal_hook::flag::register_conditional_shutdown(SIGTERM, 128 + SIGTERM, stop.clone()).map_err(failed)?;
    signal_hook::flag::register(SIGTERM, stop.clone()).map_err(failed)?;
    Ok(stop)
}
