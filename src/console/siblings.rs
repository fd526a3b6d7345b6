//! The programs that stand beside the running one: found, checked and given the command line.
//!
//! Only `seqtune-train` is linked to libtorch, which a process loads at its start whatever it is asked.

use seqtune_kernel::error::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of seqtune that is installed beside the others.
pub struct Sibling {
    /// Name of the executable.
    pub name: &'static str,
    /// Environment variable that names another place.
    variable: &'static str,
    /// Work that needs the program, as the subject of a sentence.
    work: &'static str,
    /// Library that the program loads at its start.
    library: Option<&'static str>,
    /// How to install the program.
    install: &'static str,
}

/// Trains, distils and cross-validates.
pub const TRAINER: Sibling = Sibling {
    name: "seqtune-train",
    variable: "SEQTUNE_TRAIN",
    work: "training",
    library: Some("libtorch"),
    install: "scripts/setup.sh fetches libtorch, and `cargo build --release -p seqtune-train` builds it",
};

/// Compares tuning methods for research.
pub const LAB: Sibling = Sibling {
    name: "seqtune-lab",
    variable: "SEQTUNE_LAB",
    work: "this comparison",
    library: None,
    install: "`cargo build --release -p seqtune-lab` builds it in a clone, and `cargo install --path src/lab` installs it",
};

impl Sibling {
    /// Finds the executable: the one that the environment variable names, or the one beside the running program.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where it is not there.
    pub fn find(&self) -> Result<PathBuf> {
        let Sibling { name, variable, work, install, .. } = self;
        if let Some(named) = std::env::var_os(variable).map(PathBuf::from) {
            return match named.is_file() {
                true => Ok(named),
                false => Err(Error::Unavailable(format!("{variable} names {}: no such program", named.display()))),
            };
        }
        let own = std::env::current_exe().map_err(|e| Error::Failed(format!("finding the running program: {e}")))?;
        let beside = own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        match beside.is_file() {
            true => Ok(beside),
            false => {
                let folder = own.parent().unwrap_or(&own).display();
                Err(Error::Unavailable(format!("{work} needs the program {name}, which is not in {folder}: {install}")))
            }
        }
    }

    /// Becomes the program with these arguments: progress, interrupts, the exit status and messages are the same as if it were one
    /// program. Returns only where that fails.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the program or its library is missing.
    pub fn hand_over(&self, arguments: &[OsString]) -> Result<()> {
        let program = self.find()?;
        tracing::debug!("going on as {}", program.display());
        let missing = missing_libraries(&program);
        if let (Some(library), false) = (self.library, missing.is_empty()) {
            let (work, missing, install) = (self.work, missing.join(", "), self.install);
            return Err(Error::Unavailable(format!("{work} needs {library}: {missing} is not found; {install}")));
        }
        let mut command = Command::new(&program);
        command.args(arguments);
        let failed = |e: std::io::Error| Error::Failed(format!("starting {}: {e}", program.display()));
        #[cfg(unix)]
        return Err(failed(std::os::unix::process::CommandExt::exec(&mut command)));
        #[cfg(not(unix))]
        {
            let status = command.status().map_err(failed)?;
            std::process::exit(status.code().unwrap_or(1));
        }
    }
}

/// Lists the libraries that a program's loader does not find; nothing where that cannot be found out.
pub fn missing_libraries(program: &Path) -> Vec<String> {
    // the loader lists what it would load, and runs nothing
    let listed = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output();
    let text = listed.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    let lines = text.lines().filter(|line| line.contains("not found"));
    lines.filter_map(|line| Some(line.split_whitespace().next()?.to_string())).collect()
}
