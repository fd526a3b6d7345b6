//! Numbers, texts and paths from Python, of any size and of any class: what a machine's number does not hold is wrong input and no
//! `OverflowError`, and so is a value whose own methods raise.

use crate::errors::to_exception;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use seqtune_kernel::error::quote;
use seqtune_predict::Error;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What stands for a value whose text raises, as that of a number of more than 4,300 digits.
const UNSAID: &str = "a value without a text";

/// A value as a sentence names it: its text, in one line and no longer than a sentence takes.
pub fn show(value: &Bound<'_, PyAny>) -> String {
    let text = value.str().and_then(|text| Ok(text.to_str()?.to_string()));
    quote(&text.unwrap_or_else(|_| UNSAID.into()))
}

/// An exception that reading a value raised: that of a wrong type as it is, and one of the value's own as wrong input.
pub fn outside(py: Python<'_>, error: PyErr) -> PyErr {
    let own = py.import("seqtune.errors").and_then(|errors| errors.getattr("Error"));
    match error.is_instance_of::<PyTypeError>(py) || own.is_ok_and(|own| error.is_instance(py, &own)) {
        true => error,
        false => to_exception(py, &Error::Input(format!("a value cannot be read: it raises {error}"))),
    }
}

/// A path, without control characters.
#[derive(Clone)]
pub struct Place(pub PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for Place {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Place> {
        let path = given.extract::<PathBuf>().map_err(|e| outside(given.py(), e))?;
        match path.display().to_string().contains(char::is_control) {
            true => {
                Err(to_exception(given.py(), &Error::Input(format!("a path has control characters: {}", show(&given)))))
            }
            false => Ok(Place(path)),
        }
    }
}

/// Texts of files by their names.
pub struct Texts(pub BTreeMap<String, String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Texts {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Texts> {
        given.extract().map(Texts).map_err(|e| outside(given.py(), e))
    }
}

/// A whole number; one beyond 64 bits is the last of its side, which every range refuses.
#[derive(Clone, Copy)]
pub struct Whole(pub i64);

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Whole> {
        match given.extract::<i64>() {
            Ok(number) => Ok(Whole(number)),
            Err(e) if e.is_instance_of::<PyOverflowError>(given.py()) => {
                Ok(Whole(if given.gt(0)? { i64::MAX } else { i64::MIN }))
            }
            Err(e) => Err(outside(given.py(), e)),
        }
    }
}

impl Whole {
    /// The number, where it is from 1 to `most`.
    ///
    /// # Errors
    /// `Error::Input` that names it.
    pub fn count(self, what: &str, most: usize) -> seqtune_predict::Result<usize> {
        match usize::try_from(self.0) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => seqtune_kernel::error::input(format!("{what}={} is not from 1 to {most}", self.0)),
        }
    }
}

/// A seed: a whole number of 64 bits.
#[derive(Clone, Copy)]
pub struct Seed(pub u64);

impl<'a, 'py> FromPyObject<'a, 'py> for Seed {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Seed> {
        given.extract::<u64>().map(Seed).map_err(|e| match e.is_instance_of::<PyOverflowError>(given.py()) {
            true => {
                let sentence = format!("seed={} is not a whole number from 0 to 2^64 - 1", show(&given));
                to_exception(given.py(), &Error::Input(sentence))
            }
            false => outside(given.py(), e),
        })
    }
}

/// A number; one that is beyond the largest is infinite.
#[derive(Clone, Copy)]
pub struct Real(pub f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Real {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Real> {
        match given.extract::<f64>() {
            Ok(number) => Ok(Real(number)),
            Err(e) if e.is_instance_of::<PyOverflowError>(given.py()) => {
                Ok(Real(if given.gt(0)? { f64::INFINITY } else { f64::NEG_INFINITY }))
            }
            Err(e) => Err(outside(given.py(), e)),
        }
    }
}

/// A text; one with halves of characters, which no file holds, is wrong input.
#[derive(Clone)]
pub struct Text(pub String);

impl<'a, 'py> FromPyObject<'a, 'py> for Text {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Text> {
        let text = given.cast::<PyString>()?;
        text_of(&text).map(Text)
    }
}

/// The text of Python's.
///
/// # Errors
/// `InputError` where it is none in UTF-8.
pub fn text_of(given: &Bound<'_, PyString>) -> PyResult<String> {
    given.to_str().map(String::from).map_err(|_| {
        to_exception(
            given.py(),
            &Error::Input("a text has halves of characters (surrogates), and is none in UTF-8".into()),
        )
    })
}
