//! Rows of MIOpen's databases.

use crate::bad_rows::BadRows;
use crate::formats::miopen::convolution::Convolution;
use std::collections::HashMap;

/// What a performance database holds.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Rows that can be read.
    pub rows: Vec<Row>,
    /// Rows that cannot.
    pub bad: BadRows,
}

/// Row of a performance database.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Key of the row.
    pub convolution: Convolution,
    /// Name of the solver with its argument, such as `ConvOclBwdWrW2<4>`.
    pub solver: String,
    /// Config, as the database writes it.
    pub params: String,
}

impl Row {
    /// Checks whether the row belongs to `solver`, with any argument.
    pub fn is_of(&self, solver: &str) -> bool {
        plain(&self.solver).0 == solver
    }
}

/// Best times in milliseconds by convolution and solver, from the find databases of one device.
pub type Times = HashMap<(Convolution, String), f64>;

/// Splits a solver into its name and its argument.
pub fn plain(solver: &str) -> (&str, Option<&str>) {
    match solver.split_once('<') {
        Some((name, rest)) => (name, Some(rest.trim_end_matches('>'))),
        None => (solver, None),
    }
}
