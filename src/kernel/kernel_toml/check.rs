//! What a `kernel.toml` may say beyond its syntax: names, numbers and how many of each there may be.

use crate::devices::LIMIT_NAMES;
use crate::error::{Result, input, quote};
use crate::kernel_toml::spec::{BaseSpec, DefaultSpec, Field, FieldKind, KernelSpec, ParameterSpec, ProgramSpec};
use crate::kernel_toml::template::PLACES;
use crate::limits::{COMBINATIONS, FIELDS, NAME, PARAMETERS, VALUE};
use crate::space::choices::MOST_VALUES;
use std::collections::{BTreeMap, BTreeSet};

/// Words of the expression language.
const WORDS: [&str; 3] = ["and", "or", "not"];

/// Dimensions of a launch.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 1..=3;

/// Words of C: a parameter of a source is a macro, which would take their place.
const LANGUAGE: &str = "auto break case char const continue default defined do double else enum extern float for goto if inline int long \
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while";

/// Refuses a kernel whose names or numbers cannot be used.
pub(crate) fn check(spec: &KernelSpec, base: &BaseSpec) -> Result<()> {
    if !is_kernel_name(&spec.name) {
        return input(format!("name `{}`: {IDENTIFIER}, or `-`", quote(&spec.name)));
    }
    let fields = || base.field.iter().chain(&spec.field);
    let features = || base.feature.iter().chain(&spec.feature);
    let definitions = base.define.len() + spec.define.len();
    at_most("parameters", spec.parameter.len(), PARAMETERS)?;
    at_most("fields", fields().count(), FIELDS)?;
    at_most("features", features().count(), FIELDS)?;
    at_most("definitions", definitions, FIELDS)?;
    at_most("arguments", spec.argument.len(), FIELDS)?;
    if spec.parameter.is_empty() {
        return input("there is no [[parameter]]: nothing is to be chosen");
    }
    spec.parameter.iter().try_for_each(parameter)?;
    if spec.profiles {
        few(&spec.parameter)?;
    }
    fields().try_for_each(field)?;
    unique("feature", features().map(|f| f.name.as_str()))?;
    base.define.keys().chain(spec.define.keys()).try_for_each(|name| identifier("definition", name))?;
    unique("argument", spec.argument.iter().map(|a| a.name.as_str()))?;
    names(spec, base)?;
    program("[program]", &spec.program)?;
    program("[reference]", &spec.reference)
}

/// Refuses a name that stands for two things: fields, parameters, limits of devices, definitions, macros and places of `[run]` share one set of
/// names, whether or not an expression can tell them apart.
fn names(spec: &KernelSpec, base: &BaseSpec) -> Result<()> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    let mut add = |name: String, what| match known.insert(name.clone(), what) {
        None => Ok(()),
        Some(other) if other == what => {
            input(format!("the name `{name}` stands for two things: {what} twice; rename one"))
        }
        Some(other) => input(format!("the name `{name}` stands for two things: {other} and {what}; rename one")),
    };
    let places: &[&str] = if spec.run.is_some() { &PLACES } else { &[] };
    places.iter().try_for_each(|place| add(place.to_string(), "a place of [run]"))?;
    LIMIT_NAMES.iter().try_for_each(|name| add(name.to_string(), "a limit of devices"))?;
    let fields = || base.field.iter().chain(&spec.field);
    fields().try_for_each(|f| add(f.name.clone(), "a field"))?;
    spec.parameter.iter().try_for_each(|p| add(p.name.clone(), "a parameter"))?;
    // one that a base has too is told where both are put together
    let defined: BTreeSet<&String> = base.define.keys().chain(spec.define.keys()).collect();
    defined.into_iter().try_for_each(|name| add(name.clone(), "a definition"))?;
    let Some(program) = &spec.program else { return Ok(()) };
    for field in fields().filter(|f| f.compiled) {
        field.labels.iter().try_for_each(|label| add(format!("{}_{label}", field.name), "the macro of a label"))?;
    }
    let entries = [Some(program), spec.reference.as_ref()].into_iter().flatten().map(|p| p.entry.as_str());
    let taken: BTreeSet<&str> = entries.chain(LANGUAGE.split_whitespace()).collect();
    match spec.parameter.iter().find(|p| taken.contains(p.name.as_str())) {
        Some(p) => input(format!(
            "parameter `{}`: it is a macro of the source, which would take the place of a word or a function of that name; rename it",
            p.name
        )),
        None => Ok(()),
    }
}

/// Whether a kernel may be called so: never as a path, so that a name in a file opens no kernel from elsewhere.
pub fn is_kernel_name(name: &str) -> bool {
    !name.starts_with('-') && is_identifier(&name.replace('-', "_"))
}

/// Refuses profiles of more configs than [`COMBINATIONS`].
fn few(parameters: &[ParameterSpec]) -> Result<()> {
    let values = |p: &ParameterSpec| p.values.len().max(p.labels.len());
    match parameters.iter().try_fold(1usize, |all, p| all.checked_mul(values(p))) {
        Some(combinations) if combinations <= COMBINATIONS => Ok(()),
        _ => input(format!(
            "profiles: the parameters' values have more than {COMBINATIONS} combinations, which no problem measures whole; leave the key out"
        )),
    }
}

/// What a name has to be.
const IDENTIFIER: &str = "is no name: write a letter or `_`, then letters, digits and `_`, at most 64 of them";

/// Whether expressions, the compiler's `-D` and file names take a name as it is.
fn is_identifier(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins
        && name.len() <= NAME
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !WORDS.contains(&name)
}

