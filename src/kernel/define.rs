//! Preprocessor definitions of programs.

use crate::canonical::{Canonical, tuple};

/// A preprocessor definition that a program is compiled with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Define {
    /// Name of the macro.
    pub name: String,
    /// What it stands for.
    pub value: String,
}

impl Define {
    /// A macro of this name and value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Define {
        Define { name: name.into(), value: value.into() }
    }

    /// Returns its line of a source, with the line's end.
    pub fn line(&self) -> String {
        format!("#define {} {}\n", self.name, self.value)
    }
}

impl Canonical for Define {
    fn canonical(&self) -> String {
        tuple(&[&self.name, &self.value])
    }
}
