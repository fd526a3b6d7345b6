//! The one error type: what stops a run. A config that fails is data (`Outcome`), never an `Error`.

use crate::limits::{QUOTE, SENTENCE};
use crate::spelling::visible;
use std::path::Path;

/// Why a run cannot go on. Each variant holds a sentence for people: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No kernel has this name, and no folder of it is there.
    #[error("{0}")]
    KernelNotFound(String),
    /// A `kernel.toml`, or what it names, cannot be used.
    #[error("{0}")]
    Kernel(String),
    /// No device is described by this name, and no file of it is there.
    #[error("{0}")]
    DeviceNotFound(String),
    /// A problem is not one of the kernel's: a field is missing, unknown or out of its range, or a rule is broken.
    #[error("{0}")]
    Problem(String),
    /// A config is not one of the kernel's: a parameter is missing or unknown, or has another value.
    #[error("{0}")]
    Config(String),
    /// No config is legal for a problem on a device.
    #[error("{0}")]
    NoLegalConfig(String),
    /// A model's file is damaged, truncated, or of another format.
    #[error("{0}")]
    Model(String),
    /// A model was made for another kernel, another version of it, or another objective.
    #[error("{0}")]
    Mismatch(String),
    /// A file is missing, or is another kind of thing.
    #[error("{0}")]
    File(String),
    /// Something else that was written or named is wrong.
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
    /// Exit code of the program: 2 wrong input, 3 device or library missing, 1 the machine failed.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Failed(_) => 1,
            Error::Unavailable(_) => 3,
            _ => 2,
        }
    }

    /// Puts where it happened (a file, a line, a field) before the sentence.
    pub fn at_place(mut self, place: impl std::fmt::Display) -> Error {
        let sentence = self.sentence();
        *sentence = format!("{place}: {sentence}");
        self
    }

    /// The same sentence as another variant, where nothing more exact than [`Error::Input`] was known where it arose.
    pub fn or_kind(self, kind: fn(String) -> Error) -> Error {
        match self {
            Error::Input(sentence) => kind(sentence),
            known => known,
        }
    }

    fn sentence(&mut self) -> &mut String {
        match self {
            Error::KernelNotFound(s) | Error::Kernel(s) | Error::DeviceNotFound(s) | Error::Problem(s) => s,
            Error::Config(s) | Error::NoLegalConfig(s) | Error::Model(s) | Error::Mismatch(s) => s,
            Error::File(s) | Error::Input(s) | Error::Unavailable(s) | Error::Failed(s) => s,
        }
    }
}

/// Input error with the given sentence.
///
/// # Errors
/// [`Error::Input`], always.
pub fn input<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::Input(sentence.into()))
}

/// Input as a sentence quotes it: control characters as escapes, and no more than [`QUOTE`] characters.
pub fn quote(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(QUOTE).map(visible).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A sentence as it is printed: in one line, with control characters as escapes, and what is far too long cut in its middle.
pub fn printable(sentence: &str) -> String {
    let count = sentence.chars().count();
    if count <= SENTENCE {
        return sentence.chars().map(visible).collect();
    }
    let (begin, end) = (SENTENCE / 2, SENTENCE / 3);
    let first = sentence.chars().take(begin).map(visible);
    let last = sentence.chars().skip(count - end).map(visible);
    first.chain([" […] ".to_string()]).chain(last).collect()
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
            std::io::ErrorKind::InvalidFilename | std::io::ErrorKind::InvalidInput => "is no name that a file can have",
            _ => return Error::Failed(format!("{}: {e}", path.display())),
        };
        Error::File(format!("{}: {mend}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_stands_before_the_sentence_whatever_the_kind_and_a_known_kind_stays() {
        let error = Error::Problem("field `K` is missing".into()).at_place("line 3");
        assert!(matches!(&error, Error::Problem(s) if s == "line 3: field `K` is missing"));
        assert!(matches!(error.or_kind(Error::Config), Error::Problem(_)));
        assert!(matches!(Error::Input(String::new()).or_kind(Error::Config), Error::Config(_)));
        let codes = [Error::Failed(String::new()), Error::Model(String::new()), Error::Unavailable(String::new())];
        assert_eq!(codes.map(|e| e.exit_code()), [1, 2, 3]);
    }
}
