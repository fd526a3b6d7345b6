//! The text of a Python module.

use crate::dispatch::Dispatch;
use crate::dispatch::languages::python::{FUNCTIONS, Python};
use crate::dispatch::languages::{Language, Written, expression};
use crate::dispatch::tree::Node;
use seqtune_kernel::kernel_toml::spec::FieldKind;
use seqtune_kernel::spelling::{c_comment, python_string};
use std::fmt::Write;

const CHOOSE: &str = "
def _values(problem):
    unknown = [name for name in problem if name not in _FIELDS]
    if unknown:
        raise ValueError(f\"the kernel has no field {unknown[0]!r}; its fields are {', '.join(_FIELDS)}\")
    values = []
    for name, default in zip(_FIELDS, _DEFAULTS):
        value = problem.get(name, default)
        if value is None:
            raise ValueError(f\"the problem has no {name}\")
        labels = _LABELS.get(name)
        if labels is not None and value not in labels:
            raise ValueError(f\"{name} is one of {', '.join(labels)}, not {value!r}\")
        values.append(float(value) if labels is None else float(labels.index(value)))
    return tuple(values)


def legal(problem, config):
    \"\"\"Whether a config (a dict of all parameters) is legal for a problem (a dict of fields).\"\"\"
    return _legal(_values(problem), [float(config[name]) for name in _PARAMETERS])


def choose(problem):
    \"\"\"A legal config for a problem (a dict of fields) as a dict, None where none that is known here is legal.\"\"\"
    p = _values(problem)
    if p in _TABLE:
        return dict(zip(_PARAMETERS, _CONFIGS[_TABLE[p]]))
    for at in _leaf(p) + _LAST_RESORT:
        if _legal(p, [float(value) for value in _CONFIGS[at]]):
            return dict(zip(_PARAMETERS, _CONFIGS[at]))
    return None
";

/// A tuple of Python.
fn tuple(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("({}{})", items.join(", "), if items.len() == 1 { "," } else { "" })
}

impl Dispatch {
    /// A Python module, which needs nothing but Python 3.9.
    pub fn python(&self) -> String {
        let head: String = self.head().iter().map(|line| format!("# {}\n", c_comment(line))).collect();
        let parts = [
            "import math\n\n".to_string(),
            self.python_names(),
            self.python_arrays(),
            FUNCTIONS.replace("\ndef ", "\n\ndef ").replace("\n\n\n\n", "\n\n\n"),
            self.python_legality(),
            self.python_leaf(),
            CHOOSE.replace("\ndef _values", "\n\ndef _values"),
        ];
        head + &parts.concat()
    }

    fn python_names(&self) -> String {
        let kernel = &self.kernel;
        let mut out = String::new();
        let fields = tuple(kernel.fields.iter().map(|field| python_string(&field.name)));
        let default = |field: &seqtune_kernel::kernel_toml::spec::Field| match (&field.default, field.kind) {
            (None, _) => "None".into(),
            (Some(text), FieldKind::Choice) => python_string(text),
            (Some(text), _) => field.value(text).map_or("None".into(), |value| Python.number(value)),
        };
        let _ = writeln!(out, "_FIELDS = {fields}\n_DEFAULTS = {}", tuple(kernel.fields.iter().map(default)));
        out += "_LABELS = {\n";
        for field in kernel.fields.iter().filter(|field| field.kind == FieldKind::Choice) {
            let labels = tuple(field.labels.iter().map(|label| python_string(label)));
            let _ = writeln!(out, "    {}: {labels},", python_string(&field.name));
        }
        let parameters = tuple(kernel.parameters.iter().map(|own| python_string(&own.name)));
        out + &format!("}}\n_PARAMETERS = {parameters}\n")
    }

    fn python_arrays(&self) -> String {
        let kernel = &self.kernel;
        let mut out = String::from("_CONFIGS = (\n");
        for config in &self.configs {
            let values =
                config.0.iter().zip(&kernel.parameters).map(|(choice, own)| own.values[*choice as usize].to_string());
            let _ = writeln!(out, "    {},", tuple(values));
        }
        out += ")\n_TABLE = {\n";
        for (problem, at) in &self.table {
            let _ = writeln!(out, "    {}: {at},", tuple(problem.values.iter().map(|value| Python.number(*value))));
        }
        let last = tuple(self.last_resort.iter().map(usize::to_string));
        out += &format!(
            "}}\n_LAST_RESORT = {last}\n# quantity, threshold, and the nodes of smaller and of greater values; or the configs of a leaf\n_TREE = (\n"
        );
        let used = self.split_quantities();
        for node in &self.tree.0 {
            let text = match node {
                Node::Split { quantity, threshold, to: [low, high] } => {
                    let at = used.iter().position(|q| q == quantity).unwrap_or_default();
                    format!("({at}, {}, {low}, {high})", Python.number(*threshold))
                }
                Node::Leaf(configs) => format!("({},)", tuple(configs.iter().map(usize::to_string))),
            };
            let _ = writeln!(out, "    {text},");
        }
        out + ")\n"
    }

    /// A slot of an expression; limits were folded away.
    fn python_slot(&self, slot: usize) -> String {
        match slot.checked_sub(self.kernel.parameters.len()) {
            None => format!("c[{slot}]"),
            Some(field) => format!("p[{field}]"),
        }
    }

    fn python_legality(&self) -> String {
        let kernel = &self.kernel;
        let mut out = format!(
            "\n\n# Constraints on {} that need a limit which is not known of it are not checked.\ndef _legal(p, c):\n",
            c_comment(&self.device.name)
        );
        for (at, field) in kernel.fields.iter().enumerate().filter(|(_, field)| field.kind == FieldKind::Size) {
            let _ = writeln!(out, "    if not {} <= p[{at}] <= {}:\n        return False", field.min, field.max);
        }
        let mut parts = 0;
        for constraint in self.checked_constraints() {
            let slot = |s: usize| self.python_slot(s);
            let Written { statements, value } = expression(&Python, &self.fold(&constraint.expr), &slot, &mut parts);
            let reason = c_comment(&constraint.reason);
            let _ = writeln!(out, "    # {reason}\n{statements}    if {value} != 1.0:\n        return False");
        }
        out + "    return True\n"
    }

    /// The function that walks the tree.
    fn python_leaf(&self) -> String {
        let mut out = String::from("\n\ndef _leaf(p):\n");
        let (mut values, mut parts) = (Vec::new(), 0);
        for quantity in self.split_quantities() {
            let slot = |s: usize| self.python_slot(s);
            let Written { statements, value } = self.quantity(&Python, quantity, &slot, &mut parts);
            out += &statements;
            values.push(value);
        }
        out += &format!("    q = {}\n", tuple(values.into_iter()));
        out + "    node = _TREE[0]\n    while len(node) == 4:\n        node = _TREE[node[2] if q[node[0]] <= node[1] else node[3]]\n    return node[0]\n"
    }
}
