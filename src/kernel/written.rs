//! Problems and configs as people write them: `M=1024,N=512,K=64,dtype=f32`, and `MWG=64,NWG=32,…`.

use crate::config::Config;
use crate::definition::Kernel;
use crate::elementary;
use crate::error::{Error, Result, input, quote};
use crate::kernel_toml::spec::{Field, FieldKind};
use crate::problem::Problem;
use crate::space::choices::Choice;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// What is probably wrong with a number that holds another field.
fn hint(text: &str) -> &'static str {
    if text.contains('=') { "; write commas between fields, as M=64,N=32" } else { "" }
}

/// The truth value that a text is.
fn truth_of(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "1" => Some(true),
        "false" | "False" | "FALSE" | "0" => Some(false),
        _ => None,
    }
}

impl Field {
    /// The value that `text` stands for.
    ///
    /// # Errors
    /// [`Error::Input`] where the text is no value of the field.
    pub fn value(&self, text: &str) -> Result<f64> {
        let name = &self.name;
        match self.kind {
            FieldKind::Size => {
                let (min, max) = (self.min, self.max);
                match text.parse::<u64>() {
                    Ok(x) if (min..=max).contains(&x) => Ok(x as f64),
                    _ => input(format!(
                        "field `{name}`: `{}` is not a whole number from {min} to {max}{}",
                        quote(text),
                        hint(text)
                    )),
                }
            }
            FieldKind::Real => match text.parse::<f64>() {
                Ok(x) if x.is_finite() => Ok(x),
                _ => input(format!("field `{name}`: `{}` is not a number", quote(text))),
            },
            FieldKind::Choice => match self.label_at(text) {
                Some(at) => Ok(at as f64),
                None => input(format!("field `{name}`: `{}` is not one of {}", quote(text), self.labels.join(", "))),
            },
        }
    }

    /// Index of a label: as it is written, or the only one of the same truth value, which programs write as `true`, `True` or `1`.
    fn label_at(&self, text: &str) -> Option<usize> {
        let same = |label: &String| truth_of(label).is_some() && truth_of(label) == truth_of(text);
        self.labels.iter().position(|label| label == text).or_else(|| {
            let mut found = (0..self.labels.len()).filter(|at| same(&self.labels[*at]));
            found.next().filter(|_| found.next().is_none())
        })
    }

    /// `value` as the user writes it.
    pub fn show(&self, value: f64) -> String {
        match self.kind {
            FieldKind::Choice => self.labels[value as usize].clone(),
            _ => format!("{value}"),
        }
    }
}

impl Kernel {
    /// Reads a problem written as `name=value` pairs or as a JSON object. Fields with a default may be left out.
    ///
    /// # Errors
    /// [`Error::Problem`] that names the field, or the rule that is broken.
    pub fn problem(&self, text: &str) -> Result<Problem> {
        self.read_problem(text).map_err(|e| e.or_kind(Error::Problem))
    }

    fn read_problem(&self, text: &str) -> Result<Problem> {
        let pairs = if text.trim_start().starts_with('{') { json_pairs(text)? } else { plain_pairs(text)? };
        let mut values: Vec<Option<f64>> = vec![None; self.fields.len()];
        for (name, value) in pairs {
            let Some(i) = self.fields.iter().position(|f| f.name == name) else {
                let known: Vec<&str> = self.fields.iter().map(|f| f.name.as_str()).collect();
                return input(format!(
                    "problem `{}`: kernel {} has no field `{}` (it has {})",
                    quote(text),
                    self.name,
                    quote(&name),
                    known.join(", ")
                ));
            };
            if values[i].is_some() {
                return input(format!("problem `{}`: field `{name}` is given twice", quote(text)));
            }
            values[i] =
                Some(self.fields[i].value(&value).map_err(|e| e.at_place(format!("problem `{}`", quote(text))))?);
        }
        let values: Result<Vec<f64>> = std::iter::zip(&self.fields, values)
            .map(|(field, value)| match (value, &field.default) {
                (Some(x), _) => Ok(x),
                (None, Some(default)) => field.value(default),
                (None, None) => input(format!("problem `{}`: field `{}` is missing", quote(text), field.name)),
            })
            .collect();
        let problem = Problem { values: values? };
        let env = self.env(&problem, None);
        for rule in &self.rules {
            if rule.expr.eval(&env) != 1.0 {
                return input(format!("problem `{}`: {rule}", quote(text)));
            }
        }
        Ok(problem)
    }

