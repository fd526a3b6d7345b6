//! The text by which spaces, models, plans and checkpoints are told apart, of which digests are taken.
//!
//! Names of variants and fields are written out where a value is encoded, so that renaming one in Rust changes no digest. Version 1 writes
//! what `{:?}` of Rust 1.89 prints, byte by byte, because files made before this encoding hold digests of that text:
//!
//! * a text or a path stands in double quotes, with the escapes of [`text`] and [`path`];
//! * a number with a fraction is the shortest one that reads back as itself, `0.1`, `2.0`, `1e-5`, `1e16` or `NaN`;
//! * `None`, `Some(x)`, `[x, y]`, `(x, y)`, `{x: y}`, `Name`, `Name(x)`, `Name { field: x }`.
//!
//! `tests/goldens/digests.txt` pins the digests of everything that is shipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Version of the encoding. Version 1 leaves no mark in a text; a later version has to begin each text with its number.
pub const VERSION: u32 = 1;

/// A value that can be encoded.
pub trait Canonical {
    /// Returns its encoding.
    fn canonical(&self) -> String;
}

/// Encodes a text: `\0`, `\t`, `\n`, `\r`, `\"` and `\\` for these characters, `\u{7f}` for other characters that do not print or that join
/// the one before, in lower-case hexadecimal.
pub fn text(value: &str) -> String {
    let mut all = String::with_capacity(value.len() + 2);
    all.push('"');
    value.chars().for_each(|c| escape(c, &mut all));
    all.push('"');
    all
}

/// Encodes a path: as [`text`], with `\xFF` for bytes that are no text.
pub fn path(value: &Path) -> String {
    let mut all = String::from("\"");
    for chunk in value.as_os_str().as_encoded_bytes().utf8_chunks() {
        chunk.valid().chars().for_each(|c| escape(c, &mut all));
        chunk.invalid().iter().for_each(|byte| all += &format!("\\x{byte:02X}"));
    }
    all + "\""
}

/// Appends a character with its escape.
fn escape(c: char, all: &mut String) {
    match c {
        '\0' => all.push_str("\\0"),
        '\t' => all.push_str("\\t"),
        '\n' => all.push_str("\\n"),
        '\r' => all.push_str("\\r"),
        '"' | '\\' => all.extend(['\\', c]),
        ' '..='~' => all.push(c),
        '\0'..='\x7f' => *all += &format!("\\u{{{:x}}}", c as u32),
        // whether it prints is looked up in tables of Unicode; the tests below pin some of each kind
        _ => all.extend(c.escape_debug()),
    }
}

/// Encodes a structure by the names of its fields.
pub fn structure(name: &str, fields: &[(&str, &dyn Canonical)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(field, value)| format!("{field}: {}", value.canonical())).collect();
    format!("{name} {{ {} }}", fields.join(", "))
}

/// Encodes a variant that holds something.
pub fn variant(name: &str, value: &dyn Canonical) -> String {
    format!("{name}({})", value.canonical())
}

/// Encodes values of several types as a tuple.
pub fn tuple(parts: &[&dyn Canonical]) -> String {
    format!("({})", parts.iter().map(|part| part.canonical()).collect::<Vec<_>>().join(", "))
}

impl Canonical for str {
    fn canonical(&self) -> String {
        text(self)
    }
}

impl Canonical for String {
    fn canonical(&self) -> String {
        text(self)
    }
}

impl Canonical for Path {
    fn canonical(&self) -> String {
        path(self)
    }
}

impl Canonical for PathBuf {
    fn canonical(&self) -> String {
        path(self)
    }
}

impl Canonical for bool {
    fn canonical(&self) -> String {
        if *self { "true" } else { "false" }.into()
    }
}

/// Whole numbers, in decimal digits.
macro_rules! whole {
    ($($kind:ty)*) => {
        $(impl Canonical for $kind {
            fn canonical(&self) -> String {
                self.to_string()
            }
        })*
    };
}

whole!(i64 u32 u64 usize);

impl Canonical for f64 {
    fn canonical(&self) -> String {
        let size = self.abs();
        match size == 0.0 || (1e-4..1e16).contains(&size) {
            // digits with a decimal point, never an exponent
            true if self.fract() == 0.0 => format!("{self}.0"),
            true => format!("{self}"),
            false if self.is_finite() => format!("{self:e}"),
            false => format!("{self}"),
        }
    }
}

impl<T: Canonical + ?Sized> Canonical for &T {
    fn canonical(&self) -> String {
        (**self).canonical()
    }
}

impl<T: Canonical> Canonical for Option<T> {
    fn canonical(&self) -> String {
        self.as_ref().map_or("None".into(), |value| variant("Some", value))
    }
}

impl<T: Canonical> Canonical for [T] {
    fn canonical(&self) -> String {
        format!("[{}]", self.iter().map(T::canonical).collect::<Vec<_>>().join(", "))
    }
}

impl<T: Canonical> Canonical for Vec<T> {
    fn canonical(&self) -> String {
        self[..].canonical()
    }
}

impl<K: Canonical, V: Canonical> Canonical for BTreeMap<K, V> {
    fn canonical(&self) -> String {
        let entries = self.iter().map(|(key, value)| format!("{}: {}", key.canonical(), value.canonical()));
        format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
    }
}

