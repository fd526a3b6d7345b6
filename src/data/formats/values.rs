//! Values of parameters and fields as tools of Python write them in JSON.

use seqtune_kernel::error::{Result, input, quote};
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::{Config, Kernel, Parameter};
use serde_json::Value;

/// The whole number that a JSON value is: 128, 128.0, "128", true.
fn whole(value: &Value) -> Option<i64> {
    let of = |x: f64| (x.fract() == 0.0 && x.abs() <= seqtune_kernel::limits::VALUE as f64).then_some(x as i64);
    match value {
        Value::Bool(is) => Some(*is as i64),
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(of)),
        Value::String(text) => match text.trim() {
            "true" | "True" => Some(1),
            "false" | "False" => Some(0),
            text => text.parse().ok().or_else(|| text.parse().ok().and_then(of)),
        },
        _ => None,
    }
}

/// Which of these labels a JSON value is: a text by its letters, true, false and null by their names whatever their letters' size, a number by its value.
fn label(labels: &[String], value: &Value) -> Option<usize> {
    let by = |is: &dyn Fn(&str) -> bool| labels.iter().position(|label| is(label));
    let named = |name: &str| by(&|label| label.eq_ignore_ascii_case(name));
    let number = |x: f64| by(&|label| label.parse::<f64>().is_ok_and(|own| own == x));
    match value {
        Value::String(text) => by(&|label| label == text).or_else(|| text.parse().ok().and_then(number)),
        Value::Bool(is) => named(if *is { "true" } else { "false" }).or_else(|| number(*is as u8 as f64)),
        Value::Null => named("none").or_else(|| named("null")),
        Value::Number(_) => value.as_f64().and_then(number),
        _ => None,
    }
}

/// Index of the parameter's value that a JSON value is. A text may also be what templates write for the value.
pub fn choice(parameter: &Parameter, value: &Value) -> Option<usize> {
    if parameter.labels.is_empty() {
        let value = whole(value)?;
        return parameter.values.iter().position(|own| *own == value);
    }
    let written = || parameter.texts.iter().position(|text| value.as_str() == Some(text));
    label(&parameter.labels, value).or_else(written)
}

/// A value with the name of its parameter.
#[derive(Clone, Copy)]
pub struct NamedValue<'v> {
    /// Name of the parameter.
    pub name: &'v str,
    /// Its value.
    pub value: &'v Value,
}

/// Where the value of a field comes from that a file does not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSource {
    /// Name of the field.
    pub field: String,
    /// The file's column that holds it, or its value.
    pub from: String,
}

/// A config by names and JSON values; every parameter has to be there once.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::Error::Input) that names the parameter; what it quotes stands between back quotes.
pub fn config<'v>(kernel: &Kernel, named: impl IntoIterator<Item = NamedValue<'v>>) -> Result<Config> {
    let mut choices: Vec<Option<usize>> = vec![None; kernel.parameters.len()];
    for NamedValue { name, value } in named {
        let Some(at) = kernel.parameters.iter().position(|p| p.name == name) else {
            return input(format!("kernel {} has no parameter `{}`", kernel.name, quote(name)));
        };
        let parameter = &kernel.parameters[at];
        let Some(chosen) = choice(parameter, value) else {
            let value = quote(&value.to_string());
            return input(format!("{name} is `{value}`, none of {}", quote(&parameter.value_texts().join(", "))));
        };
        if choices[at].replace(chosen).is_some() {
            return input(format!("{name} is given twice"));
        }
    }
    match choices.iter().position(Option::is_none) {
        Some(at) => input(format!("lacks the parameter {}", kernel.parameters[at].name)),
        None => Ok(Config(choices.into_iter().flatten().map(|at| at as _).collect())),
    }
}

/// The text of a field's value that a JSON value is, as [`Field::value`] reads it.
pub fn field(field: &Field, value: &Value) -> String {
    let plain = || value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_string());
    match field.kind {
        FieldKind::Choice => label(&field.labels, value).map_or_else(plain, |at| field.labels[at].clone()),
        FieldKind::Size => whole(value).map_or_else(plain, |size| size.to_string()),
        FieldKind::Real => plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameter(labels: &[&str], texts: &[&str]) -> Parameter {
        let owned = |all: &[&str]| all.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let values = if labels.is_empty() { vec![0, 1, 64, 128] } else { (0..labels.len() as i64).collect() };
        Parameter {
            name: "p".into(),
            values,
            labels: owned(labels),
            texts: owned(texts),
            default: 0,
            before: None,
            meaning: String::new(),
        }
    }

    #[test]
    fn numbers_are_read_in_every_way_that_json_writes_them() {
        let plain = parameter(&[], &[]);
        for (value, expected) in [
            (json!(128), Some(3)),
            (json!(128.0), Some(3)),
            (json!("128"), Some(3)),
            (json!("128.000000"), Some(3)),
            (json!(true), Some(1)),
            (json!("False"), Some(0)),
            (json!(127), None),
            (json!(128.5), None),
            (json!(null), None),
            (json!("x"), None),
            (json!([128]), None),
            (json!(1e300), None),
        ] {
            assert_eq!(choice(&plain, &value), expected, "{value}");
        }
    }

    #[test]
    fn labels_are_read_as_texts_truth_values_numbers_and_none() {
        let cases = [
            (parameter(&["row", "col"], &[]), vec![(json!("col"), Some(1)), (json!("Row"), None), (json!(1), None)]),
            (
                parameter(&["False", "True", "None"], &[]),
                vec![(json!(true), Some(1)), (json!(false), Some(0)), (json!(null), Some(2)), (json!("True"), Some(1))],
            ),
            (
                parameter(&["1", "2.45", "16"], &[]),
                vec![(json!(2.45), Some(1)), (json!(16.0), Some(2)), (json!("16"), Some(2)), (json!(true), Some(0))],
            ),
            (
                parameter(&["O2", "fast"], &["-O2", "-O3 -march=native"]),
                vec![(json!("-O3 -march=native"), Some(1)), (json!("fast"), Some(1))],
            ),
        ];
        for (parameter, values) in cases {
            for (value, expected) in values {
                assert_eq!(choice(&parameter, &value), expected, "{value} of {:?}", parameter.labels);
            }
        }
    }

    #[test]
    fn a_config_has_every_parameter_once_and_no_other() {
        let kernel = Kernel::open("gemm").unwrap();
        let own = kernel.default_config();
        let values: Vec<(&str, Value)> =
            kernel.parameters.iter().zip(&own.0).map(|(p, c)| (p.name.as_str(), p.json(*c as usize))).collect();
        let read =
            |pairs: &[(&str, Value)]| config(&kernel, pairs.iter().map(|(name, value)| NamedValue { name, value }));
        assert_eq!(read(&values).unwrap(), own);
        let error = |pairs: &[(&str, Value)]| read(pairs).unwrap_err().to_string();
        assert!(error(&values[1..]).starts_with("lacks the parameter"));
        assert!(error(&[&values[..], &values[..1]].concat()).ends_with("is given twice"));
        assert!(error(&[("no", json!(1))]).contains("has no parameter `no`"));
        assert!(error(&[(values[0].0, json!("a=1,b"))]).contains("is `\"a=1,b\"`, none of"));
    }
}
