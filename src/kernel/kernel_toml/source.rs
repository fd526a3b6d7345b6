//! The programs of a kernel: its source, the reference and the arguments of both.

use crate::definition::{Argument, Gemm, Integers, Launch, Source};
use crate::error::{Error, Result, input, quote};
use crate::exact::Exact;
use crate::expressions::Expr;
use crate::kernel_toml::names::Names;
use crate::kernel_toml::spec::{ArgumentKind, ArgumentSpec, ExactSpec, GemmSpec, LibrarySpec, ProgramSpec, WorkSpec};
use std::collections::BTreeMap;

/// The tables of a kernel that has a program.
pub(crate) struct ProgramSpecs {
    pub(crate) program: Option<ProgramSpec>,
    pub(crate) reference: Option<ProgramSpec>,
    pub(crate) argument: Vec<ArgumentSpec>,
    pub(crate) exact: Option<ExactSpec>,
    pub(crate) library: Option<LibrarySpec>,
}

/// The program, its reference and how results are compared; `None` of a kernel that describes a space alone.
pub(crate) fn source(
    specs: ProgramSpecs,
    work: &WorkSpec,
    names: &Names,
    slots: usize,
    files: &BTreeMap<String, String>,
) -> Result<Option<Source>> {
    let (program, reference) = match (specs.program, specs.reference) {
        (Some(program), Some(reference)) => (program, reference),
        (None, None) => return Ok(None),
        _ => return input("[program] and [reference] belong together: one of them is missing"),
    };
    let arguments = specs.argument.into_iter().map(|a| argument(names, slots, a)).collect::<Result<Vec<_>>>()?;
    if !arguments.iter().any(|a| a.kind == ArgumentKind::Out) {
        return input(
            "no [[argument]] is of kind \"out\": a kernel without an output has nothing that could be verified",
        );
    }
    let exact = specs.exact.map(|exact| {
        Exact::load(exact, &|name, kind| Argument::find(&arguments, name, kind), slots, &|text, more| {
            names.expr_with(text, more)
        })
    });
    let exact = exact.transpose()?;
    if let Some((at, _)) =
        exact.iter().flat_map(|e: &Exact| &e.product).find(|(at, _)| arguments[*at].integers.is_some())
    {
        return input(format!("[exact]: `{}` holds whole numbers, which are not multiplied", arguments[*at].name));
    }
    Ok(Some(Source {
        program: launch(names, program, files)?,
        reference: launch(names, reference, files)?,
        tolerance: names.of_problem(work.tolerance.as_deref().unwrap_or("0"), "tolerance")?,
        units: work.units,
        exact,
        gemm: specs.library.map(|library| gemm(names, library.gemm, &arguments)).transpose()?,
        arguments,
    }))
}

fn launch(names: &Names, p: ProgramSpec, files: &BTreeMap<String, String>) -> Result<Launch> {
    if !files.contains_key(&p.file) {
        return input(format!("the source `{}` is not in the kernel's folder", quote(&p.file)));
    }
    let dynamic_local = p.dynamic_local.map(|text| names.expr(&text)).transpose()?;
    let (global, local) = (names.exprs(p.global)?, names.exprs(p.local)?);
    Ok(Launch { file: p.file, entry: p.entry, global, local, dynamic_local })
}

fn argument(names: &Names, slots: usize, a: ArgumentSpec) -> Result<Argument> {
    let at = |e: Error| e.at_place(format!("argument `{}`", a.name));
    let integers = integers(names, slots, &a).map_err(at)?;
    let place = if a.length.is_some() { "length" } else { "value" };
    let amount = names.of_problem(&a.length.or(a.value).unwrap_or_default(), place).map_err(at)?;
    let element = names.of_problem(&a.element.unwrap_or("0".into()), "element").map_err(at)?;
    let bf16 = a.bf16.map(|text| names.of_problem(&text, "bf16")).transpose().map_err(at)?;
    Ok(Argument { amount, element, bf16, integers, name: a.name, kind: a.kind })
}

/// The whole numbers of an input, whose place `i` is the first free slot.
fn integers(names: &Names, slots: usize, a: &ArgumentSpec) -> Result<Option<Integers>> {
    let (text, is_running) = match (&a.integer, &a.running) {
        (None, None) => return Ok(None),
        (Some(text), None) => (text, false),
        (None, Some(text)) => (text, true),
        _ => return input("`integer` and `running` exclude each other"),
    };
    if a.kind != ArgumentKind::In || a.element.as_deref().map(str::trim) != Some("4") {
        return input("whole numbers fill an argument of kind \"in\" whose `element` is \"4\"");
    }
    let place = if is_running { "running" } else { "integer" };
    let value = names.of_problem_with(text, place, &BTreeMap::from([("i".into(), Expr::slot(slots))]))?;
    Ok(Some(Integers { value, is_running }))
}

fn gemm(names: &Names, spec: GemmSpec, arguments: &[Argument]) -> Result<Gemm> {
    let expr = |text: &str| names.expr(text).map_err(|e| e.at_place("[library]"));
    let buffer = |name: &str, kind| Argument::find(arguments, name, kind).map_err(|e| e.at_place("[library]"));
    Ok(Gemm {
        sizes: [expr(&spec.m)?, expr(&spec.n)?, expr(&spec.k)?],
        transposed: [expr(&spec.transposed_a)?, expr(&spec.transposed_b)?],
        factors: [expr(&spec.alpha)?, expr(&spec.beta)?],
        matrices: [
            buffer(&spec.a, ArgumentKind::In)?,
            buffer(&spec.b, ArgumentKind::In)?,
            buffer(&spec.c, ArgumentKind::Out)?,
        ],
    })
}
