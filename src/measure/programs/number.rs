//! Numbers in the output of a program, as regular expressions find them: only those that stand there as they were taken.
//!
//! A loose pattern takes a part of a number: 1 of `1,8`, 1.8 of `1.8E-03`, 238.5 of `1,238.5`, 5 of `-5`. Each would be booked as something that
//! the program never said, so that what stands before and behind the group is looked at.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};
use seqtune_kernel::Unit;
use seqtune_kernel::error::quote;

/// Characters before and behind a number that are looked at.
const NEAR: usize = 40;

/// Separators behind or before a number that a pattern may write down itself: those of columns.
const COLUMNS: [char; 4] = [',', ';', ':', '/'];

/// The characters that a pattern writes down directly before and behind its first group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    before: Option<char>,
    behind: Option<char>,
}

impl Beside {
    /// Those of a regular expression; none where it cannot be read.
    pub(super) fn new(pattern: &str) -> Beside {
        let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern);
        parsed.ok().and_then(|hir| unit_beside(&hir)).unwrap_or_default()
    }
}

fn unit_beside(hir: &Hir) -> Option<Beside> {
    let text = |part: &Hir| match part.kind() {
        HirKind::Literal(literal) => Some(String::from_utf8_lossy(&literal.0).into_owned()),
        _ => None,
    };
    match hir.kind() {
        HirKind::Capture(capture) if capture.index == 1 => Some(Beside::default()),
        HirKind::Capture(capture) => unit_beside(&capture.sub),
        HirKind::Repetition(repetition) => unit_beside(&repetition.sub),
        HirKind::Alternation(parts) => parts.iter().find_map(unit_beside),
        HirKind::Concat(parts) => parts.iter().enumerate().find_map(|(at, part)| {
            let inner = unit_beside(part)?;
            let before = at.checked_sub(1).and_then(|at| text(&parts[at])).and_then(|text| text.chars().next_back());
            let behind = parts.get(at + 1).and_then(text).and_then(|text| text.chars().next());
            Some(Beside { before: inner.before.or(before), behind: inner.behind.or(behind) })
        }),
        _ => None,
    }
}

/// The number that stands in `text` from `start` to `end`.
///
/// # Errors
/// Words that follow "its output": what stands there is no number, or a part of one.
pub(super) fn number(text: &str, start: usize, end: usize, beside: Beside) -> Result<f64, String> {
    let taken = text[start..end].trim();
    let start = start + (text[start..end].len() - text[start..end].trim_start().len());
    let end = start + taken.len();
    let value = taken.parse::<f64>().map_err(|_| format!("holds `{}` where a number is to be", quote(taken)))?;
    let behind: Vec<char> = text[end..].chars().take(NEAR).collect();
    let before: Vec<char> = text[..start].chars().rev().take(NEAR).collect();
    let goes_on = goes_on(taken, &behind, beside.behind);
    match goes_on || began_before(&before, beside.before) {
        false => Ok(value),
        true => Err(format!(
            "holds `{}`, of which the pattern takes `{}` alone; let its group take the whole number",
            quote(&whole(&before, taken, &behind)),
            quote(taken)
        )),
    }
}

/// What stands there without a space, a number taken out of its middle.
fn whole(before: &[char], taken: &str, behind: &[char]) -> String {
    let is_part = |c: &&char| !c.is_ascii_whitespace() && !c.is_control();
    let head: Vec<char> = before.iter().take_while(is_part).copied().collect();
    let tail: String = behind.iter().take_while(is_part).collect();
    head.into_iter().rev().collect::<String>() + taken + &tail
}

/// Marks between the digits of one number: of decimals, of thousands.
fn is_mark(c: char) -> bool {
    matches!(c, '.' | ',' | '\'' | '’' | '_' | '٫' | '٬' | '·') || is_narrow(c)
}

/// Spaces that keep the digits of one number together.
fn is_narrow(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}')
}

fn is_sign(c: char) -> bool {
    matches!(c, '-' | '+' | '−' | '–')
}

fn is_digit(c: Option<&char>) -> bool {
    c.is_some_and(|c| c.is_numeric())
}

/// Whether the number `taken` goes on with what stands behind it, of which the pattern writes down `written`.
fn goes_on(taken: &str, behind: &[char], written: Option<char>) -> bool {
    let Some(first) = behind.first().copied() else { return false };
    if written == Some(first) && COLUMNS.contains(&first) {
        return false;
    }
    let second = behind.get(1);
    let is_exponent = |at: usize| {
        let sign = behind.get(at + 1).is_some_and(|c| is_sign(*c)) as usize;
        is_digit(behind.get(at + 1 + sign))
    };
    match first {
        _ if first.is_numeric() => true,
        '.' if matches!(second, Some('e' | 'E' | 'd' | 'D')) => is_exponent(1),
        _ if is_mark(first) || is_sign(first) || matches!(first, ':' | '/' | 'h' | 'm') => is_digit(second),
        'e' | 'E' | 'd' | 'D' | 'p' | 'P' => is_exponent(0),
        'x' | 'X' if taken.trim_start_matches(is_sign) == "0" => second.is_some_and(char::is_ascii_hexdigit),
        'k' | 'K' | 'M' | 'G' | 'T' => !second.is_some_and(|c| c.is_alphanumeric() || *c == '/'),
        _ => is_power(&behind.iter().collect::<String>()),
    }
}

