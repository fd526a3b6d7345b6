//! The program that trains, `seqtune-train`: found, checked and given the command line.
//!
//! It alone is linked to libtorch, which a process loads at its start whatever it is asked.

use seqtune_kernel::error::{Error, Result};
use std::path::PathBuf;
use std::process::Command;

/// How to come by the program.
const BUILD: &str = "scripts/setup.sh fetches libtorch, and `cargo build --release -p seqtune-train` builds it";

/// The path of the program: `$SEQTUNE_TRAIN`, or beside the running one.
///
/// # Errors
/// [`Error::Unavailable`] where it is not there.
pub fn find() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("SEQTUNE_TRAIN").map(PathBuf::from) {
        return match named.is_file() {
            true => Ok(named),
            false => Err(Error::Unavailable(format!("SEQTUNE_TRAIN names {}: no such program", named.display()))),
        };
    }
    let own = std::env::current_exe().map_err(|e| Error::Failed(format!("finding the running program: {e}")))?;
    let beside = own.with_file_name(format!("seqtune-train{}", std::env::consts::EXE_SUFFIX));
    match beside.is_file() {
        true => Ok(beside),
        false => {
            let folder = own.parent().unwrap_or(&own).display();
            Err(Error::Unavailable(format!(
                "training needs the program seqtune-train, which is not in {folder}: {BUILD}"
            )))
        }
    }
}

/// The libraries that the program's loader does not find; nothing where that cannot be found out.
pub fn missing_libraries(program: &std::path::Path) -> Vec<String> {
    // the loader lists what it would load, and runs nothing
    let listed = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output();
    let text = listed.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    let lines = text.lines().filter(|line| line.contains("not found"));
    lines.filter_map(|line| Some(line.split_whitespace().next()?.to_string())).collect()
}

/// Becomes the program that trains, with the command line that this one was given: progress, interrupts, the exit status and messages are
/// the same as if it were one program. Returns only where that fails.
///
/// # Errors
/// [`Error::Unavailable`] where the program or libtorch is missing.
pub fn hand_over() -> Result<()> {
    let program = find()?;
    tracing::debug!("going on as {}", program.display());
    let missing = missing_libraries(&program);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(Error::Unavailable(format!("training needs libtorch: {missing} is not found; {BUILD}")));
    }
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1));
    let failed = |e: std::io::Error| Error::Failed(format!("starting {}: {e}", program.display()));
    #[cfg(unix)]
    return Err(failed(std::os::unix::process::CommandExt::exec(&mut command)));
    #[cfg(not(unix))]
    {
        let status = command.status().map_err(failed)?;
        std::process::exit(status.code().unwrap_or(1));
    }
}
