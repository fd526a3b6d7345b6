//! Units of times and energies, as files of others spell them.

/// Spellings of a unit, in small letters, and its microseconds.
const TIMES: [(&[&str], f64); 4] = [
    (&["s", "sec", "secs", "second", "seconds"], 1e6),
    (&["ms", "msec", "msecs", "millis", "millisecond", "milliseconds", "milisecond", "miliseconds"], 1e3),
    // the micro sign, and the Greek letter
    (&["us", "\u{b5}s", "\u{3bc}s", "usec", "usecs", "micros", "microsecond", "microseconds"], 1.0),
    (&["ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"], 1e-3),
];

/// Spellings of a unit, and its joules.
const ENERGIES: [(&[&str], f64); 3] = [
    (&["J", "j", "joule", "joules", "Joule", "Joules"], 1.0),
    (&["mJ", "mj", "millijoule", "millijoules", "Millijoules"], 1e-3),
    (&["uJ", "uj", "\u{b5}J", "\u{3bc}J", "microjoule", "microjoules", "Microjoules"], 1e-6),
];

/// Microseconds of a unit of time; `None` where the spelling is not known.
pub fn microseconds(unit: &str) -> Option<f64> {
    let unit = unit.trim().to_lowercase();
    TIMES.iter().find(|(spellings, _)| spellings.contains(&unit.as_str())).map(|(_, us)| *us)
}

/// Joules of a unit of energy; `None` where the spelling is not known.
pub fn joules(unit: &str) -> Option<f64> {
    ENERGIES.iter().find(|(spellings, _)| spellings.contains(&unit.trim())).map(|(_, joules)| *joules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_in_every_spelling_that_tools_write_and_others_are_not() {
        for (spelling, expected) in [
            ("Seconds", 1e6),
            ("s", 1e6),
            ("miliseconds", 1e3),
            ("Milliseconds", 1e3),
            (" ms ", 1e3),
            ("Microseconds", 1.0),
            ("µs", 1.0),
            ("μs", 1.0),
            ("us", 1.0),
            ("nanoseconds", 1e-3),
            ("ns", 1e-3),
        ] {
            assert_eq!(microseconds(spelling), Some(expected), "{spelling}");
        }
        for unknown in ["", "fortnights", "GFLOP/s", "m", "cycles", "J"] {
            assert_eq!(microseconds(unknown), None, "{unknown}");
        }
        assert_eq!(["J", "mJ", "W", "MJ"].map(joules), [Some(1.0), Some(1e-3), None, None]);
    }
}
