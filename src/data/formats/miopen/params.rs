//! Conversion between configs and their text in databases.

use crate::dataset::damaged;
use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::{Choice, Config, Kernel, Problem};

/// Content of a column.
enum Column<'k> {
    Parameter(usize),
    Literal(&'k str),
    /// Index of a field, and the text of each of its labels.
    Field(usize, Vec<&'k str>),
    Ignored,
    /// Parameter in brackets at the end, omitted where it is 0.
    Optional(usize),
}

/// Layout of a kernel's configs in a database.
pub struct Columns<'k> {
    kernel: &'k Kernel,
    columns: Vec<Column<'k>>,
}

impl<'k> Columns<'k> {
    /// Resolves the layout of a kernel.
    ///
    /// # Errors
    /// [`Error::Input`] where `[database] columns` name an unknown parameter or field.
    pub fn new(kernel: &'k Kernel) -> Result<Columns<'k>> {
        let parameter = |name: &str| match kernel.parameters.iter().position(|p| p.name == name) {
            Some(i) => Ok(i),
            None => input(format!("kernel {}: column `{name}` is not one of its parameters", kernel.name)),
        };
        let column = |text: &'k String| {
            if text == "*" {
                Ok(Column::Ignored)
            } else if let Some(literal) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
                Ok(Column::Literal(literal))
            } else if let Some(name) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
                Ok(Column::Optional(parameter(name)?))
            } else if let Some((field, texts)) = text.split_once(':') {
                match kernel.fields.iter().position(|f| f.name == field) {
                    Some(i) => Ok(Column::Field(i, texts.split('|').collect())),
                    None => input(format!("kernel {}: column `{text}` names no field", kernel.name)),
                }
            } else {
                Ok(Column::Parameter(parameter(text)?))
            }
        };
        let columns = match kernel.database.columns.is_empty() {
            true => (0..kernel.parameters.len()).map(Column::Parameter).collect(),
            false => kernel.database.columns.iter().map(column).collect::<Result<_>>()?,
        };
        Ok(Columns { kernel, columns })
    }

    /// Parses a config.
    ///
    /// # Errors
    /// [`Error::Input`] with a general reason, so that equal reasons can be counted.
    pub fn read(&self, problem: &Problem, params: &str) -> Result<Config> {
        let mut texts: Vec<&str> = params.split(',').map(str::trim).collect();
        let mut choices: Vec<Option<Choice>> = vec![None; self.kernel.parameters.len()];
        let mut set = |i: usize, text: &str| {
            let p = &self.kernel.parameters[i];
            match text.parse::<i64>().ok().and_then(|v| p.values.iter().position(|x| *x == v)) {
                Some(choice) => {
                    choices[i] = Some(choice as Choice);
                    Ok(())
                }
                None => Err(Error::Input(format!("the value of {} is not in the space", p.name))),
            }
        };
        let bracketed = |t: &str| t.starts_with('[').then(|| t.trim_matches(['[', ']']).to_string());
        let last = texts.last().and_then(|t| bracketed(t));
        let optional = self.columns.iter().any(|c| matches!(c, Column::Optional(_)));
        if optional && last.is_some() {
            texts.pop();
        }
        let wanted = self.columns.len() - optional as usize;
        if texts.len() != wanted {
            return input(format!("the config has not {wanted} parts"));
        }
        let mut texts = texts.into_iter();
        for column in &self.columns {
            match column {
                Column::Optional(i) => set(*i, last.as_deref().unwrap_or("0"))?,
                Column::Parameter(i) => set(*i, texts.next().unwrap_or_default())?,
                Column::Ignored => drop(texts.next()),
                Column::Literal(literal) if texts.next() == Some(literal) => {}
                Column::Field(i, labels) if texts.next() == labels.get(problem.values[*i] as usize).copied() => {}
                Column::Literal(literal) => return input(format!("a column is not `{literal}`")),
                Column::Field(i, _) => {
                    return input(format!(
                        "a column does not agree with the problem's {}",
                        self.kernel.fields[*i].name
                    ));
                }
            }
        }
        let choices = choices.into_iter().collect::<Option<Vec<_>>>();
        Ok(Config(choices.ok_or_else(|| damaged("[database] columns"))?))
    }

    /// Formats a config, as MIOpen reads it.
    pub fn write(&self, problem: &Problem, config: &Config) -> String {
        let value = |i: usize| self.kernel.parameters[i].values[config.0[i] as usize];
        let text = |column: &Column| match column {
            Column::Parameter(i) => Some(value(*i).to_string()),
            Column::Literal(literal) => Some(literal.to_string()),
            Column::Field(i, labels) => Some(labels[problem.values[*i] as usize].to_string()),
            Column::Ignored => Some("0".into()),
            Column::Optional(i) => (value(*i) != 0).then(|| format!("[{}]", value(*i))),
        };
        self.columns.iter().filter_map(text).collect::<Vec<_>>().join(",")
    }
}