    /// The problem as [`Kernel::problem`] reads it, every field named.
    pub fn show_problem(&self, problem: &Problem) -> String {
        let pairs = std::iter::zip(&self.fields, &problem.values);
        pairs.map(|(f, v)| format!("{}={}", f.name, f.show(*v))).collect::<Vec<_>>().join(",")
    }

    /// The problem for a table: fields at their default are left out.
    pub fn brief_problem(&self, problem: &Problem) -> String {
        let pairs = std::iter::zip(&self.fields, &problem.values);
        pairs
            .filter(|(f, v)| f.default.as_ref() != Some(&f.show(**v)))
            .map(|(f, v)| format!("{}={}", f.name, f.show(*v)))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// A problem to begin with: sizes in the middle of their range, by magnitude, or nearer to its beginning where the kernel's rules ask for it; other fields at
    /// their default.
    pub fn middle_problem(&self) -> String {
        let sizes: Vec<&Field> = self.fields.iter().filter(|f| f.kind == FieldKind::Size).collect();
        let at = |share: f64| {
            let size = |f: &&Field| {
                let least = f.min.max(1) as f64;
                let size = least * elementary::pow(f.max as f64 / least, share);
                format!("{}={}", f.name, (size.round() as u64).clamp(f.min, f.max))
            };
            sizes.iter().map(size).collect::<Vec<_>>().join(",")
        };
        let tried = [0.5, 0.4, 0.3, 0.2, 0.1, 0.0].map(at);
        tried.iter().find(|text| self.problem(text).is_ok()).unwrap_or(&tried[0]).clone()
    }

    /// What makes two problems the same shape: the values of the kernel's shape expressions, or the fields marked so, without
    /// batch, data type or layout. Datasets are split by it.
    pub fn shape(&self, problem: &Problem) -> String {
        if !self.shape.is_empty() {
            let env = self.env(problem, None);
            return self.shape.iter().map(|e| e.eval(&env).to_string()).collect::<Vec<_>>().join(",");
        }
        let pairs = std::iter::zip(&self.fields, &problem.values).filter(|(f, _)| f.shape);
        pairs.map(|(f, v)| format!("{}={}", f.name, f.show(*v))).collect::<Vec<_>>().join(",")
    }
}

fn plain_pairs(text: &str) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for part in text.split(',').filter(|p| !p.trim().is_empty()) {
        match part.split_once('=') {
            Some((name, value)) => pairs.push((name.trim().to_string(), value.trim().to_string())),
            None => return input(format!("problem `{}`: `{}` is not written name=value", quote(text), quote(part))),
        }
    }
    Ok(pairs)
}

/// The entries of a JSON object in their order, also those of one name.
struct Entries(Vec<(String, serde_json::Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Entries, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(Map)
    }
}

fn json_pairs(text: &str) -> Result<Vec<(String, String)>> {
    let Entries(entries) = serde_json::from_str(text)
        .map_err(|e| Error::Input(format!("problem `{}`: not a JSON object: {e}", quote(text))))?;
    let show = |v: serde_json::Value| match v {
        serde_json::Value::String(s) => s,
        other => other.to_string(),
    };
    Ok(entries.into_iter().map(|(name, value)| (name, show(value))).collect())
}

impl Kernel {
    /// Reads a config; every parameter must be named once with one of its values.
    ///
    /// # Errors
    /// [`Error::Config`] that names the parameter.
    pub fn config(&self, text: &str) -> Result<Config> {
        self.read_config(text).map_err(|e| e.or_kind(Error::Config))
    }