fn identifier(what: &str, name: &str) -> Result<()> {
    match is_identifier(name) {
        true => Ok(()),
        false => input(format!("{what} `{}`: {IDENTIFIER}", quote(name))),
    }
}

fn unique<'a>(what: &str, mut names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    names.try_for_each(|name| {
        identifier(what, name)?;
        match seen.insert(name) {
            true => Ok(()),
            false => input(format!("{what} `{name}` is there twice")),
        }
    })
}

fn at_most(what: &str, count: usize, most: usize) -> Result<()> {
    match count > most {
        true => input(format!("it has {count} {what}; {most} are the most")),
        false => Ok(()),
    }
}

fn parameter(p: &ParameterSpec) -> Result<()> {
    identifier("parameter", &p.name)?;
    let fault = |what: String| input(format!("parameter `{}`: {what}", p.name));
    if !p.labels.is_empty() {
        return check_labels(p);
    }
    if !p.texts.is_empty() {
        return fault("`texts` are what templates write for `labels`, of which there are none".into());
    }
    if p.values.is_empty() {
        return fault("it has neither `values` nor `labels`".into());
    }
    let distinct: BTreeSet<i64> = p.values.iter().copied().collect();
    if p.values.len() > MOST_VALUES {
        return fault(format!("it has {} values; {MOST_VALUES} are the most", p.values.len()));
    }
    if let Some(large) = distinct.iter().find(|v| v.unsigned_abs() > VALUE as u64) {
        return fault(format!("its value {large} is beyond 2^53"));
    }
    if distinct.len() < p.values.len() {
        return fault("one of its values is there twice".into());
    }
    check_stated(p, "values")
}

/// Refuses a stated value that is none of the parameter's.
fn check_stated(p: &ParameterSpec, what: &str) -> Result<()> {
    let fault = |name: &str, value: &DefaultSpec| {
        let value = quote(&value.to_string());
        input(format!("parameter `{}`: the {name} {value} is not one of its {what}", p.name))
    };
    match (p.default_at(), &p.before) {
        (None, _) => fault("default", &p.default),
        (_, Some(before)) if p.index_of(before).is_none() => fault("`before`", before),
        _ => Ok(()),
    }
}

/// A parameter whose values have names.
fn check_labels(p: &ParameterSpec) -> Result<()> {
    let fault = |what: &str| input(format!("parameter `{}`: {what}", p.name));
    if !p.values.is_empty() {
        return fault("it has `values` and `labels`; write one of them");
    }
    if !p.texts.is_empty() && p.texts.len() != p.labels.len() {
        return fault("it has not as many `texts` as `labels`");
    }
    if p.texts.iter().any(|text| text.contains('\0')) {
        return fault("one of its `texts` holds the character 0, which no word of a command can");
    }
    labels(&format!("parameter `{}`", p.name), &p.labels, false)?;
    check_stated(p, "labels")
}

fn field(f: &Field) -> Result<()> {
    identifier("field", &f.name)?;
    let fault = |what: &str| input(format!("field `{}`: {what}", f.name));
    match f.kind {
        FieldKind::Size if f.min > f.max => return fault("`min` is above `max`; a size needs a `max`"),
        FieldKind::Size if f.max > VALUE as u64 => return fault("`max` is beyond 2^53"),
        FieldKind::Choice if f.labels.is_empty() => return fault("a choice needs `labels`"),
        FieldKind::Choice => labels(&format!("field `{}`", f.name), &f.labels, f.compiled)?,
        FieldKind::Size | FieldKind::Real => {}
    }
    if f.kind != FieldKind::Choice && (f.compiled || !f.labels.is_empty()) {
        return fault("`labels` and `compiled` are for a choice");
    }
    if f.kind != FieldKind::Size && (f.min > 0 || f.max > 0) {
        return fault("`min` and `max` are for a size");
    }
    f.default.as_ref().map_or(Ok(()), |default| f.value(default).map(drop))
}

fn labels(what: &str, labels: &[String], compiled: bool) -> Result<()> {
    let mut seen = BTreeSet::new();
    for label in labels {
        let fault = |fault: &str| input(format!("{what}, label `{}`: {fault}", quote(label)));
        let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
        if label.is_empty() || label.len() > NAME || !label.chars().all(is_fine) {
            return fault("write letters, digits, `_`, `.`, `-` and `+`, at most 64 of them");
        }
        if compiled && !is_identifier(&format!("_{label}")) {
            return fault("a program is compiled for it, as -Dfield_label: write letters, digits and `_`");
        }
        if !seen.insert(label) {
            return fault("it is there twice");
        }
    }
    at_most(&format!("labels of {what}"), labels.len(), MOST_VALUES)
}

/// A source is a file of the kernel's own folder, and a launch has as many local as global sizes.
fn program(place: &str, p: &Option<ProgramSpec>) -> Result<()> {
    let Some(p) = p else { return Ok(()) };
    let fault = |what: String| input(format!("{place}: {what}"));
    if p.file.contains(['/', '\\']) || p.file.starts_with('.') || p.file.chars().any(char::is_control) {
        return fault(format!("`{}` is no file of the kernel's folder", quote(&p.file)));
    }
    if !is_identifier(&p.entry) {
        return fault(format!("entry `{}` {IDENTIFIER}", quote(&p.entry)));
    }
    // without local sizes the driver chooses them
    match DIMENSIONS.contains(&p.global.len()) && (p.local.is_empty() || p.local.len() == p.global.len()) {
        true => Ok(()),
        false => fault(format!(
            "`global` has {} sizes and `local` {}; give one, two or three, and as many local ones or none",
            p.global.len(),
            p.local.len()
        )),
    }
}
