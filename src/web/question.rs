//! What the page asks.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A question: an object with its name under `ask`.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub enum Question {
    /// Kernels, devices, names of limits, and what the model knows.
    About,
    /// Fields, parameters and constraints of a kernel, with a problem to begin with.
    Kernel {
        /// Its name.
        kernel: String,
    },
    /// Adds a kernel of one's own, or replaces the one of its name: the texts of its folder by their names.
    Open {
        /// `kernel.toml` and the sources that it names.
        files: BTreeMap<String, String>,
    },
    /// The most probable configs of a problem.
    Predict {
        /// What is asked about.
        #[serde(flatten)]
        subject: Subject,
        /// Configs at most.
        top: usize,
    },
    /// The number of legal configs, of how many combinations.
    Space {
        /// What is asked about.
        #[serde(flatten)]
        subject: Subject,
    },
    /// Why a config is illegal, and what is still open.
    Config {
        /// What is asked about.
        #[serde(flatten)]
        subject: Subject,
        /// Every parameter's value.
        config: BTreeMap<String, Value>,
    },
}

/// A problem of a kernel on a device, as it was typed.
#[derive(Debug, Deserialize)]
pub struct Subject {
    /// Name of the kernel.
    pub kernel: String,
    /// By field; one that is left empty has its default.
    pub problem: BTreeMap<String, String>,
    /// Name of the device, or `None` for one of the limits below.
    pub device: Option<String>,
    /// Limits of a device of one's own; one that is left empty is unknown.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
}

/// A value of a parameter: a whole number, or a label.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Whole number.
    Number(i64),
    /// Label.
    Label(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Value::Number(value) => value.fmt(f),
            Value::Label(label) => label.fmt(f),
        }
    }
}
