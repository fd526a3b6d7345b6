//! Templates: text with `{…}` for what a problem, a config or the place of a run decides.

use crate::error::{Error, Result, input, quote};
use crate::expressions::Expr;
use crate::kernel_toml::names::Names;
use crate::kernel_toml::spec::{Field, FieldKind};
use crate::parameter::Parameter;

/// Prefix of a placeholder that stands for a variable of the environment.
const ENVIRONMENT: &str = "env.";

/// Names of the places that a run has.
pub const PLACES: [&str; 4] = ["kernel", "work", "build", "seed"];

/// A text with placeholders.
#[derive(Clone, Debug)]
pub struct Template {
    parts: Vec<Part>,
    /// Whether it stands for as many words as it has, `{*name}`.
    is_split: bool,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// Field of a problem with labels, by its index.
    Field(usize, Vec<String>),
    /// Parameter, by its index.
    Parameter(usize, Parameter),
    /// Number.
    Expr(Expr),
    /// One of [`PLACES`], or a variable of the environment.
    Place(String),
}

/// What the placeholders of a kernel may name.
pub(crate) struct Scope<'a> {
    pub(crate) names: &'a Names,
    pub(crate) parameters: &'a [Parameter],
    pub(crate) fields: &'a [Field],
}

impl Template {
    /// Reads a text; `{{` and `}}` stand for braces.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) that names the placeholder.
    pub(crate) fn parse(text: &str, scope: &Scope) -> Result<Template> {
        let whole = || {
            if let Some(name) = text.strip_prefix("{*").and_then(|rest| rest.strip_suffix('}')) {
                return Ok(Template { parts: vec![part(name.trim(), scope)?], is_split: true });
            }
            let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
            while let Some(at) = rest.find(['{', '}']) {
                plain += &rest[..at];
                let (brace, behind) = rest[at..].split_at(1);
                if behind.starts_with(brace) {
                    plain += brace;
                    rest = &behind[1..];
                    continue;
                }
                let Some((name, after)) = behind.split_once('}').filter(|_| brace == "{") else {
                    return input("a brace stands alone; write {{ or }} for a brace");
                };
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(part(name.trim(), scope)?);
                rest = after;
            }
            parts.push(Part::Text(plain + rest));
            parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
            Ok(Template { parts, is_split: false })
        };
        whole().map_err(|e: Error| e.at_place(format!("`{}`", quote(text))))
    }

    /// Passes the slot of each field and parameter that it names to `visit`.
    pub(crate) fn slots(&self, visit: &mut dyn FnMut(usize)) {
        for part in &self.parts {
            match part {
                Part::Field(slot, _) | Part::Parameter(slot, _) => visit(*slot),
                Part::Expr(expr) => expr.slots(visit),
                Part::Text(_) | Part::Place(_) => {}
            }
        }
    }

    /// Whether it names a place.
    pub fn names_place(&self, place: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Place(name) if name == place))
    }

    /// Its text, where it has no placeholder.
    pub fn constant(&self) -> Option<String> {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.parts.iter().map(text).collect()
    }

    /// The places that it names.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether it depends on a parameter.
    pub fn depends_on_config(&self, parameters: usize) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Parameter(..) => true,
            Part::Expr(expr) => crate::kernel_toml::names::decided_after(expr, parameters) > 0,
            Part::Text(_) | Part::Field(..) | Part::Place(_) => false,
        })
    }

    /// The text for an environment of slots; `place` gives the text of one of [`PLACES`], or of `env.NAME`.
    ///
    /// # Errors
    /// The error of `place`.
    pub fn fill(&self, env: &[f64], place: &dyn Fn(&str) -> Result<String>) -> Result<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text += plain,
                Part::Field(slot, labels) => text += &labels[env[*slot] as usize],
                Part::Parameter(slot, parameter) => text += &parameter.text_of_value(env[*slot]),
                Part::Expr(expr) => text += &expr.eval(env).to_string(),
                Part::Place(name) => text += &place(name)?,
            }
        }
        Ok(text)
    }

    /// The words for an environment of slots: one, or those of a placeholder `{*name}`.
    ///
    /// # Errors
    /// The error of `place`.
    pub fn words(&self, env: &[f64], place: &dyn Fn(&str) -> Result<String>) -> Result<Vec<String>> {
        let text = self.fill(env, place)?;
        Ok(if self.is_split { text.split_whitespace().map(String::from).collect() } else { vec![text] })
    }
}

fn part(name: &str, scope: &Scope) -> Result<Part> {
    if PLACES.contains(&name) || name.starts_with(ENVIRONMENT) {
        return Ok(Part::Place(name.into()));
    }
    if let Some(at) = scope.parameters.iter().position(|p| p.name == name) {
        return Ok(Part::Parameter(at, scope.parameters[at].clone()));
    }
    let field = scope.fields.iter().position(|f| f.name == name);
    match field.filter(|at| scope.fields[*at].kind == FieldKind::Choice) {
        Some(at) => Ok(Part::Field(scope.parameters.len() + at, scope.fields[at].labels.clone())),
        None => Ok(Part::Expr(scope.names.expr(name)?)),
    }
}

/// Name of the variable that a place stands for, where it is one of the environment.
pub fn variable(place: &str) -> Option<&str> {
    place.strip_prefix(ENVIRONMENT)
}
