//! The break-points of one line, asked of a model.

use crate::breakpoints::intervals::{Interval, fewest_intervals};
use crate::breakpoints::line::Line;
use crate::breakpoints::rows::{Nearness, Row, fewest_rows};
use crate::losses::{LossOptions, LossTable, log_of_loss};
use crate::points::Points;
use seqtune_kernel::error::{Result, input};
use seqtune_predict::{Config, Kernel};

/// What configs lose along a line, and the intervals that follow.
#[derive(Clone, Debug)]
pub struct Breakpoints {
    /// The line.
    pub line: Line,
    /// What each config loses at each size.
    pub table: LossTable,
    /// Share of the speed that may be lost at any size.
    pub within: f64,
    /// The fewest intervals that keep that bound.
    pub intervals: Vec<Interval>,
}

impl Breakpoints {
    /// Asks `points` along a line for the fewest intervals in which no size loses more than the share `within` of the speed of its own first
    /// choice.
    ///
    /// # Errors
    /// As [`LossTable::predict`]; [`Error::Input`](seqtune_predict::Error::Input) where the share is not at least 0 and below 1.
    pub fn find(
        kernel: &Kernel,
        points: &dyn Points,
        line: Line,
        within: f64,
        options: &LossOptions,
    ) -> Result<Breakpoints> {
        if !(0.0..1.0).contains(&within) {
            return input("a share of the speed that may be lost is at least 0 and below 1");
        }
        let table = LossTable::predict(kernel, points, &line.problems, options)?;
        Ok(Breakpoints::from_table(line, table, within))
    }

    /// The same of losses that are known, a row for each size of the line.
    pub fn from_table(line: Line, table: LossTable, within: f64) -> Breakpoints {
        let intervals = fewest_intervals(&line.sizes, line.range.least, &table, log_of_loss(within));
        Breakpoints { line, table, within, intervals }
    }

    /// The fewest rows of a table for a reader that takes the nearest one; the intervals' own where no rows keep the bound.
    pub fn rows(&self, nearness: Nearness) -> Vec<Row> {
        let rows = fewest_rows(&self.line.sizes, &self.table, log_of_loss(self.within), nearness);
        rows.unwrap_or_else(|| {
            let row = |one: &Interval| Row { size: one.greatest, config: one.config, worst: one.worst };
            self.intervals.iter().map(row).collect()
        })
    }

    /// The config of an interval or a row.
    pub fn config(&self, column: usize) -> &Config {
        &self.table.configs[column]
    }

    /// How often the first choice changes from one size that was asked to the next.
    pub fn changes(&self) -> usize {
        let first = |row: &Vec<f64>| (0..row.len()).min_by(|a, b| row[*a].total_cmp(&row[*b]));
        let firsts: Vec<Option<usize>> = self.table.losses.iter().map(first).collect();
        firsts.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }
}
