//! Rows of MIOpen's databases.

use crate::bad_rows::BadRows;
use crate::formats::miopen::convolution::Convolution;
use seqtune_kernel::error::quote;
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
    /// Architecture and compute units that the row was tuned on, where its database is of several devices.
    pub of: Option<(String, u32)>,
    /// Whether its file has an earlier line of the key, or the line an earlier entry of the solver: MIOpen reads the first and passes over others.
    pub is_hidden: bool,
}

impl Row {
    /// Checks whether the row belongs to `solver`, with any argument.
    pub fn is_of(&self, solver: &str) -> bool {
        SolverName::read(&self.solver).name == solver
    }
}

/// Refuses what is no name of a solver: names of folders and files among them.
///
/// # Errors
/// The sentence.
pub(crate) fn check_solver(solver: &str) -> std::result::Result<(), String> {
    let name = SolverName::read(solver).name;
    match !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => Ok(()),
        false => Err(format!("`{}` is no name of a solver", quote(solver))),
    }
}

/// Best times in milliseconds by convolution and solver, from the find databases of one device.
pub type Times = HashMap<(Convolution, String), f64>;

/// What was read of a find database.
#[derive(Debug, Default)]
pub struct ReadTimes {
    /// Number of its entries.
    pub entries: usize,
    /// Those that state no time.
    pub bad: BadRows,
}

/// A solver as rows name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolverName<'s> {
    /// Its own name.
    pub name: &'s str,
    /// Its argument, where it has one.
    pub argument: Option<&'s str>,
}

impl<'s> SolverName<'s> {
    /// Splits what a row says into name and argument.
    pub fn read(solver: &'s str) -> SolverName<'s> {
        match solver.split_once('<') {
            Some((name, rest)) => SolverName { name, argument: Some(rest.trim_end_matches('>')) },
            None => SolverName { name: solver, argument: None },
        }
    }
}
