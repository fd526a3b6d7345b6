//! The names of a kernel's expressions: parameters, fields, `field.label`, limits and definitions.

use crate::devices::LIMIT_NAMES;
use crate::error::{Result, input, quote};
use crate::expressions::{Binary, Expr};
use crate::kernel_toml::spec::{Field, FieldKind};
use crate::limits::KERNEL_NODES;
use crate::parameter::Parameter;
use std::cell::Cell;
use std::collections::BTreeMap;

/// What each name stands for.
pub(crate) struct Names {
    slots: BTreeMap<String, Expr>,
    /// Number of parameters.
    parameters: usize,
    /// Nodes of all expressions so far.
    spent: Cell<usize>,
}

impl Names {
    /// The names of a kernel; none may stand for two things.
    pub(crate) fn new(parameters: &[Parameter], fields: &[Field], define: &BTreeMap<String, String>) -> Result<Names> {
        let mut names = Names { slots: BTreeMap::new(), parameters: parameters.len(), spent: Cell::new(0) };
        for (i, p) in parameters.iter().enumerate() {
            if p.labels.is_empty() {
                names.add(p.name.clone(), Expr::slot(i))?;
            }
            names.add_labels(&p.name, &p.labels, &Expr::slot(i))?;
        }
        for (i, f) in fields.iter().enumerate() {
            let slot = Expr::slot(parameters.len() + i);
            if f.kind != FieldKind::Choice {
                names.add(f.name.clone(), slot)?;
                continue;
            }
            names.add_labels(&f.name, &f.labels, &slot)?;
        }
        for (i, name) in LIMIT_NAMES.iter().enumerate() {
            names.add(name.to_string(), Expr::slot(parameters.len() + fields.len() + i))?;
        }
        names.define(define)?;
        Ok(names)
    }

    /// Adds `name.label` for each label, which is 1 where the slot holds it.
    fn add_labels(&mut self, name: &str, labels: &[String], slot: &Expr) -> Result<()> {
        for (k, label) in labels.iter().enumerate() {
            let is = Expr::binary(Binary::Eq, slot.clone(), &Expr::number(k as f64))?;
            self.add(format!("{name}.{label}"), is)?;
        }
        Ok(())
    }

    fn add(&mut self, name: String, expr: Expr) -> Result<()> {
        match self.slots.insert(name.clone(), expr) {
            None => Ok(()),
            Some(_) => input(format!("the name `{name}` stands for two things")),
        }
    }

    /// Adds definitions, which may use one another: each after those that it names (Kahn 1962).
    fn define(&mut self, define: &BTreeMap<String, String>) -> Result<()> {
        let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
        let mut needed_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, text) in define {
            let mut needs = Expr::names(text).map_err(|e| e.at_place(format!("definition `{name}`")))?;
            needs.sort();
            needs.dedup();
            let needs = needs.iter().filter_map(|n| define.get_key_value(n)).map(|(n, _)| n.as_str());
            waits.insert(name, needs.clone().count());
            needs.for_each(|need| needed_by.entry(need).or_default().push(name));
        }
        let mut ready: Vec<&str> = waits.iter().filter(|(_, n)| **n == 0).map(|(name, _)| *name).collect();
        let mut made = 0;
        while let Some(name) = ready.pop() {
            let expr = self.expr(&define[name]).map_err(|e| e.at_place(format!("definition `{name}`")))?;
            self.add(name.to_string(), expr)?;
            made += 1;
            for waiting in needed_by.remove(name).unwrap_or_default() {
                let left = waits.entry(waiting).and_modify(|n| *n -= 1).or_default();
                if *left == 0 {
                    ready.push(waiting);
                }
            }
        }
        match waits.iter().find(|(_, n)| **n > 0) {
            Some((name, _)) if made < define.len() => {
                input(format!("definition `{name}`: it needs itself, through those that it names"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn expr(&self, text: &str) -> Result<Expr> {
        self.expr_with(text, &BTreeMap::new())
    }

    /// [`Names::expr`] with more names.
    pub(crate) fn expr_with(&self, text: &str, more: &BTreeMap<String, Expr>) -> Result<Expr> {
        let expr = Expr::parse(text, &|name| more.get(name).or_else(|| self.slots.get(name)).cloned())?;
        self.spent.set(self.spent.get() + expr.nodes());
        match self.spent.get() > KERNEL_NODES {
            true => {
                input(format!("its expressions together have more than {KERNEL_NODES} parts, definitions written out"))
            }
            false => Ok(expr),
        }
    }

    /// [`Names::expr`] where no config is chosen, so that parameters have no value.
    pub(crate) fn of_problem(&self, text: &str, place: &str) -> Result<Expr> {
        self.of_problem_with(text, place, &BTreeMap::new())
    }

    /// [`Names::of_problem`] with more names.
    pub(crate) fn of_problem_with(&self, text: &str, place: &str, more: &BTreeMap<String, Expr>) -> Result<Expr> {
        let expr = self.expr_with(text, more)?;
        match decided_after(&expr, self.parameters) {
            0 => Ok(expr),
            _ => input(format!("{place} = \"{}\" names a parameter, which has no value there", quote(text))),
        }
    }

    pub(crate) fn exprs(&self, texts: Vec<String>) -> Result<Vec<Expr>> {
        texts.iter().map(|text| self.expr(text)).collect()
    }
}

/// Number of leading parameters that must be set before `expr` has a value.
pub(crate) fn decided_after(expr: &Expr, parameters: usize) -> usize {
    let mut after = 0;
    expr.slots(&mut |s| {
        if s < parameters {
            after = after.max(s + 1);
        }
    });
    after
}
