//! Configs between Python's dicts and the engine's indices.

use crate::errors::OrRaise;
use crate::numbers::{outside, show, text_of};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use seqtune_kernel::{Choice, Parameter};
use seqtune_predict::{Config, Kernel};

/// A config from `"A=1,B=2"` or a dict of whole numbers.
///
/// # Errors
/// `ConfigError` that names the parameter; `TypeError` where it is neither text nor a dict.
pub fn config_of(kernel: &Kernel, given: &Bound<'_, PyAny>) -> PyResult<Config> {
    let py = given.py();
    if let Ok(text) = given.cast::<PyString>() {
        return kernel.config(&text_of(text)?).or_raise(py);
    }
    let Ok(pairs) = given.cast::<PyDict>() else {
        let kind = given.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("a config is a text such as \"A=1,B=2\" or a dict, not {kind}")));
    };
    match straight(kernel, pairs)? {
        Some(config) => Ok(config),
        // the same through text: its sentence says what is wrong
        None => kernel.config(&write_pairs(pairs)?).or_raise(py),
    }
}

/// The config of a dict that has each parameter with one of its values, and nothing else.
fn straight(kernel: &Kernel, pairs: &Bound<'_, PyDict>) -> PyResult<Option<Config>> {
    if pairs.len() != kernel.parameters.len() {
        return Ok(None);
    }
    let mut choices = Vec::with_capacity(kernel.parameters.len());
    for parameter in &kernel.parameters {
        match pairs.get_item(&parameter.name)?.and_then(|value| choice_of(parameter, &value)) {
            Some(at) => choices.push(at as Choice),
            None => return Ok(None),
        }
    }
    Ok(Some(Config(choices)))
}

/// Index of the value that Python gives: a whole number, or a label where the values have some.
fn choice_of(parameter: &Parameter, given: &Bound<'_, PyAny>) -> Option<usize> {
    if !parameter.labels.is_empty() {
        return parameter.choice(&given.extract::<String>().ok()?);
    }
    let value = given.extract::<i64>().ok()?;
    parameter.values.iter().position(|v| *v == value)
}

/// A value as Python has it.
///
/// # Errors
/// None but those of the interpreter.
pub fn value_of<'py>(py: Python<'py>, parameter: &Parameter, choice: usize) -> PyResult<Bound<'py, PyAny>> {
    match parameter.labels.get(choice) {
        Some(label) => label.into_bound_py_any(py),
        None => parameter.values[choice].into_bound_py_any(py),
    }
}

fn write_pairs(pairs: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut parts = Vec::new();
    for (name, value) in pairs {
        parts.push(format!("{}={}", show(&name), show(&value)));
    }
    Ok(parts.join(","))
}

/// The values of a config, in the order of the kernel's parameters.
pub fn values_of(kernel: &Kernel, config: &Config) -> Box<[i64]> {
    kernel.parameters.iter().zip(&config.0).map(|(p, choice)| p.values[*choice as usize]).collect()
}

/// The first parameters' choices: from a dict of them, or from their values in order.
///
/// # Errors
/// `ConfigError` where a value is not one of its parameter's, or a parameter is left out between others.
pub fn prefix_of(kernel: &Kernel, given: &Bound<'_, PyAny>) -> PyResult<Vec<Choice>> {
    let py = given.py();
    let values: Vec<Bound<'_, PyAny>> = match given.cast::<PyDict>() {
        Err(_) => given.try_iter().and_then(Iterator::collect).map_err(|e| outside(py, e))?,
        Ok(pairs) => {
            let named = kernel.parameters.iter().map_while(|p| pairs.get_item(&p.name).transpose());
            let values = named.collect::<PyResult<Vec<_>>>()?;
            if values.len() < pairs.len() {
                let order: Vec<&str> = kernel.parameters.iter().map(|p| p.name.as_str()).collect();
                let sentence = format!("a prefix sets the first parameters, in the order {}", order.join(", "));
                return Err(seqtune_predict::Error::Config(sentence)).or_raise(py);
            }
            values
        }
    };
    if values.len() >= kernel.parameters.len() {
        let sentence = format!("a prefix sets fewer than all {} parameters", kernel.parameters.len());
        return Err(seqtune_predict::Error::Config(sentence)).or_raise(py);
    }
    let choice = |(parameter, value): (&Parameter, &Bound<'_, PyAny>)| {
        choice_of(parameter, value).map(|at| at as Choice).ok_or_else(|| {
            let known = parameter.value_texts().join(", ");
            seqtune_predict::Error::Config(format!("{}={} is not one of {known}", parameter.name, show(value)))
        })
    };
    kernel.parameters.iter().zip(&values).map(choice).collect::<seqtune_predict::Result<Vec<Choice>>>().or_raise(py)
}

/// A dict of parameters' names and values.
///
/// # Errors
/// None but those of the interpreter.
pub fn dict_of<'py>(py: Python<'py>, kernel: &Kernel, config: &Config) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (parameter, choice) in kernel.parameters.iter().zip(&config.0) {
        dict.set_item(&parameter.name, value_of(py, parameter, *choice as usize)?)?;
    }
    Ok(dict)
}
