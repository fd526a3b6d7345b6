//! Signals that end long work in order.

use crate::answer::tell;
use seqtune_kernel::error::{Error, Result};
use seqtune_measure::forget_handlers;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Signals that ask for an end: Ctrl-C, and the one with which batch systems announce the end.
const ENDS: [i32; 2] = [SIGINT, SIGTERM];

/// How long an end may take before a line says what it waits for.
const AT_ONCE: Duration = Duration::from_secs(1);

fn signal_error(e: std::io::Error) -> Error {
    Error::Failed(format!("waiting for signals: {e}"))
}

/// What a signal sets: the journal is whole at any moment, but programs are torn down, and the user is told how to go on. A second one ends
/// this process at once, and a line says so where the end takes more than a second.
///
/// # Errors
/// `Error::Failed` where the system lets no signal be waited for.
pub fn stop_at_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    forget_handlers(&ENDS);
    for signal in ENDS {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.clone()).map_err(signal_error)?;
        signal_hook::flag::register(signal, stop.clone()).map_err(signal_error)?;
    }
    let mut signals = Signals::new(ENDS).map_err(signal_error)?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::thread::sleep(AT_ONCE);
            tell("seqtune: stopping when what is being compiled is done; a second signal ends at once");
        }
    });
    Ok(stop)
}

/// Lets a signal end this process with a sentence on what is kept, as that is then, for work whose files are whole at any moment.
///
/// # Errors
/// `Error::Failed` where the system lets no signal be waited for.
pub fn end_with(kept: impl Fn() -> String + Send + 'static) -> Result<()> {
    forget_handlers(&ENDS);
    let mut signals = Signals::new(ENDS).map_err(signal_error)?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            if std::io::stderr().is_terminal() {
                // behind the bar and what the terminal shows of Ctrl-C
                tell("");
            }
            tell(&format!("seqtune: stopped by a signal; {}", kept()));
            // at once: what ends with a process otherwise, libtorch among it, is in use by other threads, which would run into it
            signal_hook::low_level::exit(128 + signal);
        }
    });
    Ok(())
}
