//! One setting of all parameters, written `MWG=64,NWG=32,…`.

use super::{Choice, Kernel};
use crate::error::{Result, input};

/// The index of each parameter's value in its list, in decoding order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Config(pub Vec<Choice>);

impl Kernel {
    /// Reads a config; every parameter must be named once with one of its values.
    pub fn config(&self, text: &str) -> Result<Config> {
        let mut choices: Vec<Option<Choice>> = vec![None; self.parameters.len()];
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return input(format!("config `{text}`: `{part}` is not written name=value"));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(i) = self.parameters.iter().position(|p| p.name == name) else {
                let known: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
                return input(format!(
                    "config `{text}`: kernel {} has no parameter `{name}` (it has {})",
                    self.name,
                    known.join(", ")
                ));
            };
            let values = &self.parameters[i].values;
            match value.parse::<i64>().ok().and_then(|v| values.iter().position(|x| *x == v)) {
                Some(_) if choices[i].is_some() => {
                    return input(format!("config `{text}`: parameter `{name}` is given twice"));
                }
                Some(choice) => choices[i] = Some(choice as Choice),
                None => {
                    let values: Vec<String> = values.iter().map(i64::to_string).collect();
                    return input(format!("config `{text}`: {name}={value} is not one of {}", values.join(", ")));
                }
            }
        }
        match choices.iter().position(Option::is_none) {
            Some(i) => input(format!("config `{text}`: parameter `{}` is missing", self.parameters[i].name)),
            None => Ok(Config(choices.into_iter().flatten().collect())),
        }
    }

    /// The config as [`Kernel::config`] reads it.
    pub fn show_config(&self, config: &Config) -> String {
        let pairs = std::iter::zip(&self.parameters, &config.0);
        pairs.map(|(p, c)| format!("{}={}", p.name, p.values[*c as usize])).collect::<Vec<_>>().join(",")
    }

    /// The default config: a safe choice that the kernel's author wrote down. It need not be legal everywhere.
    pub fn default_config(&self) -> Config {
        Config(self.parameters.iter().map(|p| p.default as Choice).collect())
    }
}
