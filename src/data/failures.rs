//! Failures of a sweep, grouped by reason.

use crate::record::{InvalidityKind, Outcome, Record};
use serde::Serialize;

/// Group of configs that failed for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failures {
    /// Category of the failure.
    pub kind: InvalidityKind,
    /// First line of the message, with numbers replaced by `#`.
    pub reason: String,
    /// Number of configs.
    pub count: usize,
    /// Problem and config of the first failure.
    pub example: (String, String),
}

/// Groups failed records by reason, the most frequent first.
pub fn failures<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Failures> {
    let mut groups: Vec<Failures> = Vec::new();
    for record in records {
        let Outcome::Invalid(invalidity) = &record.outcome else { continue };
        let reason = without_numbers(invalidity.detail.lines().next().unwrap_or_default());
        match groups.iter_mut().find(|group| group.kind == invalidity.kind && group.reason == reason) {
            Some(group) => group.count += 1,
            None => groups.push(Failures {
                kind: invalidity.kind,
                reason,
                count: 1,
                example: (record.problem.clone(), record.config.clone()),
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

/// Replaces each number by `#`, so that the same failure at different elements is one reason.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if plain.ends_with('#') => {}
            true => plain.push('#'),
            // the fraction of a number belongs to it
            false if c == '.' && plain.ends_with('#') => {}
            false => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_fault_at_other_places_is_one_reason_with_its_first_example() {
        let record = |config: &str, kind, detail: &str| Record {
            problem: "M=1".into(),
            config: config.into(),
            outcome: Outcome::invalid(kind, detail),
            observed: Default::default(),
        };
        let records = [
            record("a=1", InvalidityKind::Timeout, "silent for 20.0 s"),
            record("a=2", InvalidityKind::Correctness, "element 17 is 0.5, not 0.25\nmore"),
            record("a=3", InvalidityKind::Correctness, "element 9 is 1.5, not 3.0"),
        ];
        let groups = failures(&records);
        assert_eq!((groups[0].count, groups[0].example.1.as_str()), (2, "a=2"));
        assert_eq!(groups[0].reason, "element # is #, not #");
        assert_eq!((groups[1].kind, groups[1].count), (InvalidityKind::Timeout, 1));
    }
}