/// Whether a power of ten stands there as a factor, as ` x 10^-3`.
fn is_power(behind: &str) -> bool {
    let factor = behind.trim_start_matches(' ').strip_prefix(['x', '×', '*', '·', '⋅']).map(str::trim_start);
    let power = factor.and_then(|text| text.strip_prefix("10"));
    power.is_some_and(|text| {
        text.starts_with(['^', '*', 'e', 'E', '-', '⁻', '⁺', '¹', '²', '³', '⁰', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'])
    })
}

/// Whether the number has begun before its group; `before` is read backwards, and the pattern writes down `written` there.
fn began_before(before: &[char], written: Option<char>) -> bool {
    let Some(last) = before.first().copied() else { return false };
    if written == Some(last) && (COLUMNS.contains(&last) || is_sign(last)) {
        return false;
    }
    let (second, third) = (before.get(1), before.get(2));
    let is_exponent = |c: Option<&char>, behind: Option<&char>| {
        matches!(c, Some('e' | 'E' | 'd' | 'D')) && (is_digit(behind) || behind == Some(&'.'))
    };
    // what a sign or a point begins, rather than what it joins
    let is_begin = |c: Option<&char>| c.is_none_or(|c| c.is_whitespace() || "=:([{|,;<>\"".contains(*c));
    match last {
        _ if last.is_numeric() => true,
        '+' => is_exponent(second, third),
        _ if is_sign(last) => is_exponent(second, third) || is_digit(second) || is_begin(second),
        '.' => is_digit(second) || is_begin(second) || second.is_some_and(|c| is_sign(*c)),
        'e' | 'E' | 'D' => is_digit(second) && !is_word(before),
        _ if is_mark(last) || matches!(last, ':' | '/') => is_digit(second),
        _ => false,
    }
}

/// Whether the digits before an `e` are the end of a word, as in `size2e5`.
fn is_word(before: &[char]) -> bool {
    let behind = before.iter().skip(1).find(|c| !c.is_numeric() && !is_mark(**c));
    behind.is_some_and(|c| c.is_alphabetic())
}

/// The unit that stands behind the number that ends at `end`, or in brackets before the one that begins at `start`, where it is not `unit`.
pub(super) fn other_unit(text: &str, start: usize, end: usize, unit: Unit) -> Option<String> {
    let behind = text[end..].trim_start_matches([' ', '\t', '[', '(']);
    let near = text[..start].trim_end_matches(|c: char| c.is_whitespace() || c == ':' || c == '=');
    let before = near.strip_suffix([')', ']']).and_then(|near| near.rsplit(['(', '[']).next()).unwrap_or_default();
    let is_part = |c: char| c.is_alphabetic() || c == '/';
    let word = |text: &str| text.chars().take_while(|c| is_part(*c)).take(NEAR).collect::<String>();
    // a unit in brackets before the number is the whole text of the brackets
    let before = Some(word(before)).filter(|found| found == before);
    let found = [Some(word(behind)), before].into_iter().flatten();
    found
        .filter_map(|word| unit_named(&word).map(|named| (word, named)))
        .find(|(_, named)| *named != Some(unit))
        .map(|(word, _)| word)
}

/// The unit that a word stands for; `Some(None)` where it is one that kernel.toml has not, `None` where it is no unit.
fn unit_named(word: &str) -> Option<Option<Unit>> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(Unit::Seconds),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some(Unit::Milliseconds),
        "us" | "µs" | "μs" | "usec" | "usecs" | "microsecond" | "microseconds" => Some(Unit::Microseconds),
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => Some(Unit::Nanoseconds),
        "ps" | "m" | "min" | "mins" | "minute" | "minutes" | "h" | "hr" | "hrs" | "hour" | "hours" => None,
        _ => match word.to_ascii_lowercase().as_str() {
            "gflop/s" | "gflops" | "gflops/s" => Some(Unit::Gflops),
            "flop/s" | "mflop/s" | "mflops" | "mflops/s" | "tflop/s" | "tflops" | "tflops/s" | "pflop/s" | "pflops" => {
                None
            }
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    /// What a pattern takes of a line.
    fn take(pattern: &str, line: &str) -> Result<f64, String> {
        let found = Regex::new(pattern).unwrap().captures(line).unwrap_or_else(|| panic!("{pattern} in {line}"));
        let group = found.get(1).unwrap();
        number(line, group.start(), group.end(), Beside::new(pattern))
    }

    #[test]
    fn a_number_that_goes_on_behind_its_group_is_none() {
        for line in [
            "1,8 ms",
            "1,238.5 ms",
            "1.238,5 ms",
            "1.8E-03 ms",
            "1.8e+00 ms",
            "1.8e3",
            "1.8D-03",
            "1.8d+02",
            "1'238 ms",
            "1_000 ms",
            "1.2.3",
            "1\u{a0}238 ms",
            "1\u{202f}238 ms",
            "1:30",
            "0m1.5s",
            "1h02m",
            "1.8x10^-3 s",
            "1.8 x 10^-3 s",
            "1.8 × 10⁻³ s",
            "1.8*10**-3",
            "0x1A",
            "0x1p3",
            "1.8-103",
            "3-5 ms",
            "1/2 s",
            "1.5k",
            "2M",
            "5.e3",
            "1٫5",
            "1.8·10",
        ] {
            let said = take(r"time: ([0-9.]+)", &format!("time: {line}")).unwrap_err();
            let first = line.split(' ').next().unwrap();
            assert!(
                (said.contains("alone; let its group take the whole number")
                    || said.contains("where a number is to be"))
                    && said.contains(first),
                "{line}: {said}"
            );
        }
        assert!(take("([0-9])", "18 ms").unwrap_err().contains("`18`"));
        assert!(take(r"time: (\S+)", "time: 1,8 ms").unwrap_err().contains("`1,8` where a number is to be"));
    }

    #[test]
    fn a_number_that_began_before_its_group_is_none() {
        for line in [
            "1,8 ms",
            "1.8E-03 ms",
            "-5 ms",
            "t=-5 ms",
            "−5 ms",
            "1'238 ms",
            "3-5 ms",
            "1:30 ms",
            "1e5 ms",
            "12.5e5 ms",
        ] {
            assert!(take(r"([0-9]+) ms", line).is_err(), "{line}");
        }
        assert!(take(r".*([0-9.]+) ms", "time 123.4 ms").is_err(), "what a greedy pattern leaves");
        assert!(take(r"([0-9]+) ms", "took .5 ms").is_err());
    }

    #[test]
    fn a_number_that_stands_alone_is_taken_as_it_is() {
        for (pattern, line, expected) in [
            (r"time: ([0-9.]+)", "time: 1.8 ms", 1.8),
            (r"time: ([0-9.]+)", "time: 1.8ms", 1.8),
            (r"time: ([0-9.]+)", "time: 5.", 5.0),
            (r"took ([0-9.]+) s", "it took 12.5 s, and 3 more", 12.5),
            (r"([0-9.e+-]+)", "1.8e-03 s", 1.8e-3),
            (r"([0-9.]+) ms", "tile-5 ms", 5.0),
            (r"([0-9.]+) ms", "8 238.5 ms", 8.0f64.max(238.5)),
            (r"^8,([0-9.]+),", "8,1.5,2.5", 1.5),
            (r"(?:n|tile),([0-9.]+);", "tile,1.5;2.5", 1.5),
            (r"done ([0-9]+)/", "done 3/10", 3.0),
            (r"time\s*=\s*(\S+)", "time = 1.5\r", 1.5),
            (r"time: ([0-9.]+)", "time: 1.5, then 2", 1.5),
            (r"time: ([0-9.]+)", "time: 1.5±0.1 s", 1.5),
            (r"time: ([0-9.]+)", "time: 1.5m", 1.5),
            (r"(\d+) misses", "conv2d: 7 misses", 7.0),
            (r"rate: ([0-9.]+)", "rate: 1.5 GFLOP/s", 1.5),
            (r"rate: ([0-9.]+)", "rate: 1.5GB/s", 1.5),
        ] {
            assert_eq!(take(pattern, line), Ok(expected), "{pattern} in {line}");
        }
    }

    #[test]
    fn another_unit_beside_the_number_is_told() {
        let other = |line: &str, unit: Unit| {
            let found = Regex::new(r"[0-9.]+").unwrap().find(line).unwrap();
            other_unit(line, found.start(), found.end(), unit)
        };
        for line in [
            "1.8 us",
            "1.8us",
            "1.8 µs",
            "1.8 s",
            "1.8 [ns]",
            "1.8 min",
            "time (us): 1.8",
            "time[s] = 1.8",
            "1.8 GFLOP/s",
        ] {
            assert!(other(line, Unit::Milliseconds).is_some(), "{line}");
        }
        for line in [
            "1.8 ms",
            "1.8ms",
            "1.8",
            "1.8 samples",
            "1.8 steps of us",
            "time (ms): 1.8",
            "time (best of us): 1.8",
            "1.8 msx",
        ] {
            assert_eq!(other(line, Unit::Milliseconds), None, "{line}");
        }
        assert_eq!(other("rate 5 TFLOPS", Unit::Gflops), Some("TFLOPS".into()));
        assert_eq!(other("rate 5 Gflop/s", Unit::Gflops), None);
    }
}
