//! What gives meaning to recorded configs, in parts that can be compared and named.
//!
//! Comments, white space, meanings and reasons are no part of it; a definition is where a constraint or a launch rests on it. Files of
//! before told one digest of everything, comments included, which is still computed for them.

use crate::canonical::Canonical;
use crate::error::Result;
use crate::expressions::Expr;
use crate::hex;
use crate::kernel_toml::dialect::opencl_text;
use crate::kernel_toml::spec::{BaseSpec, Field, FieldKind, KernelSpec, ProgramSpec, WorkSpec};
use crate::parameter::Parameter;
use crate::plain::{plain, plain_expr};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// A version of a kernel, as data measured with it and models trained on these record it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Digest by which files know it that record no identity: of all texts with their comments.
    pub older: String,
    /// Parameters with their values as users write them, in order.
    pub parameters: Vec<(String, Vec<String>)>,
    /// Fields with their kinds, in order.
    pub fields: Vec<(String, String)>,
    /// Constraints in order, without white space.
    pub constraints: Vec<String>,
    /// Digests of the rest by name.
    pub parts: BTreeMap<String, String>,
    /// Digests of what only models rest on, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub learned: BTreeMap<String, String>,
}

/// One thing in which two versions of a kernel differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// A clause that names it.
    pub text: String,
    /// Whether a value of a new parameter may stand for the program without it; not where it asks or measures something else.
    pub carries: bool,
}

