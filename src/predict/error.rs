//! The one error type: what stops a run. A config that fails is data (`Outcome`), never an `Error`.

use std::path::Path;

/// Why a run cannot go on. Each variant has its own exit code, see [`Error::exit_code`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something the user wrote or named is wrong; the sentence says what, where and what to do.
    #[error("{0}")]
    Input(String),
    /// What the run needs is not on this machine: a device, a driver, a library.
    #[error("{0}")]
    Unavailable(String),
    /// The machine failed in the middle: disk, process, device.
    #[error("{0}")]
    Failed(String),
}

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Exit code of the program: 2 wrong input, 3 device or library missing, 1 everything else.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Failed(_) => 1,
            Error::Input(_) => 2,
            Error::Unavailable(_) => 3,
        }
    }

    /// Puts where it happened (a file, a line, a field) before the sentence.
    pub fn at(self, place: impl std::fmt::Display) -> Error {
        match self {
            Error::Input(s) => Error::Input(format!("{place}: {s}")),
            Error::Unavailable(s) => Error::Unavailable(format!("{place}: {s}")),
            Error::Failed(s) => Error::Failed(format!("{place}: {s}")),
        }
    }
}

/// Input error with the given sentence.
pub fn input<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::Input(sentence.into()))
}

/// Names the file in an I/O error: a file that is not there, or is another kind of thing, is the user's to mend, the rest the machine's.
pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |e| {
        let mend = match e.kind() {
            std::io::ErrorKind::NotFound => "no such file or folder",
            std::io::ErrorKind::IsADirectory => "is a folder; name a file",
            std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
                "a file is where a folder is wanted"
            }
            std::io::ErrorKind::InvalidData => "is not text",
            _ => return Error::Failed(format!("{}: {e}", path.display())),
        };
        Error::Input(format!("{}: {mend}", path.display()))
    }
}
