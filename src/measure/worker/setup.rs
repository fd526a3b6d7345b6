//! Parameters for starting workers.

use crate::processes::guard::most_memory;
use crate::verify::oclgrind::Variable;
use crate::worker::protocol::FoundKernel;
use seqtune_kernel::error::{Error, Result, input, quote};
use seqtune_kernel::{Difference, Kernel};
use std::path::PathBuf;
use std::time::Duration;

/// Parameters for starting workers.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Path of the seqtune program.
    pub seqtune: PathBuf,
    /// Kernel name or folder, as [`Kernel::open`] takes it.
    pub kernel: String,
    /// The kernel as it was opened: a worker that finds another version ends.
    pub opened: Kernel,
    /// Device id, as [`crate::registry::open`] takes it.
    pub device: String,
    /// Longest silence of a config before it fails with [`InvalidityKind::Timeout`](seqtune_data::InvalidityKind::Timeout).
    pub limit: Duration,
    /// Bytes of memory of its own that a worker may fill, with all that it started.
    pub memory: f64,
    /// Times of a program, where the kernel is one.
    pub program: Option<ProgramTimes>,
    /// Variables of a worker beside those of this process.
    pub environment: Vec<Variable>,
}

/// Times that the worker of a program holds it to.
#[derive(Clone, Copy, Debug)]
pub struct ProgramTimes {
    /// Longest run.
    pub run: Duration,
    /// Longest teardown, where there is one.
    pub teardown: Option<Duration>,
}

/// Time beyond that of a run after which the worker of a program counts as silent itself.
pub(super) const MARGIN: Duration = Duration::from_secs(15);

impl Setup {
    /// Creates parameters for workers of the running program, for a kernel that [`Kernel::open`] finds by `path`. Without a limit a config
    /// may be silent for 20 s, or for as long as `SEQTUNE_SILENCE` says, a program run for as long as its `[run]` says.
    ///
    /// # Errors
    /// [`Error::Failed`] where the path of the running program is unknown, [`Error::Input`] where `SEQTUNE_WORKER_MEMORY` or `SEQTUNE_SILENCE` is
    /// no number.
    pub fn new(kernel: &Kernel, path: &str, device: &str, limit: Option<Duration>) -> Result<Setup> {
        let seqtune =
            std::env::current_exe().map_err(|e| Error::Failed(format!("finding the running program: {e}")))?;
        let (kernel_path, device, memory) = (path.into(), device.into(), most_memory()?);
        let program = kernel.run.as_ref().map(|run| ProgramTimes {
            run: limit.unwrap_or(Duration::from_secs_f64(run.timeout())),
            teardown: (!run.teardown.is_empty()).then(|| Duration::from_secs_f64(run.setup_timeout())),
        });
        let silence = limit.map_or_else(silence, Ok)?;
        let limit = program.map_or(silence, |times| times.run + MARGIN);
        let (opened, environment) = (kernel.clone(), Vec::new());
        Ok(Setup { seqtune, kernel: kernel_path, opened, device, limit, memory, program, environment })
    }

    /// The error of a worker that found something else in the place of the kernel, with what differs.
    pub(super) fn changed_error(&self, found: &FoundKernel) -> Error {
        let why = match found {
            FoundKernel::Version(identity) => Difference::list(&self.opened.differences_to(identity)),
            FoundKernel::Nothing(reason) => reason.clone(),
        };
        Error::Input(format!(
            "the kernel {} was changed while it was measured: {why}; put its files back and go on, or measure the new version into another file",
            self.kernel
        ))
    }
}

/// Longest silence, unless stated.
const SILENCE: Duration = Duration::from_secs(20);

/// Longest silence where no option states it: a machine that is always busy says another one.
fn silence() -> Result<Duration> {
    let Ok(text) = std::env::var("SEQTUNE_SILENCE") else { return Ok(SILENCE) };
    match text.trim().parse::<f64>() {
        Ok(seconds) if (1.0..=1e6).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => input(format!("SEQTUNE_SILENCE is `{}`: write seconds from 1 to 1000000", quote(&text))),
    }
}
