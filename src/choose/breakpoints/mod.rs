//! Where the best config of a changing size changes: the fewest intervals, or the fewest rows of a table, that keep the loss within a bound.
//!
//! A [`Line`] varies one field and keeps the others. Both answers are exact for the sizes that the line was asked at: intervals by extending
//! each as far as any config carries it, which is optimal since a part of a good interval is good, and rows by dynamic programming.

mod found;
mod intervals;
mod line;
mod margin;
mod rows;

pub use found::Breakpoints;
pub use intervals::{Interval, fewest_intervals};
pub use line::{DEFAULT_SIZES, Line};
pub use margin::{EXCEEDED, LossPair, loss_pairs, margin};
pub use rows::{Nearness, Row, fewest_rows, nearest};
