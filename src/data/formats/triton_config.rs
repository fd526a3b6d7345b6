//! A config as Triton writes it: constants of the kernel, and launch options beside them.

use crate::formats::values::{self, NamedValue};
use seqtune_kernel::error::quote;
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};
use seqtune_kernel::{Config, Kernel};
use serde_json::{Map, Value, json};

/// Launch options of a config, the value that Triton takes where none is stated, and how else parameters of that meaning are called.
const LAUNCH: [(&str, Option<i64>, &str); 4] = [
    ("num_warps", Some(4), "numwarps"),
    ("num_stages", Some(3), "numstages"),
    ("num_ctas", Some(1), "numctas"),
    ("maxnreg", None, "maxnreg"),
];

/// An entry of a key as a field's value is written.
pub fn field_text(field: &Field, value: &Value) -> String {
    let Some(text) = value.as_str().filter(|_| field.kind == FieldKind::Choice) else {
        return values::field(field, value);
    };
    let text = text.trim_start_matches("torch.");
    let short = match text {
        "float16" => "f16",
        "bfloat16" => "bf16",
        "float32" => "f32",
        "float64" => "f64",
        other => other,
    };
    let has = |name: &str| field.labels.iter().any(|label| label == name);
    if has(text) || !has(short) { text.into() } else { short.into() }
}

/// Whether a field of a config leaves the program as it is.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) => false,
    }
}

/// Why a config of Triton's is none of the kernel's.
pub enum ConfigFault {
    /// The kernel has no parameter for what is set.
    Unsaid(String),
    /// It cannot be read, or has a value that the kernel's parameter lacks.
    Bad(String),
}

/// A config of a kernel. Whatever is set has to be a parameter.
///
/// # Errors
/// Why it is none of the kernel's.
pub fn config_of(kernel: &Kernel, config: &Value) -> std::result::Result<Config, ConfigFault> {
    let has = |name: &str| kernel.parameters.iter().any(|p| p.name == name);
    let bad = |what: &str| ConfigFault::Bad(what.into());
    let fields = config.as_object().ok_or_else(|| bad("a config is no object"))?;
    let kwargs = config["kwargs"].as_object().ok_or_else(|| bad("a config has no kwargs"))?;
    let mut pairs: Vec<(&str, Value)> = kwargs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let unsaid = |name: &str, value: &Value| {
        let value = quote(&value.to_string());
        Err(ConfigFault::Unsaid(format!("{} is `{value}`, and the kernel has no parameter for it", quote(name))))
    };
    for (name, usual, other) in LAUNCH {
        let value = &config[name];
        let stated = if value.is_null() { usual } else { value.as_f64().map(|x| x as i64) };
        let own = [name, other].into_iter().find(|own| has(own) && !kwargs.contains_key(*own));
        match own {
            // no limit of the registers is 0
            Some(own) if value.is_null() => pairs.push((own, stated.unwrap_or(0).into())),
            Some(own) => pairs.push((own, value.clone())),
            None if kwargs.contains_key(name) || stated == usual => {}
            None => return unsaid(name, value),
        }
    }
    let launch = |name: &str| LAUNCH.iter().any(|(own, ..)| *own == name);
    for (name, value) in fields.iter().filter(|(name, _)| *name != "kwargs" && !launch(name)) {
        match has(name) && !kwargs.contains_key(name) {
            true => pairs.push((name, value.clone())),
            false if is_unset(value) => {}
            false => return unsaid(name, value),
        }
    }
    let named = pairs.iter().map(|(name, value)| NamedValue { name, value });
    values::config(kernel, named).map_err(|e| ConfigFault::Bad(e.to_string()))
}

/// A config in Triton's form: constants under `kwargs`, and the launch options that the kernel has as parameters. Those that Triton always has
/// stand with its own values where they are no parameters.
pub fn json_of(kernel: &Kernel, config: &Config) -> Value {
    let (mut kwargs, mut found) = (Map::new(), Map::new());
    let values = kernel.parameters.iter().zip(&config.0).map(|(own, choice)| (own, own.json(*choice as usize)));
    for (own, value) in values {
        let launch = LAUNCH.iter().find(|(name, _, other)| own.name == *name || own.name == *other);
        match launch {
            Some((name @ "maxnreg", ..)) if value == 0 => drop(found.insert(name.to_string(), Value::Null)),
            Some((name, ..)) => drop(found.insert(name.to_string(), value)),
            None => drop(kwargs.insert(own.name.clone(), constant(value))),
        }
    }
    for (name, usual, _) in LAUNCH.iter().filter(|(name, ..)| ["num_warps", "num_stages"].contains(name)) {
        found.entry(*name).or_insert_with(|| json!(usual));
    }
    let mut whole = Map::from_iter([("kwargs".to_string(), Value::Object(kwargs))]);
    whole.extend(found);
    Value::Object(whole)
}

/// A label that stands for a constant of Python is that constant.
fn constant(value: Value) -> Value {
    match value.as_str() {
        Some("True") => Value::Bool(true),
        Some("False") => Value::Bool(false),
        Some("None") => Value::Null,
        _ => value,
    }
}
