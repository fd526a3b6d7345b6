//! Rows of others that cannot be read: left out of an import and counted by reason, with an example each. Beside them those that are there twice.

use seqtune_kernel::count_noun;
use seqtune_kernel::error::{Result, input, quote};
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows of a problem and config that an earlier row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Twice {
    /// Those that say what the earlier one says: they are left out.
    pub same: usize,
    /// Those that say another time: their samples stand beside those of the earlier one.
    pub again: usize,
}

/// Rows that are left out for one reason, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Number of rows.
    pub rows: usize,
    /// The first of them, with its place.
    pub example: String,
}

impl Counts {
    /// One more row.
    pub fn add(&mut self, example: impl FnOnce() -> String) {
        self.rows += 1;
        if self.example.is_empty() {
            self.example = example();
        }
    }
}

/// Rows that cannot be read, by reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct BadRows(pub BTreeMap<String, Counts>);

/// Reasons that are told apart; more of them are one.
const REASONS: usize = 50;

impl BadRows {
    /// Counts a row. What its reason quotes, between back quotes, belongs to the example.
    pub fn add(&mut self, reason: &str, place: &str) {
        let parts = reason.split('`').enumerate();
        let general: Vec<&str> = parts.map(|(i, part)| if i % 2 == 1 { "…" } else { part }).collect();
        let general = quote(&general.join("`"));
        let known = self.0.len() < REASONS || self.0.contains_key(&general);
        let reason_of = if known { general } else { "other reasons".into() };
        self.0.entry(reason_of).or_default().add(|| format!("{place}: {}", quote(reason)));
    }

    /// Adds those of another file.
    pub fn extend(&mut self, other: BadRows) {
        for (reason, counts) in other.0 {
            let own = self.0.entry(reason).or_default();
            own.rows += counts.rows;
            if own.example.is_empty() {
                own.example = counts.example;
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.values().map(|counts| counts.rows).sum()
    }

    /// Refuses an import of `rows` rows in all of which more than half are bad, or, where `strict`, any.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) with the commonest reason and its example.
    pub fn check(&self, rows: usize, strict: bool) -> Result<()> {
        let bad = self.rows();
        let Some((reason, counts)) = self.0.iter().max_by_key(|(_, counts)| counts.rows) else { return Ok(()) };
        let what =
            format!("{bad} of {rows} rows cannot be read; the commonest reason: {reason}, such as {}", counts.example);
        match (2 * bad > rows, strict) {
            (true, _) => input(format!("{what}: is the file of this kind and whole, and is it of this kernel?")),
            (false, true) => input(format!("--strict: {what}")),
            (false, false) => Ok(()),
        }
    }

    /// Refuses an import of `rows` rows where any is left out: what `--strict` asks for of rows that could be read.
    ///
    /// # Errors
    /// [`Error::Input`](seqtune_predict::Error::Input) with the commonest reason and its example.
    pub fn refuse(&self, rows: usize) -> Result<()> {
        match self.0.iter().max_by_key(|(_, counts)| counts.rows) {
            Some((reason, counts)) => input(format!(
                "--strict: {} of {rows} rows are left out; the commonest reason: {reason}, such as {}",
                self.rows(),
                counts.example
            )),
            None => Ok(()),
        }
    }

    /// The commonest reason with its example; `None` where nothing is left out.
    pub fn commonest(&self) -> Option<String> {
        let (reason, counts) = self.0.iter().max_by_key(|(_, counts)| counts.rows)?;
        Some(format!("the commonest reason: {reason}, such as {}", counts.example))
    }

    /// A line for each reason and one for its example, each behind a line break.
    pub fn text(&self) -> String {
        let line = |(reason, counts): (&String, &Counts)| {
            format!("\nleft out, {}: {reason}\n  first: {}", count_noun(counts.rows, "row"), counts.example)
        };
        self.0.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_reason_without_what_is_quoted_and_more_than_half_are_too_many() {
        let mut bad = BadRows::default();
        bad.add("`x` is not a number", "line 3");
        bad.add("`y` is not a number", "line 5");
        bad.add("has 2 columns", "line 9");
        assert_eq!(bad.0["`…` is not a number"], Counts { rows: 2, example: "line 3: `x` is not a number".into() });
        assert!(bad.check(6, false).is_ok());
        assert!(bad.check(6, true).unwrap_err().to_string().starts_with("--strict: 3 of 6 rows"));
        assert!(bad.check(5, false).unwrap_err().to_string().contains("such as line 3: `x` is not a number"));
        (0..1_000).for_each(|i| bad.add(&format!("reason {i}"), "line 1"));
        assert!(bad.0.len() <= REASONS + 1 && bad.rows() == 1_003);
    }
}
