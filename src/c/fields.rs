//! Problems as programs state them, read without asking for memory.

use crate::predictor::Shared;
use crate::status::{Answer, Fault};
use seqtune_kernel::Problem;
use seqtune_kernel::error::Error;
use seqtune_kernel::kernel_toml::spec::{Field, FieldKind};

/// What a prediction works on.
pub(crate) struct Scratch {
    /// The problem that was read last.
    pub problem: Problem,
    /// Slots of the kernel's expressions, for its rules.
    slots: Vec<f64>,
}

/// A field that is not given.
const MISSING: f64 = f64::NAN;

impl Scratch {
    pub(crate) fn new(shared: &Shared) -> Scratch {
        let problem = Problem { values: vec![MISSING; shared.kernel.fields.len()] };
        Scratch { slots: shared.kernel.env(&problem, None), problem }
    }

    /// Reads `name=value` pairs, or a JSON object.
    pub(crate) fn read(&mut self, shared: &Shared, text: &str) -> Answer<()> {
        if self.read_pairs(shared, text).is_none() {
            // written in another way, or wrong: this says what
            self.problem = shared.kernel.problem(text)?;
        }
        Ok(())
    }

    /// As most write them; `None` where it is not a problem.
    fn read_pairs(&mut self, shared: &Shared, text: &str) -> Option<()> {
        self.problem.values.fill(MISSING);
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=')?;
            let at = shared.kernel.fields.iter().position(|field| field.name == name.trim())?;
            let slot = &mut self.problem.values[at];
            if !slot.is_nan() {
                return None;
            }
            *slot = shared.kernel.fields[at].value(value.trim()).ok()?;
        }
        let whole = self.complete(shared).is_none() && self.broken(shared).is_none();
        whole.then_some(())
    }

    /// Takes values in the order of the fields; those that are left out or NaN take their default.
    pub(crate) fn take(&mut self, shared: &Shared, values: impl ExactSizeIterator<Item = f64>) -> Answer<()> {
        let fields = &shared.kernel.fields;
        if values.len() > fields.len() {
            let sentence = format!(
                "kernel {} has {} fields, and {} values are given",
                shared.kernel.name,
                fields.len(),
                values.len()
            );
            return Err(Fault::input(sentence));
        }
        self.problem.values.fill(MISSING);
        for ((slot, field), value) in self.problem.values.iter_mut().zip(fields).zip(values) {
            if !value.is_nan() {
                *slot = check_value(field, value)?;
            }
        }
        if let Some(missing) = self.complete(shared) {
            return Err(Error::Problem(format!("field `{missing}` is missing")).into());
        }
        match self.broken(shared) {
            Some(rule) => {
                let problem = shared.kernel.show_problem(&self.problem);
                Err(Error::Problem(format!("problem `{problem}`: {}", shared.kernel.rules[rule])).into())
            }
            None => Ok(()),
        }
    }

    /// Gives missing fields their defaults; the name of one that has none.
    fn complete<'s>(&mut self, shared: &'s Shared) -> Option<&'s str> {
        for (at, slot) in self.problem.values.iter_mut().enumerate().filter(|(_, slot)| slot.is_nan()) {
            match shared.defaults[at] {
                Some(default) => *slot = default,
                None => return Some(&shared.kernel.fields[at].name),
            }
        }
        None
    }

    /// The first rule that the problem breaks.
    fn broken(&mut self, shared: &Shared) -> Option<usize> {
        let from = shared.kernel.parameters.len();
        self.slots[from..from + self.problem.values.len()].copy_from_slice(&self.problem.values);
        shared.kernel.rules.iter().position(|rule| rule.expr.eval(&self.slots) != 1.0)
    }
}

/// A value of a field: that of a choice is the index of its label.
fn check_value(field: &Field, value: f64) -> Answer<f64> {
    let whole = |least: f64, most: f64| value.fract() == 0.0 && (least..=most).contains(&value);
    let (name, labels) = (&field.name, field.labels.len());
    let wrong = match field.kind {
        FieldKind::Size if !whole(field.min as f64, field.max as f64) => {
            format!("{value} is not a whole number from {} to {}", field.min, field.max)
        }
        FieldKind::Choice if !whole(0.0, labels.saturating_sub(1) as f64) => {
            format!("{value} is not the index of one of {}", field.labels.join(", "))
        }
        FieldKind::Real if !value.is_finite() => format!("{value} is not a finite number"),
        _ => return Ok(value),
    };
    Err(Error::Problem(format!("field `{name}`: {wrong}")).into())
}
