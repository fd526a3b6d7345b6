//! What may be chosen? Kernels with their tuning spaces, problems, devices and legality.
//!
//! A kernel is a folder with a `kernel.toml`; a new one needs no Rust.

mod config;
mod device;
pub mod expr;
mod parse;
mod problem;
mod space;
pub mod spec;

pub use config::Config;
pub use device::{Device, LIMIT_NAMES, Limits};
pub use problem::Problem;
pub use space::{ConfigSpace, Counter};

use crate::error::{Error, Result, input, io};
use expr::Expr;
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};
use spec::{ArgumentKind, Field, FieldKind, KernelSpec, ProgramSpec, RuleSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

static SHIPPED: Dir = include_dir!("$CARGO_MANIFEST_DIR/kernels");

/// Most values that one parameter may have: a set of them is one `u64`.
pub const MOST_VALUES: usize = 64;

/// One knob.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub values: Vec<i64>,
    /// Index of the default value.
    pub default: usize,
    pub meaning: String,
}

/// An expression with its text and the reason for it: a constraint of the space or a rule of the problem.
#[derive(Clone, Debug)]
pub struct Constraint {
    pub text: String,
    pub reason: String,
    pub expr: Expr,
}

/// A derived quantity that the model sees once the prefix decides it.
#[derive(Clone, Debug)]
pub struct Feature {
    pub name: String,
    pub expr: Expr,
    /// Number of leading parameters that must be set before it can be evaluated; 0 for problem and device alone.
    pub known_after: usize,
}

/// A source to compile, and how to launch it.
#[derive(Clone, Debug)]
pub struct Launch {
    pub file: String,
    pub entry: String,
    /// Work-items in all, per dimension.
    pub global: Vec<Expr>,
    /// Work-items of one work-group, per dimension.
    pub local: Vec<Expr>,
}

/// An argument of the kernel, in the order of its signature.
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: String,
    pub kind: ArgumentKind,
    /// Elements of a buffer, or the value of a number.
    pub amount: Expr,
    /// Bytes per element of a buffer; 0 for a number.
    pub element: Expr,
}

/// A kernel with its tuning space. Slots of its expressions: parameters, then fields, then device limits.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    pub meaning: String,
    pub fields: Vec<Field>,
    pub parameters: Vec<Parameter>,
    pub rules: Vec<Constraint>,
    pub constraints: Vec<Constraint>,
    pub features: Vec<Feature>,
    pub program: Launch,
    pub reference: Launch,
    pub arguments: Vec<Argument>,
    pub flops: Expr,
    pub bytes: Expr,
    pub tolerance: Expr,
    /// The files of the folder, by name.
    pub files: BTreeMap<String, String>,
}

impl Kernel {
    /// Opens a kernel: a folder's path, or a name looked up in `./kernels` and then among the shipped ones.
    pub fn open(name_or_path: &str) -> Result<Kernel> {
        let candidates = [PathBuf::from(name_or_path), Path::new("kernels").join(name_or_path)];
        if let Some(folder) = candidates.iter().find(|p| p.join("kernel.toml").is_file()) {
            return Kernel::from_folder(folder);
        }
        match SHIPPED.get_dir(name_or_path) {
            Some(dir) => {
                let texts = dir.files().filter_map(|f| {
                    Some((f.path().file_name()?.to_str()?.to_string(), f.contents_utf8()?.to_string()))
                });
                Kernel::from_files(texts.collect(), &format!("kernels/{name_or_path}/kernel.toml"))
            }
            None => input(format!(
                "no kernel `{name_or_path}`: name one of {}, or the path of a folder with a kernel.toml",
                Kernel::shipped().join(", ")
            )),
        }
    }

    /// Names of the kernels that ship with the program.
    pub fn shipped() -> Vec<String> {
        SHIPPED.dirs().map(|d| d.path().display().to_string()).collect()
    }

