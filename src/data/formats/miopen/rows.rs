//! Rows of MIOpen's databases.

use crate::formats::miopen::convolution::Convolution;
use std::collections::HashMap;

/// A row of a performance database.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub convolution: Convolution,
    /// With its argument, as in `ConvOclBwdWrW2<4>`.
    pub solver: String,
    pub params: String,
}

impl Row {
    /// Whether it is of `solver`, whatever the argument.
    pub fn is_of(&self, solver: &str) -> bool {
        plain(&self.solver).0 == solver
    }
}

/// Best milliseconds by convolution and solver, from one device's find databases.
pub type Times = HashMap<(Convolution, String), f64>;

/// A solver's name without its argument, and the argument.
pub fn plain(solver: &str) -> (&str, Option<&str>) {
    match solver.split_once('<') {
        Some((name, rest)) => (name, Some(rest.trim_end_matches('>'))),
        None => (solver, None),
    }
}