    fn read_config(&self, text: &str) -> Result<Config> {
        let mut choices: Vec<Option<Choice>> = vec![None; self.parameters.len()];
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return input(format!("config `{}`: `{}` is not written name=value", quote(text), quote(part)));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(i) = self.parameters.iter().position(|p| p.name == name) else {
                let known: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
                return input(format!(
                    "config `{}`: kernel {} has no parameter `{}` (it has {})",
                    quote(text),
                    self.name,
                    quote(name),
                    known.join(", ")
                ));
            };
            match self.parameters[i].choice(value) {
                Some(_) if choices[i].is_some() => {
                    return input(format!("config `{}`: parameter `{name}` is given twice", quote(text)));
                }
                Some(choice) => choices[i] = Some(choice as Choice),
                None => {
                    return input(format!(
                        "config `{}`: {name}={} is not one of {}",
                        quote(text),
                        quote(value),
                        self.parameters[i].value_texts().join(", ")
                    ));
                }
            }
        }
        match choices.iter().position(Option::is_none) {
            Some(i) => input(format!("config `{}`: parameter `{}` is missing", quote(text), self.parameters[i].name)),
            None => Ok(Config(choices.into_iter().flatten().collect())),
        }
    }

    /// The config as [`Kernel::config`] reads it.
    pub fn show_config(&self, config: &Config) -> String {
        let pairs = std::iter::zip(&self.parameters, &config.0);
        pairs.map(|(p, c)| format!("{}={}", p.name, p.show(*c as usize))).collect::<Vec<_>>().join(",")
    }

    /// The default config: a safe choice that the kernel's author wrote down. It need not be legal everywhere.
    pub fn default_config(&self) -> Config {
        Config(self.parameters.iter().map(|p| p.default as Choice).collect())
    }

    /// Reads problems from lines: one a line, in either notation; empty lines are skipped, and comments from `#` on.
    ///
    /// # Errors
    /// [`Error::Problem`](crate::Error::Problem) with the number of the line.
    pub fn problems_from_lines(&self, text: &str, place: &str) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split_once(" #").map_or(line, |(problem, _comment)| problem).trim();
            if !line.is_empty() && !line.starts_with('#') {
                problems.push(self.problem(line).map_err(|e| e.at_place(format!("{place}, line {}", i + 1)))?);
            }
        }
        Ok(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_are_read_however_programs_write_them_and_labels_as_they_are() {
        let text = |labels: &str| {
            format!(
                "name = 'k'\nmeaning = 'x'\nfield = [{{ name = 'on', kind = 'choice', labels = [{labels}], meaning = 'x' }},\n\
                 {{ name = 'n', kind = 'size', min = 1, max = 9, meaning = 'x' }}]\n\
                 parameter = [{{ name = 'P', values = [1, 2], default = 1, meaning = 'x' }}]\nwork = {{ flops = 'n', bytes = 'n' }}\n"
            )
        };
        let shown = |labels: &str, problem: &str| {
            let kernel = Kernel::from_files([("kernel.toml".to_string(), text(labels))].into(), "k").unwrap();
            kernel.problem(problem).map(|problem| kernel.show_problem(&problem)).map_err(|e| e.to_string())
        };
        for on in ["true", "True", "1"] {
            assert_eq!(shown("'False', 'True'", &format!("on={on},n=2")).unwrap(), "on=True,n=2");
            assert_eq!(shown("'0', '1', '2'", &format!("n=2,on={on}")).unwrap(), "on=1,n=2");
        }
        assert_eq!(shown("'false', 'true'", "{\"on\": false, \"n\": 2}").unwrap(), "on=false,n=2");
        assert_eq!(shown("'1', 'true'", "n=2,on=1").unwrap(), "on=1,n=2");
        assert!(shown("'1', 'true'", "n=2,on=True").is_err() && shown("'a', 'b'", "n=2,on=1").is_err());
        let kernel = Kernel::from_files([("kernel.toml".to_string(), text("'a'"))].into(), "k").unwrap();
        let lines = "# sizes\n\nn=1,on=a # the least\n n=9,on=a\n";
        assert_eq!(kernel.problems_from_lines(lines, "sizes").unwrap().len(), 2);
    }
}