    fn from_folder(folder: &Path) -> Result<Kernel> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(io(folder))? {
            let path = entry.map_err(io(folder))?.path();
            if let (true, Some(name)) = (path.is_file(), path.file_name().and_then(|n| n.to_str())) {
                files.insert(name.to_string(), std::fs::read_to_string(&path).map_err(io(&path))?);
            }
        }
        Kernel::from_files(files, &folder.join("kernel.toml").display().to_string())
    }

    /// Builds a kernel from the texts of its folder; `place` names `kernel.toml` in errors.
    pub fn from_files(files: BTreeMap<String, String>, place: &str) -> Result<Kernel> {
        let at = |e: Error| e.at(place);
        let text = files.get("kernel.toml").map_or("", String::as_str);
        let spec: KernelSpec = toml::from_str(text).map_err(|e| at(Error::Input(device::one_line(&e.to_string()))))?;
        build(spec, files).map_err(at)
    }

    /// Values of every slot: parameters 0 (to be set), the problem's fields, the device's limits (NaN where unknown).
    pub fn env(&self, problem: &Problem, device: Option<&Device>) -> Vec<f64> {
        let mut env = vec![0.0; self.parameters.len()];
        env.extend_from_slice(&problem.values);
        match device {
            Some(d) => env.extend(d.limits.values().map(|v| v.unwrap_or(f64::NAN))),
            None => env.extend([f64::NAN; LIMIT_NAMES.len()]),
        }
        env
    }

    /// [`Kernel::env`] with a config's values set.
    pub fn env_of(&self, problem: &Problem, device: Option<&Device>, config: &Config) -> Vec<f64> {
        let mut env = self.env(problem, device);
        for (slot, choice) in
            env.iter_mut().zip(&config.0).zip(&self.parameters).map(|((s, c), p)| (s, p.values[*c as usize]))
        {
            *slot = choice as f64;
        }
        env
    }

    /// Floating-point operations of a problem.
    pub fn flops(&self, problem: &Problem) -> f64 {
        self.flops.eval(&self.env(problem, None))
    }

    /// `-D` options that a program of this problem and config is compiled with.
    pub fn defines(&self, problem: &Problem, config: &Config) -> Vec<(String, String)> {
        let mut defines = self.field_defines(problem);
        for (p, c) in self.parameters.iter().zip(&config.0) {
            defines.push((p.name.clone(), p.values[*c as usize].to_string()));
        }
        defines
    }

    /// The part of [`Kernel::defines`] that comes from the problem: one per compiled choice.
    pub fn field_defines(&self, problem: &Problem) -> Vec<(String, String)> {
        let chosen = self.fields.iter().zip(&problem.values).filter(|(f, _)| f.compiled);
        chosen.map(|(f, v)| (format!("{}_{}", f.name, f.labels[*v as usize]), "1".to_string())).collect()
    }

    /// Hash of everything that gives meaning to a recorded config: parameters with values, fields, constraints and
    /// source. Data recorded under another hash is not mixed in.
    pub fn space_hash(&self) -> String {
        let mut text = String::new();
        for p in &self.parameters {
            text += &format!("{} {:?}\n", p.name, p.values);
        }
        for f in &self.fields {
            text += &format!("{} {:?} {:?}\n", f.name, f.kind, f.labels);
        }
        for c in &self.constraints {
            text += &format!("{}\n", c.text);
        }
        text += self.files.get(&self.program.file).map_or("", String::as_str);
        hex(&Sha256::digest(text.as_bytes())[..8])
    }

    /// Reads problems from lines: one a line, in either notation; empty lines and `#` comments are skipped.
    pub fn problems_from_lines(&self, text: &str, place: &str) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                problems.push(self.problem(line).map_err(|e| e.at(format!("{place}, line {}", i + 1)))?);
            }
        }
        Ok(problems)
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Resolves the names of expressions: parameters, fields, `field.label`, limits and definitions.
struct Names {
    slots: BTreeMap<String, Expr>,
}

impl Names {
    fn expr(&self, text: &str) -> Result<Expr> {
        Expr::parse(text, &|name| self.slots.get(name).cloned())
    }
}

