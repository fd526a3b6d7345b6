//! `[run]` as it is written.

use serde::Deserialize;
use std::collections::BTreeMap;

/// `[run]` as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Program with its words.
    pub command: Vec<String>,
    /// Whether it is started once, and answers requests in JSON line by line.
    #[serde(default)]
    pub serve: bool,
    /// Variables of the environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Processor cores that it may use, as `0-3,8`.
    pub cores: Option<String>,
    /// Files that are written before it starts.
    #[serde(default)]
    pub input: Vec<InputSpec>,
    /// Files of the kernel's folder on which results depend.
    #[serde(default)]
    pub files: Vec<String>,
    /// Command that builds what a config needs.
    #[serde(default)]
    pub build: Vec<String>,
    /// Command before the first config of a problem.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Command after the last config of a problem.
    #[serde(default)]
    pub teardown: Vec<String>,
    /// Where the time is found; a JSON line unless stated.
    pub time: Option<TimeSpec>,
    /// Where the joules are found.
    pub joules: Option<PatternSpec>,
    /// Where further numbers are found.
    #[serde(default)]
    pub counter: BTreeMap<String, PatternSpec>,
    /// What the output of a right result holds, as a regular expression.
    pub right: Option<String>,
    /// What the output of a wrong result holds, as a regular expression.
    pub wrong: Option<String>,
    /// Runs of a config at most, about; 8 unless stated.
    pub samples: Option<usize>,
    /// Seconds after which a run counts as hanging; 20 unless stated.
    pub timeout: Option<f64>,
    /// Seconds after which a build has failed; 600 unless stated.
    pub build_timeout: Option<f64>,
    /// Seconds after which set-up or teardown has failed; 600 unless stated.
    pub setup_timeout: Option<f64>,
}

/// A file that is written before a program starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSpec {
    /// Name of the file in the working folder.
    pub file: String,
    /// File of the kernel's folder that is the template.
    pub template: String,
}

/// Where a number is found in the output.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// Regular expression, whose first group is the number.
    pub pattern: String,
    /// Unit of a time.
    #[serde(default)]
    pub unit: Unit,
}

/// Where the time is found.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "time is \"wall\", or a table of `pattern` and perhaps `unit` (s, ms, us, ns, GFLOP/s)")]
pub enum TimeSpec {
    /// In the output.
    Pattern(PatternSpec),
    /// `"wall"`: from start to end of the process.
    Named(String),
}

/// Unit of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Seconds.
    #[default]
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// A rate instead of a time, by the `flops` of `[work]`.
    #[serde(rename = "GFLOP/s")]
    Gflops,
}

impl Unit {
    /// Microseconds that so many of the unit are, for a problem of `flops` operations.
    pub fn microseconds(self, number: f64, flops: f64) -> f64 {
        match self {
            Unit::Seconds => number * 1e6,
            Unit::Milliseconds => number * 1e3,
            Unit::Microseconds => number,
            Unit::Nanoseconds => number * 1e-3,
            Unit::Gflops => flops / number / 1e3,
        }
    }
}
