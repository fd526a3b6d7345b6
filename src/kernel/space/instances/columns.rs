//! Columns and cells of a table of instances.

use crate::error::{Result, input, quote};
use crate::kernel_toml::spec::{Field, FieldKind};
use crate::parameter::Parameter;
use crate::space::choices::Choice;

/// An instance of a table.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    /// Of the parameters that the table states, in their order.
    pub(super) choices: Vec<Choice>,
    /// By column of labels: a bit for each that it serves.
    pub(super) labels: Vec<u64>,
}

/// What the columns of a table are.
pub(super) struct Columns {
    /// By column: whether it is the name, a parameter, or a field.
    kinds: Vec<Kind>,
    pub(super) parameters: Vec<usize>,
    pub(super) fields: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Kind {
    Name,
    Parameter(usize),
    Field(usize),
}

impl Columns {
    pub(super) fn read(head: &str, parameters: &[Parameter], fields: &[Field]) -> Result<Columns> {
        let mut columns = Columns { kinds: Vec::new(), parameters: Vec::new(), fields: Vec::new() };
        for name in head.split('\t').map(str::trim) {
            let parameter = parameters.iter().position(|p| p.name == name);
            let field =
                fields.iter().position(|f| f.name == name && f.kind == FieldKind::Choice && f.labels.len() <= 64);
            let kind = match (name, parameter, field) {
                ("name", ..) => Kind::Name,
                (_, Some(at), _) => Kind::Parameter(at),
                (_, _, Some(at)) => Kind::Field(at),
                _ => {
                    let what = "is neither `name` nor a parameter nor a field of at most 64 labels";
                    return input(format!("its column `{}` {what}", quote(name)));
                }
            };
            let known = match kind {
                Kind::Name => columns.kinds.iter().any(|kind| matches!(kind, Kind::Name)),
                Kind::Parameter(at) => columns.parameters.contains(&at),
                Kind::Field(at) => columns.fields.contains(&at),
            };
            if known {
                return input(format!("its column `{}` is there twice", quote(name)));
            }
            match kind {
                Kind::Name => {}
                Kind::Parameter(at) => columns.parameters.push(at),
                Kind::Field(at) => columns.fields.push(at),
            }
            columns.kinds.push(kind);
        }
        if columns.parameters.is_empty() {
            return input("states no parameter in its first line, which names its columns between tabs");
        }
        columns.parameters.sort_unstable();
        Ok(columns)
    }

    pub(super) fn instance(&self, line: &str, parameters: &[Parameter], fields: &[Field]) -> Result<Instance> {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        if cells.len() != self.kinds.len() {
            return input(format!("has {} cells, and there are {} columns", cells.len(), self.kinds.len()));
        }
        let mut instance =
            Instance { name: String::new(), choices: vec![0; self.parameters.len()], labels: Vec::new() };
        for (kind, cell) in self.kinds.iter().zip(cells) {
            match *kind {
                Kind::Name => instance.name = cell.into(),
                Kind::Parameter(place) => {
                    let p = &parameters[place];
                    let choice = cell.parse().ok().and_then(|value: i64| p.values.iter().position(|v| *v == value));
                    let Some(choice) = choice else {
                        return input(format!("`{}` is not one of the values of {}", quote(cell), p.name));
                    };
                    let at = self.parameters.partition_point(|other| *other < place);
                    instance.choices[at] = choice as Choice;
                }
                Kind::Field(at) => {
                    let bit = |label: &str| fields[at].value(label).map(|place| 1u64 << place as u32);
                    instance.labels.push(cell.split(' ').map(bit).try_fold(0, |all, bit| Ok(all | bit?))?);
                }
            }
        }
        Ok(instance)
    }
}
