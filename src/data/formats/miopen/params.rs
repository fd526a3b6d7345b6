//! Conversion between configs and their text in databases.

use crate::dataset::damaged_file;
use seqtune_kernel::error::{Result, input};
use seqtune_kernel::{Choice, Config, Instances, Kernel, Problem};

/// Content of a column.
enum ParamColumn<'k> {
    Parameter(usize),
    Literal(&'k str),
    /// Index of a field, and the text of each of its labels.
    Field(usize, Vec<&'k str>),
    Ignored,
    /// An ignored number, and behind it in brackets a parameter that another column tells too, omitted where it is 0.
    Repeated(usize),
}

/// How a kernel's configs are written in a database.
pub struct Columns<'k> {
    kernel: &'k Kernel,
    notation: Notation<'k>,
}

enum Notation<'k> {
    /// Between commas.
    Columns(Vec<ParamColumn<'k>>),
    /// The name of an instance; with a parameter, its value behind a `+`.
    Names(&'k Instances, Option<usize>),
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
                Ok(ParamColumn::Ignored)
            } else if let Some(literal) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
                Ok(ParamColumn::Literal(literal))
            } else if let Some(name) = text.strip_prefix("*[").and_then(|t| t.strip_suffix(']')) {
                Ok(ParamColumn::Repeated(parameter(name)?))
            } else if let Some((field, texts)) = text.split_once(':') {
                match kernel.fields.iter().position(|f| f.name == field) {
                    Some(i) => Ok(ParamColumn::Field(i, texts.split('|').collect())),
                    None => input(format!("kernel {}: column `{text}` names no field", kernel.name)),
                }
            } else {
                Ok(ParamColumn::Parameter(parameter(text)?))
            }
        };
        let suffix = kernel.database.suffix.as_deref().map(parameter).transpose()?;
        let notation = match (&kernel.instances, kernel.database.columns.is_empty()) {
            (_, false) => Notation::Columns(kernel.database.columns.iter().map(column).collect::<Result<_>>()?),
            (Some(instances), true) if instances.are_named() => Notation::Names(instances, suffix),
            (_, true) => Notation::Columns((0..kernel.parameters.len()).map(ParamColumn::Parameter).collect()),
        };
        Ok(Columns { kernel, notation })
    }

    /// Parses a config.
    ///
    /// # Errors
    /// [`Error::Input`] with a general reason, so that equal reasons can be counted.
    pub fn read(&self, problem: &Problem, params: &str) -> Result<Config> {
        let choices = match &self.notation {
            Notation::Columns(columns) => self.of_columns(columns, problem, params)?,
            Notation::Names(instances, suffix) => self.of_name(instances, *suffix, params)?,
        };
        let choices = choices.into_iter().collect::<Option<Vec<_>>>();
        Ok(Config(choices.ok_or_else(|| damaged_file("[database]"))?))
    }

    /// The choice of a parameter's value as text.
    fn choice(&self, parameter: usize, text: &str) -> Result<Choice> {
        let p = &self.kernel.parameters[parameter];
        match text.parse::<i64>().ok().and_then(|v| p.values.iter().position(|x| *x == v)) {
            Some(choice) => Ok(choice as Choice),
            None => input(format!("the value of {} is not in the space", p.name)),
        }
    }

    fn of_name(&self, instances: &Instances, suffix: Option<usize>, params: &str) -> Result<Vec<Option<Choice>>> {
        let mut choices = vec![None; self.kernel.parameters.len()];
        let (name, value) = match suffix {
            Some(_) => params.rsplit_once('+').unwrap_or((params, "")),
            None => (params, ""),
        };
        if let Some(parameter) = suffix {
            choices[parameter] = Some(self.choice(parameter, value)?);
        }
        match instances.choices_of(name) {
            Some(known) => known.for_each(|stated| choices[stated.parameter] = Some(stated.choice)),
            None => return input("its instance is not in the table"),
        }
        Ok(choices)
    }

    fn of_columns(&self, columns: &[ParamColumn], problem: &Problem, params: &str) -> Result<Vec<Option<Choice>>> {
        let texts: Vec<&str> = params.split(',').map(str::trim).collect();
        let mut choices: Vec<Option<Choice>> = vec![None; self.kernel.parameters.len()];
        if texts.len() != columns.len() {
            return input(format!("the config has not {} parts", columns.len()));
        }
        let mut texts = texts.into_iter();
        for column in columns {
            match column {
                ParamColumn::Parameter(i) => choices[*i] = Some(self.choice(*i, texts.next().unwrap_or_default())?),
                // what the brackets repeat was read before
                ParamColumn::Ignored | ParamColumn::Repeated(_) => drop(texts.next()),
                ParamColumn::Literal(literal) if texts.next() == Some(literal) => {}
                ParamColumn::Field(i, labels) if texts.next() == labels.get(problem.values[*i] as usize).copied() => {}
                ParamColumn::Literal(literal) => return input(format!("a column is not `{literal}`")),
                ParamColumn::Field(i, _) => {
                    return input(format!(
                        "a column does not agree with the problem's {}",
                        self.kernel.fields[*i].name
                    ));
                }
            }
        }
        Ok(choices)
    }

    /// Formats a config, as MIOpen reads it.
    pub fn write(&self, problem: &Problem, config: &Config) -> String {
        let value = |i: usize| self.kernel.parameters[i].values[config.0[i] as usize];
        let text = |column: &ParamColumn| match column {
            ParamColumn::Parameter(i) => value(*i).to_string(),
            ParamColumn::Literal(literal) => literal.to_string(),
            ParamColumn::Field(i, labels) => labels[problem.values[*i] as usize].to_string(),
            ParamColumn::Repeated(i) if value(*i) != 0 => format!("0[{}]", value(*i)),
            ParamColumn::Ignored | ParamColumn::Repeated(_) => "0".into(),
        };
        match &self.notation {
            Notation::Columns(columns) => columns.iter().map(text).collect::<Vec<_>>().join(","),
            Notation::Names(instances, suffix) => {
                let name = instances.name_of(config).unwrap_or_default();
                suffix.map_or_else(|| name.into(), |i| format!("{name}+{}", value(i)))
            }
        }
    }
}
