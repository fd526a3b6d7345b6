//! A process that gives the clocks of a device back when the one that set them is gone, however it went: it waits for the end of a pipe,
//! which the system closes with the process.

use crate::processes::guard::detach;
use crate::processes::tree::RESTORE_CLOCKS;
use seqtune_kernel::error::{Error, Result};
use std::process::{ChildStdin, Command, Stdio};

/// The end of the pipe that the guardian waits for.
pub struct Guardian(#[allow(dead_code)] ChildStdin);

impl Guardian {
    /// Starts the process for the device at an address, outside of this process's session and tree, which are killed as a whole.
    ///
    /// # Errors
    /// `Error::Failed` where it does not start.
    pub fn start(address: &[String; 2]) -> Result<Guardian> {
        let failed = |e: std::io::Error| Error::Failed(format!("starting the process that gives clocks back: {e}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg(RESTORE_CLOCKS).args(address).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        detach(&mut command);
        let mut started = command.spawn().map_err(failed)?;
        let pipe = started.stdin.take();
        started.wait().map_err(failed)?;
        pipe.map(Guardian).ok_or_else(|| Error::Failed("the process that gives clocks back has no pipe".into()))
    }
}