impl<A: Canonical, B: Canonical> Canonical for (A, B) {
    fn canonical(&self) -> String {
        tuple(&[&self.0, &self.1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;
    use rand_chacha::ChaCha8Rng;

    /// A text of up to eight characters, most of them with an escape.
    fn drawn_text(rng: &mut ChaCha8Rng) -> String {
        let character = |rng: &mut ChaCha8Rng| match rng.random_range(0..4) {
            0 => rng.random_range('\0'..='\x7f'),
            1 => rng.random_range('\u{80}'..='\u{3ff}'),
            2 => rng.random_range('\0'..=char::MAX),
            _ => ['"', '\'', '\\', '\n', '\u{301}', '\u{200b}', 'é', '✓'][rng.random_range(0..8)],
        };
        (0..rng.random_range(0..9)).map(|_| character(rng)).collect()
    }

    fn drawn_number(rng: &mut ChaCha8Rng) -> f64 {
        match rng.random_range(0..4) {
            0 => f64::from_bits(rng.random()),
            1 => rng.random_range(-100..100) as f64,
            2 => 10f64.powi(rng.random_range(-20..20)),
            _ => rng.random_range(-2.0..2.0),
        }
    }

    #[test]
    fn the_canonical_text_of_drawn_values_is_what_debug_prints() {
        let mut rng = test_generator(31);
        for _ in 0..20_000 {
            let (word, number) = (drawn_text(&mut rng), drawn_number(&mut rng));
            assert_eq!(word.canonical(), format!("{word:?}"));
            assert_eq!(number.canonical(), format!("{number:?}"), "{:x}", number.to_bits());
            // older standard libraries escape single quotes of paths
            let path = PathBuf::from(word.replace('\'', ""));
            assert_eq!(path.canonical(), format!("{path:?}"));
        }
        for _ in 0..200 {
            let words: Vec<String> = (0..rng.random_range(0..4)).map(|_| drawn_text(&mut rng)).collect();
            let named: Vec<(String, Vec<String>)> = words.iter().map(|w| (w.clone(), words.clone())).collect();
            let map: BTreeMap<String, f64> = words.iter().map(|w| (w.clone(), drawn_number(&mut rng))).collect();
            let (first, whole) = (words.first(), (rng.random::<i64>(), rng.random::<u64>()));
            assert_eq!(named.canonical(), format!("{named:?}"));
            assert_eq!(map.canonical(), format!("{map:?}"));
            assert_eq!(first.canonical(), format!("{first:?}"));
            assert_eq!(whole.canonical(), format!("{whole:?}"));
            let parts: [&dyn Canonical; 3] = [&first, &true, &words];
            assert_eq!(tuple(&parts), format!("{:?}", (first, true, &words)));
        }
    }

    #[test]
    fn structures_and_variants_are_written_with_the_names_that_are_given() {
        #[derive(Debug)]
        #[expect(dead_code, reason = "read by what is derived alone")]
        struct Thing {
            size: usize,
            of: Option<f64>,
        }
        let thing = Thing { size: 3, of: Some(0.5) };
        let written = structure("Thing", &[("size", &3usize), ("of", &Some(0.5))]);
        assert_eq!(written, format!("{thing:?}"));
        assert_eq!(variant("Named", &"wall"), "Named(\"wall\")");
    }

    /// Both what is written by these rules and what the standard library is asked for.
    #[test]
    fn escapes_and_numbers_are_the_bytes_that_canonical_texts_have_always_had() {
        let escaped = text("\0\t\n\r\"\\' \u{1}\u{1f}~\u{7f}");
        assert_eq!(escaped, r#""\0\t\n\r\"\\' \u{1}\u{1f}~\u{7f}""#);
        // controls, a soft hyphen, what joins, a space without width, private use, the highest one
        let hidden = text("\u{80}\u{a0}\u{ad}\u{301}\u{200b}\u{2028}\u{e000}\u{feff}\u{e0001}\u{10ffff}");
        let expected = r#""\u{80}\u{a0}\u{ad}\u{301}\u{200b}\u{2028}\u{e000}\u{feff}\u{e0001}\u{10ffff}""#;
        assert_eq!(hidden, expected);
        assert_eq!(text("é ß Ω Я 中 ✓ × 😀"), "\"é ß Ω Я 中 ✓ × 😀\"");
        assert_eq!(path(Path::new("it's \"here\"")), r#""it's \"here\"""#);
        let numbers = [0.0, -0.0, 1.0, -2.5, 0.1, 1e-4, 9.9e-5, 1e15, 1e16, 1.5e300, 5e-324, f64::INFINITY, f64::NAN];
        let expected =
            "[0.0, -0.0, 1.0, -2.5, 0.1, 0.0001, 9.9e-5, 1000000000000000.0, 1e16, 1.5e300, 5e-324, inf, NaN]";
        assert_eq!(numbers[..].canonical(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_of_bytes_that_are_no_text_has_a_canonical_text_too() {
        use std::os::unix::ffi::OsStrExt;
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"a\xff-\xc3"));
        assert_eq!(odd.canonical(), format!("{odd:?}"));
        assert_eq!(odd.canonical(), r#""a\xFF-\xC3""#);
    }
}
