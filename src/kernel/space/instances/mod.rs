//! Instances: configs that a library has compiled, as a table of the kernel's folder. Nothing else is legal of the parameters that it states.
//!
//! A table is text, its cells between tabs. Each column of its first line is a parameter, a field of labels (the cells name those that the
//! instance serves, between spaces), or `name`, what the library calls the instance.

mod columns;

use crate::config::Config;
use crate::error::{Result, input, quote};
use crate::expressions::{Binary, Expr};
use crate::kernel_toml::spec::Field;
use crate::limits::INSTANCES;
use crate::parameter::Parameter;
use crate::space::choices::{Choice, Choices};
use crate::space::instances::columns::{Columns, Instance};
use std::collections::HashMap;

/// The table of a kernel.
#[derive(Clone, Debug)]
pub struct Instances {
    /// Parameters that it states, by their places in the kernel, in order.
    pub(crate) parameters: Vec<usize>,
    /// Fields whose labels it states.
    fields: Vec<usize>,
    instances: Vec<Instance>,
    /// By parameter of the table and choice: a bit for each instance that has it.
    having: Vec<Vec<Box<[u64]>>>,
    by_name: HashMap<String, usize>,
}

/// A choice that an instance states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedChoice {
    /// Place of the parameter in the kernel.
    pub parameter: usize,
    /// Index of its value.
    pub choice: Choice,
}

