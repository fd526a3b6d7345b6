//! Failures of a sweep, grouped by reason.

use crate::record::{Invalidity, InvalidityKind, Outcome, Record};
use serde::Serialize;

/// Group of configs that failed for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failures {
    /// Category of the failure.
    pub kind: InvalidityKind,
    /// First line of the first message.
    pub reason: String,
    /// Number of configs.
    pub count: usize,
    /// Problem and config of the first failure.
    pub example: (String, String),
}

/// Groups failed records by reason, the most frequent first.
pub fn failures<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Failures> {
    let mut groups: Vec<Failures> = Vec::new();
    let mut masks: Vec<String> = Vec::new();
    for record in records {
        let Outcome::Invalid(Invalidity { kind, detail }) = &record.outcome else { continue };
        let reason = detail.lines().next().unwrap_or_default();
        let mask = mask_numbers(reason);
        match (0..groups.len()).find(|at| groups[*at].kind == *kind && masks[*at] == mask) {
            Some(at) => groups[at].count += 1,
            None => {
                masks.push(mask);
                groups.push(Failures {
                    kind: *kind,
                    reason: reason.into(),
                    count: 1,
                    example: (record.problem.to_string(), record.config.to_string()),
                });
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

/// What the same failure says elsewhere too: each number is `#`, and a compiler's temporary files have one name.
fn mask_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut words = text.split("tempfile_");
    let first = words.next().unwrap_or_default().to_string();
    let text = words.fold(first, |text, word| text + word.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
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
        assert_eq!(groups[0].reason, "element 17 is 0.5, not 0.25");
        assert_eq!(mask_numbers("/tmp/tempfile_aB1.cl:3: no"), mask_numbers("/tmp/tempfile_Xy.cl:14: no"));
        assert_eq!((groups[1].kind, groups[1].count), (InvalidityKind::Timeout, 1));
    }
}
