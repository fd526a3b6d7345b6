//! Numbers of things in words.

/// `1 record`, `2 records`: a number with the noun that it counts, whose singular is given.
pub fn count_noun(number: usize, noun: &str) -> String {
    let ends = |with: &[&str]| with.iter().any(|end| noun.ends_with(end));
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if !ends(&["ay", "ey", "oy"]) => format!("{number} {stem}ies"),
        _ if ends(&["eaf"]) => format!("{number} {}ves", &noun[..noun.len() - 1]),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// A size in bytes as people write it, such as `1.5 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{bytes} bytes"),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::count_noun;

    #[test]
    fn one_thing_is_singular_and_none_or_several_are_plural() {
        let all = [
            (count_noun(1, "kernel"), "1 kernel"),
            (count_noun(0, "kernel"), "0 kernels"),
            (count_noun(2, "entry"), "2 entries"),
            (count_noun(3, "key"), "3 keys"),
            (count_noun(4, "leaf"), "4 leaves"),
            (count_noun(2, "batch"), "2 batches"),
        ];
        all.iter().for_each(|(found, right)| assert_eq!(found, right));
    }
}