impl Instances {
    /// Reads a table.
    pub(crate) fn read(text: &str, parameters: &[Parameter], fields: &[Field]) -> Result<Instances> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let Some((_, head)) = lines.next() else { return input("is empty: its first line names its columns") };
        let columns = Columns::read(head, parameters, fields)?;
        let mut instances = Vec::new();
        for (at, line) in lines {
            let instance = columns.instance(line, parameters, fields).map_err(|e| e.at_place(format!("line {at}")))?;
            instances.push(instance);
            if instances.len() > INSTANCES {
                return input(format!("has more than {INSTANCES} instances"));
            }
        }
        Instances::new(columns, instances, parameters)
    }

    fn new(columns: Columns, instances: Vec<Instance>, parameters: &[Parameter]) -> Result<Instances> {
        let (mut by_name, mut seen) = (HashMap::new(), HashMap::new());
        for (at, instance) in instances.iter().enumerate() {
            if !instance.name.is_empty() && by_name.insert(instance.name.clone(), at).is_some() {
                return input(format!("`{}` is there twice", quote(&instance.name)));
            }
            if let Some(other) = seen.insert(&instance.choices, at) {
                let name = quote(&instances[other].name);
                return input(format!("instance {} has the values of instance {} (`{name}`)", at + 1, other + 1));
            }
        }
        let words = instances.len().div_ceil(64);
        let empty = |at: &usize| vec![vec![0; words].into_boxed_slice(); parameters[*at].values.len()];
        let mut having: Vec<Vec<Box<[u64]>>> = columns.parameters.iter().map(empty).collect();
        for (at, instance) in instances.iter().enumerate() {
            for (having, choice) in having.iter_mut().zip(&instance.choices) {
                having[*choice as usize][at / 64] |= 1 << (at % 64);
            }
        }
        let Columns { parameters, fields, .. } = columns;
        Ok(Instances { parameters, fields, instances, having, by_name })
    }

    /// Whether each has a name.
    pub fn are_named(&self) -> bool {
        self.by_name.len() == self.instances.len()
    }

    /// What the library calls a config's instance; `None` where there is no such instance.
    pub fn name_of(&self, config: &Config) -> Option<&str> {
        let has = |i: &&Instance| self.parameters.iter().zip(&i.choices).all(|(at, choice)| config.0[*at] == *choice);
        self.instances.iter().find(has).map(|i| i.name.as_str())
    }

    /// The choices of an instance by its name, of each parameter that the table states.
    pub fn choices_of(&self, name: &str) -> Option<impl Iterator<Item = StatedChoice> + '_> {
        let instance = &self.instances[*self.by_name.get(name)?];
        let both = self.parameters.iter().zip(&instance.choices);
        Some(both.map(|(parameter, choice)| StatedChoice { parameter: *parameter, choice: *choice }))
    }

    /// The table as an expression over the slots of a kernel: whether some instance has these values and serves these labels.
    pub(crate) fn expr(&self, parameters: &[Parameter]) -> Expr {
        let mut order: Vec<&Instance> = self.instances.iter().collect();
        order.sort_by(|a, b| a.choices.cmp(&b.choices));
        self.expression_behind(&order, 0, parameters)
    }

    /// Of instances, in order, that agree in the parameters before `at`.
    fn expression_behind(&self, instances: &[&Instance], at: usize, parameters: &[Parameter]) -> Expr {
        let Some(place) = self.parameters.get(at) else {
            let served = |instance: &&Instance| self.serves(instance, parameters.len());
            return instances.first().map_or(Expr::number(0.0), served);
        };
        let mut any: Option<Expr> = None;
        for group in instances.chunk_by(|a, b| a.choices[at] == b.choices[at]) {
            let value = parameters[*place].values[group[0].choices[at] as usize];
            let is = Expr::slot(*place).then(Binary::Eq, &Expr::number(value as f64));
            let all = is.then(Binary::And, &self.expression_behind(group, at + 1, parameters));
            any = Some(match any {
                Some(others) => others.then(Binary::Or, &all),
                None => all,
            });
        }
        any.unwrap_or_else(|| Expr::number(0.0))
    }

    /// Whether an instance serves a problem's labels.
    fn serves(&self, instance: &Instance, first_field: usize) -> Expr {
        let mut all = Expr::number(1.0);
        for (field, labels) in self.fields.iter().zip(&instance.labels) {
            let mut any = Expr::number(0.0);
            for label in (0..64).filter(|label| labels >> label & 1 == 1) {
                let is = Expr::slot(first_field + field).then(Binary::Eq, &Expr::number(label as f64));
                any = any.then(Binary::Or, &is);
            }
            all = all.then(Binary::And, &any);
        }
        all
    }

    /// Those that serve a problem's labels and that `holds` lets pass. `env` are slots, in which the parameters of each are set before.
    pub(crate) fn live(
        &self,
        parameters: &[Parameter],
        env: &mut [f64],
        holds: &mut dyn FnMut(&[f64]) -> bool,
    ) -> Box<[u64]> {
        let mut live = vec![0; self.instances.len().div_ceil(64)].into_boxed_slice();
        for (at, instance) in self.instances.iter().enumerate() {
            let label = |field: &usize| env[parameters.len() + field] as u32;
            if !self.fields.iter().zip(&instance.labels).all(|(field, labels)| labels >> label(field) & 1 == 1) {
                continue;
            }
            for (place, choice) in self.parameters.iter().zip(&instance.choices) {
                env[*place] = parameters[*place].values[*choice as usize] as f64;
            }
            live[at / 64] |= u64::from(holds(env)) << (at % 64);
        }
        live
    }

    /// Names of those of `live`.
    pub(crate) fn names<'a>(&'a self, live: &'a [u64]) -> impl Iterator<Item = &'a str> {
        let is_live = |at: &usize| live[at / 64] >> (at % 64) & 1 == 1;
        (0..self.instances.len()).filter(is_live).map(|at| self.instances[at].name.as_str())
    }

    /// Those of `live` that have the choices of a prefix.
    pub(crate) fn narrow(&self, live: &[u64], prefix: &[Choice]) -> Box<[u64]> {
        let mut left: Box<[u64]> = live.into();
        for (place, having) in self.parameters.iter().zip(&self.having).take_while(|(place, _)| **place < prefix.len())
        {
            left.iter_mut().zip(&having[prefix[*place] as usize]).for_each(|(word, has)| *word &= has);
        }
        left
    }

    /// The choices of the parameter after a prefix that some instance of `live` has behind it; `None` where the table does not state it.
    pub(crate) fn open(&self, live: &[u64], prefix: &[Choice]) -> Option<Choices> {
        let at = self.parameters.binary_search(&prefix.len()).ok()?;
        let left = self.narrow(live, prefix);
        let has = |having: &[u64]| left.iter().zip(having).any(|(left, has)| left & has != 0);
        Some((0..).zip(&self.having[at]).filter(|(_, having)| has(having)).map(|(choice, _)| choice).collect())
    }
}

#[cfg(test)]
mod tests;
