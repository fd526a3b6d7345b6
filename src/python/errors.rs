//! Errors of the engine as the classes of `seqtune.errors`.

use pyo3::prelude::*;
use seqtune_kernel::error::printable;
use seqtune_predict::Error;

/// The class of `seqtune.errors` that stands for a variant.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::KernelNotFound(_) => "KernelNotFoundError",
        Error::Kernel(_) => "KernelError",
        Error::DeviceNotFound(_) => "DeviceNotFoundError",
        Error::Problem(_) => "ProblemError",
        Error::Config(_) => "ConfigError",
        Error::NoLegalConfig(_) => "NoLegalConfigError",
        Error::Model(_) => "ModelError",
        Error::Mismatch(_) => "MismatchError",
        Error::File(_) => "FileError",
        Error::Unavailable(_) => "UnavailableError",
        Error::Failed(_) => "FailedError",
        _ => "InputError",
    }
}

/// An error of the engine as a Python exception.
pub fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = py.import("seqtune.errors").and_then(|module| module.getattr(class_of(error)));
    match class.and_then(|class| class.call1((printable(&error.to_string()),))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(e) => e,
    }
}

/// Turns the engine's errors into Python's.
pub trait OrRaise<T> {
    /// The value, or the exception of its error.
    ///
    /// # Errors
    /// The exception that stands for the error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for seqtune_predict::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_exception(py, &error))
    }
}