fn build(spec: KernelSpec, files: BTreeMap<String, String>) -> Result<Kernel> {
    let parameters = spec.parameter.into_iter().map(|p| {
        let default = p.values.iter().position(|v| *v == p.default);
        match default {
            Some(default) if p.values.len() <= MOST_VALUES => {
                Ok(Parameter { name: p.name, values: p.values, default, meaning: p.meaning })
            }
            Some(_) => input(format!("parameter `{}` has more than {MOST_VALUES} values", p.name)),
            None => input(format!("parameter `{}`: the default {} is not one of its values", p.name, p.default)),
        }
    });
    let parameters = parameters.collect::<Result<Vec<_>>>()?;
    let names = names(&parameters, &spec.field, &spec.define)?;
    let count = parameters.len();
    let constraints = |rules: Vec<RuleSpec>| -> Result<Vec<Constraint>> {
        rules
            .into_iter()
            .map(|r| Ok(Constraint { expr: names.expr(&r.expr)?, text: r.expr, reason: r.reason }))
            .collect()
    };
    let exprs = |texts: Vec<String>| texts.iter().map(|t| names.expr(t)).collect::<Result<Vec<_>>>();
    let launch = |p: ProgramSpec| -> Result<Launch> {
        if !files.contains_key(&p.file) {
            return input(format!("the source `{}` is not in the kernel's folder", p.file));
        }
        Ok(Launch { file: p.file, entry: p.entry, global: exprs(p.global)?, local: exprs(p.local)? })
    };
    let features = spec.feature.into_iter().map(|f| {
        let expr = names.expr(&f.expr)?;
        Ok(Feature { known_after: decided_after(&expr, count), name: f.name, expr })
    });
    let arguments = spec.argument.into_iter().map(|a| {
        let amount = a.length.or(a.value).unwrap_or_default();
        let element = a.element.unwrap_or("0".into());
        Ok(Argument { amount: names.expr(&amount)?, element: names.expr(&element)?, name: a.name, kind: a.kind })
    });
    Ok(Kernel {
        name: spec.name,
        meaning: spec.meaning,
        rules: constraints(spec.rule)?,
        constraints: constraints(spec.constraint)?,
        features: features.collect::<Result<_>>()?,
        program: launch(spec.program)?,
        reference: launch(spec.reference)?,
        arguments: arguments.collect::<Result<_>>()?,
        flops: names.expr(&spec.work.flops)?,
        bytes: names.expr(&spec.work.bytes)?,
        tolerance: names.expr(&spec.work.tolerance)?,
        fields: spec.field,
        parameters,
        files,
    })
}

/// Number of leading parameters that must be set before `expr` has a value.
fn decided_after(expr: &Expr, parameters: usize) -> usize {
    let mut after = 0;
    expr.slots(&mut |s| {
        if s < parameters {
            after = after.max(s + 1);
        }
    });
    after
}

fn names(parameters: &[Parameter], fields: &[Field], define: &BTreeMap<String, String>) -> Result<Names> {
    let mut names = Names { slots: BTreeMap::new() };
    let mut add = |name: String, expr: Expr| match names.slots.insert(name.clone(), expr) {
        None => Ok(()),
        Some(_) => input(format!("the name `{name}` stands for two things")),
    };
    for (i, p) in parameters.iter().enumerate() {
        add(p.name.clone(), Expr::Slot(i))?;
    }
    for (i, f) in fields.iter().enumerate() {
        let slot = Expr::Slot(parameters.len() + i);
        match f.kind {
            FieldKind::Choice => {
                for (k, label) in f.labels.iter().enumerate() {
                    let is = Expr::Binary(expr::Binary::Eq, Box::new(slot.clone()), Box::new(Expr::Number(k as f64)));
                    add(format!("{}.{label}", f.name), is)?;
                }
            }
            _ => add(f.name.clone(), slot)?,
        }
    }
    for (i, name) in LIMIT_NAMES.iter().enumerate() {
        add(name.to_string(), Expr::Slot(parameters.len() + fields.len() + i))?;
    }
    // Definitions may use one another: resolve what can be resolved until nothing is left or nothing moves.
    let mut open: Vec<(&String, &String)> = define.iter().collect();
    while !open.is_empty() {
        let before = open.len();
        let mut fault = None;
        open.retain(|(name, text)| match names.expr(text) {
            Ok(expr) => {
                names.slots.insert(name.to_string(), expr);
                false
            }
            Err(e) => {
                fault = Some(e.at(format!("definition `{name}`")));
                true
            }
        });
        if let (true, Some(fault)) = (open.len() == before, fault) {
            return Err(fault);
        }
    }
    Ok(names)
}