impl Difference {
    /// Clauses in one line.
    pub fn list(all: &[Difference]) -> String {
        all.iter().map(|difference| difference.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// Name of the program's text among the parts.
const SOURCE: &str = "source";
/// Name of the reference's text among the parts.
const REFERENCE: &str = "reference";

impl Identity {
    /// Digest of everything on which recorded results depend.
    pub fn digest(&self) -> String {
        let Identity { parameters, fields, constraints, parts, .. } = self;
        let all = [parameters.canonical(), fields.canonical(), constraints.canonical(), parts.canonical()];
        short(&all.join(" "))
    }

    /// Without what only models rest on.
    pub fn of_data(&self) -> Identity {
        Identity { learned: BTreeMap::new(), ..self.clone() }
    }

    /// Whether what was recorded, an identity or else a digest of now or of before, is this one.
    pub fn is_of(&self, space: &str, recorded: Option<&Identity>) -> bool {
        match recorded {
            Some(recorded) => recorded.differences(self).is_empty(),
            None => [self.digest(), self.older.clone()].iter().any(|own| own == space),
        }
    }

    /// What differs in `new`; what only models rest on where both tell it.
    pub fn differences(&self, new: &Identity) -> Vec<Difference> {
        let mut all = of_parameters(&self.parameters, &new.parameters, &|values| values.join(", "));
        all.extend(of_fields(&self.fields, &new.fields, &String::clone));
        all.extend(of_constraints(&self.constraints, &new.constraints));
        all.extend(of_parts(&self.parts, &new.parts));
        if !self.learned.is_empty() && !new.learned.is_empty() {
            all.extend(of_parts(&self.learned, &new.learned));
        }
        all
    }
}

fn short(text: &str) -> String {
    hex(&Sha256::digest(text)[..8])
}

/// What of the parameters differs.
pub(crate) fn of_parameters<T: PartialEq>(
    old: &[(String, T)],
    new: &[(String, T)],
    show: &dyn Fn(&T) -> String,
) -> Vec<Difference> {
    let of = |text: String| Difference { carries: !text.ends_with(" is gone"), text };
    of_list(old, new, "parameter", show).into_iter().map(of).collect()
}

/// What of the fields differs.
pub(crate) fn of_fields<T: PartialEq>(
    old: &[(String, T)],
    new: &[(String, T)],
    show: &dyn Fn(&T) -> String,
) -> Vec<Difference> {
    of_list(old, new, "field", show).into_iter().map(|text| Difference { text, carries: false }).collect()
}

/// What of a list of named things is new, gone or another, or stands in another order.
fn of_list<T: PartialEq>(
    old: &[(String, T)],
    new: &[(String, T)],
    what: &str,
    show: &dyn Fn(&T) -> String,
) -> Vec<String> {
    let find = |list: &[(String, T)], name: &str| list.iter().position(|(n, _)| n == name);
    let added = new.iter().filter(|(name, _)| find(old, name).is_none());
    let mut all: Vec<String> = added.map(|(name, _)| format!("{what} {name} is new")).collect();
    for (name, value) in old {
        match find(new, name) {
            None => all.push(format!("{what} {name} is gone")),
            Some(at) if new[at].1 != *value => {
                all.push(format!("{what} {name} was {} and is {}", show(value), show(&new[at].1)));
            }
            Some(_) => {}
        }
    }
    let common = |list: &[(String, T)], other: &[(String, T)]| {
        list.iter().map(|(name, _)| name.clone()).filter(|name| find(other, name).is_some()).collect::<Vec<_>>()
    };
    if common(old, new) != common(new, old) {
        all.push(format!("the order of the {what}s differs"));
    }
    all
}

/// Which constraints differ, by their numbers; in one list where some are new or gone.
fn of_constraints(old: &[String], new: &[String]) -> Vec<Difference> {
    let mut all = Vec::new();
    if old.len() == new.len() {
        let differing = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new);
        let text = |(at, (old, new)): (usize, (&String, &String))| {
            format!("constraint {} differs (it was `{old}` and is `{new}`)", at + 1)
        };
        all.extend(differing.map(text));
    } else {
        let lacking = |list: &[String], other: &[String], what: &str| {
            let lacks = list.iter().enumerate().filter(|(_, text)| !other.contains(text));
            lacks.map(|(at, text)| format!("constraint {} {what} (`{text}`)", at + 1)).collect::<Vec<_>>()
        };
        all.extend(lacking(new, old, "is new"));
        all.extend(lacking(old, new, "of before is gone"));
        if all.is_empty() {
            all.push("the number of the constraints differs".into());
        }
    }
    all.into_iter().map(|text| Difference { text, carries: true }).collect()
}

/// Parts that say what is measured.
const MEASURED: [&str; 4] = ["key `time` of [run]", "key `right` of [run]", "key `wrong` of [run]", "table [clocks]"];

/// What of the other parts differs.
fn of_parts(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<Difference> {
    let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let phrase = |name: &&String| match (old.get(*name), new.get(*name)) {
        (one, two) if one == two => None,
        (None, _) => Some(format!("the {name} is new")),
        (_, None) => Some(format!("the {name} is gone")),
        _ if **name == SOURCE || **name == REFERENCE || name.starts_with("file ") => {
            Some(format!("the {name} differs beyond comments and white space"))
        }
        _ => Some(format!("the {name} differs")),
    };
    let difference = |name| Some(Difference { text: phrase(&name)?, carries: !MEASURED.contains(&name.as_str()) });
    all.into_iter().filter_map(difference).collect()
}

/// What the tables of a kernel tell, before they are read: parts by name, and what only models rest on.
pub(crate) struct Told {
    parts: BTreeMap<String, String>,
    learned: BTreeMap<String, String>,
    /// The definitions, all of which the steps of a program may name.
    define: BTreeMap<String, String>,
    program: Option<String>,
}

/// What the identities of a kernel are made of, beside its specification.
pub(crate) struct Described<'a> {
    pub(crate) parameters: &'a [Parameter],
    pub(crate) fields: &'a [Field],
    /// Texts of the constraints.
    pub(crate) constraints: &'a [&'a str],
    pub(crate) files: &'a BTreeMap<String, String>,
    /// The parts of a program of the user's own.
    pub(crate) steps: BTreeMap<String, String>,
    /// The same as older digests took them.
    pub(crate) steps_older: &'a str,
    /// Text of the table of instances.
    pub(crate) table: &'a str,
}

impl Told {
    pub(crate) fn from_spec(
        spec: &KernelSpec,
        base: &BaseSpec,
        define: &BTreeMap<String, String>,
        files: &BTreeMap<String, String>,
    ) -> Result<Told> {
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        let mut tell = |name: &str, text: String| drop(parts.insert(name.into(), short(&plain_expr(&text))));
        let launch = |ProgramSpec { entry, global, local, dynamic_local, .. }: &ProgramSpec| {
            format!("{entry} {} {} {}", global.canonical(), local.canonical(), dynamic_local.canonical())
        };
        let work = spec.work.as_ref().or(base.work.as_ref());
        if let Some(program) = &spec.program {
            tell("launch of the program", launch(program));
            tell("list of arguments", spec.argument.canonical());
            tell("tolerance", work.and_then(|work| work.tolerance.as_ref()).canonical());
        }
        if let Some(clocks) = &spec.clocks {
            tell("table [clocks]", clocks.canonical());
        }
        if let Some(reference) = &spec.reference {
            tell("launch of the reference", launch(reference));
            let file = &reference.file;
            let text = files.get(file).map(|text| plain(file, text)).unwrap_or_default();
            parts.insert(REFERENCE.into(), short(&text));
        }
        for (name, text) in used_definitions(spec, define)? {
            parts.insert(format!("definition {name}"), short(&plain_expr(text)));
        }
        let features: Vec<String> = (base.feature.iter().chain(&spec.feature))
            .map(|f| format!("{} {} {}\n", f.name, plain_expr(&f.expr), f.group.canonical()))
            .collect();
        let features_rest_on = closure(spec.feature.iter().chain(&base.feature).map(|f| f.expr.as_str()), define)?;
        let WorkSpec { flops, bytes, .. } = work.cloned().unwrap_or_default();
        let learned = [
            ("list of features", short(&format!("{} {}", features.canonical(), features_rest_on.canonical()))),
            ("work (flops, bytes)", short(&format!("{} {}", plain_expr(&flops), plain_expr(&bytes)))),
        ];
        Ok(Told {
            parts,
            learned: learned.map(|(name, digest)| (name.to_string(), digest)).into(),
            define: define.clone(),
            program: spec.program.as_ref().map(|program| program.file.clone()),
        })
    }

