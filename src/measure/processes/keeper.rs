//! The process between a parent and its worker. It outlives both, whatever ends them, and then ends all that the worker has started, so that no
//! program goes on after the sweep that started it: neither what left its group nor what became a daemon.
//!
//! Linux gives the orphans of a tree to the nearest process above them that asked for them (`PR_SET_CHILD_SUBREAPER`): the keeper, in whose tree
//! everything stays until it is gone. The keeper sees the end of its parent by the end of standard input, and by the number of its own parent.

use crate::processes::guard::{
    NO_CHILD, Signals, adopt, become_unseen, end_children, end_like, forbid_cores, fork, parent_of_this, reap, vanish,
};
use std::io::{PipeReader, Read, Result, pipe};
use std::path::Path;
use std::time::Duration;

/// What the name of a working folder begins with that a parent has made for a program.
pub const SCRATCH: &str = "seqtune-";

/// Time between two looks at whether the parent is there: where its pipe is held open by somebody else, and once the pipe is closed.
const LOOK: Duration = Duration::from_secs(1);
const CLOSED: Duration = Duration::from_millis(20);

/// Splits this process, which has one thread: it returns in a child, the worker; what the parent knows stays behind as the keeper, ends with
/// the status of the worker, and ends the worker and all below it when the process `parent` is gone, or on SIGTERM. Other signals it does not
/// take. Without a `parent` the one that it has now counts. The folder `scratch` goes once the parent
/// is gone or wants no more, where [`SCRATCH`] begins its name.
///
/// # Errors
/// The error of the system where there is no process or pipe left.
pub fn keep(parent: Option<u32>, scratch: &Path) -> Result<()> {
    forbid_cores();
    adopt();
    let parent = parent.unwrap_or_else(parent_of_this);
    let (alive, held) = pipe()?;
    match fork()? {
        NO_CHILD => {
            drop(held);
            // neither is this inherited
            adopt();
            std::thread::spawn(move || watch(alive));
            Ok(())
        }
        worker => {
            drop(alive);
            guard(worker, parent, scratch)
        }
    }
}

/// The worker's part: where the keeper itself is killed, what the worker has started ends all the same.
fn watch(mut keeper: PipeReader) {
    let mut byte = [0];
    while matches!(keeper.read(&mut byte), Err(e) if e.kind() == std::io::ErrorKind::Interrupted) {}
    end_children(&[]);
    vanish();
}

/// Waits for the end of the worker or of the parent.
fn guard(worker: u32, parent: u32, scratch: &Path) -> ! {
    become_unseen();
    let (signals, mut pause, mut is_open) = (Signals::block(), LOOK, true);
    loop {
        let status = reap(worker);
        let seen = signals.wait(is_open, if status.is_some() { Duration::ZERO } else { pause });
        if seen.is_closed {
            // the parent wants no more, or is about to be gone
            (is_open, pause) = (false, CLOSED);
        }
        let is_alone = parent_of_this() != parent;
        if status.is_none() && !is_alone && !seen.is_asked_to_end {
            continue;
        }
        end_children(&[]);
        let is_ours = scratch.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(SCRATCH.as_bytes()));
        if is_ours && (is_alone || !is_open) {
            let _ = std::fs::remove_dir_all(scratch);
        }
        end_like(match status {
            Some(status) => status,
            None if is_alone => 0,
            None => libc::SIGTERM,
        });
    }
}
