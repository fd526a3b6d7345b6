//! Numbers and texts from Python, of any size: what a machine's number does not hold is wrong input and no `OverflowError`.

use crate::errors::raised;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use seqtune_kernel::error::quoted;
use seqtune_predict::Error;

/// What stands for a value whose text raises, as that of a number of more than 4,300 digits.
const UNSAID: &str = "a value without a text";

/// A value as a sentence names it: its text, in one line and no longer than a sentence takes.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.str().and_then(|text| Ok(text.to_str()?.to_string()));
    quoted(&text.unwrap_or_else(|_| UNSAID.into()))
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
            Err(e) => Err(e),
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
                let sentence = format!("seed={} is not a whole number from 0 to 2^64 - 1", shown(&given));
                raised(given.py(), &Error::Input(sentence))
            }
            false => e,
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
            Err(e) => Err(e),
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
        raised(given.py(), &Error::Input("a text has halves of characters (surrogates), and is none in UTF-8".into()))
    })
}