    /// The identities of a kernel: with the source as OpenCL compilers read it, and whole.
    pub(crate) fn identities(mut self, mut described: Described) -> [Identity; 2] {
        let steps = std::mem::take(&mut described.steps);
        let Described { parameters, fields, constraints, files, steps_older, table, .. } = described;
        self.parts.extend(steps.into_iter().map(|(name, text)| (name, short(&text))));
        if !table.is_empty() {
            self.parts.insert("table of instances".into(), short(&plain("", table)));
        }
        for p in parameters.iter().filter(|p| !p.texts.is_empty()) {
            self.parts.insert(format!("list of texts of {}", p.name), short(&p.texts.canonical()));
        }
        let base = Identity {
            older: String::new(),
            parameters: parameters.iter().map(|p| (p.name.clone(), p.value_texts())).collect(),
            fields: fields.iter().map(|f| (f.name.clone(), kind(f))).collect(),
            constraints: constraints.iter().map(|text| plain_expr(text)).collect(),
            parts: self.parts,
            learned: self.learned,
        };
        let whole = self.program.as_ref().and_then(|name| Some((name, files.get(name)?)));
        let of = |source: Option<(&String, &String)>| {
            let older = older(&described, &self.define, source.map(|s| s.1));
            let mut identity = Identity { older: short(&(older + steps_older)), ..base.clone() };
            if let Some((name, text)) = source {
                identity.parts.insert(SOURCE.into(), short(&plain(name, text)));
            }
            identity
        };
        let opencl = whole.map(|(name, text)| (name, opencl_text(text)));
        [of(opencl.as_ref().map(|(name, text)| (*name, text))), of(whole)]
    }
}

/// Kind of a field, with its labels and whether programs are compiled for it.
fn kind(field: &Field) -> String {
    let compiled = if field.compiled { ", compiled" } else { "" };
    match field.kind {
        FieldKind::Size => format!("a size{compiled}"),
        FieldKind::Real => format!("a number{compiled}"),
        FieldKind::Choice => format!("one of {}{compiled}", field.labels.join(", ")),
    }
}

/// The definitions on which results rest.
fn used_definitions<'a>(
    spec: &'a KernelSpec,
    define: &'a BTreeMap<String, String>,
) -> Result<BTreeMap<&'a String, &'a String>> {
    if spec.run.is_some() {
        return Ok(define.iter().collect());
    }
    let program = |p: &'a ProgramSpec| p.global.iter().chain(&p.local).chain(&p.dynamic_local);
    let programs = spec.program.iter().chain(&spec.reference).flat_map(program);
    let arguments = spec
        .argument
        .iter()
        .flat_map(|a| [&a.length, &a.element, &a.bf16, &a.integer, &a.running, &a.value].into_iter().flatten());
    let clocks = spec.clocks.iter().flat_map(|c| [&c.core, &c.memory].into_iter().flatten());
    let constraints = spec.constraint.iter().map(|c| &c.expr);
    closure(constraints.chain(programs).chain(arguments).chain(clocks).map(String::as_str), define)
}

/// The definitions that texts name, and those that these name.
fn closure<'a>(
    texts: impl Iterator<Item = &'a str>,
    define: &'a BTreeMap<String, String>,
) -> Result<BTreeMap<&'a String, &'a String>> {
    let (mut found, mut open) = (BTreeMap::new(), texts.collect::<Vec<_>>());
    while let Some(text) = open.pop() {
        for name in Expr::names(text)? {
            if let Some((name, text)) = define.get_key_value(&name)
                && found.insert(name, text).is_none()
            {
                open.push(text);
            }
        }
    }
    Ok(found)
}

/// The text that was made a digest of before identities were recorded: parameters with values, fields, constraints and, where there is one, the source;
/// where there is none, the definitions that the constraints rest on; and the table of instances.
fn older(described: &Described, define: &BTreeMap<String, String>, source: Option<&String>) -> String {
    let Described { parameters, fields, constraints, table, .. } = described;
    let mut text = String::new();
    for p in *parameters {
        text += &format!("{} {}\n", p.name, p.values.canonical());
        if !p.labels.is_empty() {
            text += &format!("{} {}\n", p.labels.canonical(), p.texts.canonical());
        }
    }
    for f in *fields {
        text += &format!("{} {} {}\n", f.name, f.kind.canonical(), f.labels.canonical());
    }
    for constraint in *constraints {
        text += &format!("{constraint}\n");
    }
    text += table;
    match source {
        Some(source) => text += source,
        None => text += &define.canonical(),
    }
    text
}
