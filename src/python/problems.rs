//! Problems from Python: texts, dicts, and columns of equal length.

use crate::errors::{OrRaise, to_exception};
use crate::numbers::{show, text_of};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use seqtune_kernel::error::input;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_predict::{Kernel, Problem};
use serde_json::{Map, Value};

/// Up to here every whole number is an `f64`.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// A problem from `"M=1,N=2"`, a JSON object, or a dict.
///
/// # Errors
/// `ProblemError` that names the field; `TypeError` where it is neither text nor a dict.
pub fn problem_of(kernel: &Kernel, given: &Bound<'_, PyAny>) -> PyResult<Problem> {
    let py = given.py();
    if let Ok(text) = given.cast::<PyString>() {
        return kernel.problem(&text_of(text)?).or_raise(py);
    }
    let Ok(pairs) = given.cast::<PyDict>() else {
        let kind = given.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("a problem is a text such as \"M=1,N=2\" or a dict, not {kind}")));
    };
    let mut object = Map::new();
    for (name, value) in pairs {
        object.insert(name.cast::<PyString>().map_err(|_| names_are_texts())?.to_string(), value_of(&value)?);
    }
    kernel.problem(&Value::Object(object).to_string()).or_raise(py)
}

/// Problems of a list of texts and dicts.
///
/// # Errors
/// As [`problem_of`], with the place of the problem that is wrong.
pub fn problems_of(kernel: &Kernel, given: &Bound<'_, PyList>) -> PyResult<Vec<Problem>> {
    given.iter().map(|problem| problem_of(kernel, &problem)).collect()
}

/// Problems of columns: lists of equal length by field.
///
/// # Errors
/// `ProblemError` with the row that is wrong, `InputError` where the lists differ in length.
pub fn problems_of_columns(kernel: &Kernel, columns: &Bound<'_, PyDict>) -> PyResult<Vec<Problem>> {
    let py = columns.py();
    let mut lists: Vec<(String, Bound<'_, PyList>)> = Vec::new();
    for (name, column) in columns {
        lists
            .push((name.cast::<PyString>().map_err(|_| names_are_texts())?.to_string(), column.cast_into::<PyList>()?));
    }
    let rows = lists.first().map_or(0, |(_, list)| list.len());
    if let Some((name, list)) = lists.iter().find(|(_, list)| list.len() != rows) {
        let first = &lists[0].0;
        let sentence =
            format!("column `{name}` has {} rows and `{first}` has {rows}; they must be as long", list.len());
        return input(sentence).or_raise(py);
    }
    let row = |at: usize| {
        let mut object = Map::new();
        for (name, list) in &lists {
            object.insert(name.clone(), value_of(&list.get_item(at)?)?);
        }
        let text = Value::Object(object).to_string();
        kernel.problem(&text).map_err(|e| to_exception(py, &e.at_place(format!("row {at}"))))
    };
    (0..rows).map(row).collect()
}

fn names_are_texts() -> PyErr {
    PyTypeError::new_err("the names of a problem's fields are texts")
}

/// A value of a field as JSON; whole numbers as such, also those that came as floats.
fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::from(text_of(text)?));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::from(value.is_truthy()? as i64));
    }
    if !value.is_instance_of::<PyFloat>()
        && let Ok(whole) = value.extract::<i64>()
    {
        return Ok(Value::from(whole));
    }
    match value.extract::<f64>() {
        Ok(x) if x.fract() == 0.0 && x.abs() < WHOLE => Ok(Value::from(x as i64)),
        Ok(x) if x.is_finite() => Ok(Value::from(x)),
        // a sentence that names the field follows when the problem is read
        _ => Ok(Value::from(show(value))),
    }
}

/// A problem as a dict: sizes as whole numbers, choices as their labels.
///
/// # Errors
/// None that a kernel's problem can cause.
pub fn dict_of<'py>(py: Python<'py>, kernel: &Kernel, problem: &Problem) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (field, value) in kernel.fields.iter().zip(&problem.values) {
        match field.kind {
            FieldKind::Size => dict.set_item(&field.name, *value as u64)?,
            FieldKind::Real => dict.set_item(&field.name, *value)?,
            FieldKind::Choice => dict.set_item(&field.name, field.show(*value))?,
        }
    }
    Ok(dict)
}
