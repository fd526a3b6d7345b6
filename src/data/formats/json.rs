//! JSON as tools write it: with numbers that only Python knows, and cut off where the tool was.

use seqtune_kernel::error::{Result, input};

/// The text with `null` where Python wrote a number that JSON does not have.
pub fn without_infinities(text: &str) -> String {
    with_nan_as(text, "null")
}

/// The text with `null` where Python wrote an infinity, and `nan` where it wrote no number at all.
pub fn with_nan_as(text: &str, nan: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    // every second part is a string; a quotation mark behind an odd number of backslashes ends none
    let (mut rest, mut is_string) = (text, false);
    while !rest.is_empty() {
        let end = end_of_part(rest, is_string);
        let (part, behind) = rest.split_at(end);
        match is_string {
            true => plain += part,
            false => plain += &part.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", nan),
        }
        plain += &behind[..behind.len().min(1)];
        rest = behind.get(1..).unwrap_or_default();
        is_string = !is_string;
    }
    plain
}

/// Where the part that `text` begins with ends: at the next quotation mark, in a string the next that is not escaped.
fn end_of_part(text: &str, is_string: bool) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at,
            b'\\' if is_string => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// A member of an object, or an element of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part<'t> {
    /// Name of a member, as it is written between its quotation marks.
    pub name: Option<&'t str>,
    /// Its value.
    pub text: &'t str,
    /// Whether it was ended: by a comma, or with the whole.
    pub is_whole: bool,
}

/// The parts of the object or list that `text` is, in their order, those of one name each; nothing in them is parsed. The last one of a text that was
/// cut off is not whole.
///
/// # Errors
/// [`Error::Input`](seqtune_predict::Error::Input) where the text is neither, or something stands behind its end.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>> {
    let text = text.trim();
    let bytes = text.as_bytes();
    if !matches!(bytes.first(), Some(b'{' | b'[')) {
        return input("it is no object of JSON");
    }
    let (mut parts, mut depth, mut begin, mut colon) = (Vec::new(), 0usize, 1, None);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at += 1 + end_of_part(&text[at + 1..], true),
            b'{' | b'[' => depth += 1,
            b':' if depth == 1 && colon.is_none() => colon = Some(at),
            b',' if depth == 1 => {
                // nothing between two commas is a part that cannot be parsed
                parts.push(part(text, begin, colon, at, true).unwrap_or(Part { name: None, text: "", is_whole: true }));
                (begin, colon) = (at + 1, None);
            }
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    parts.extend(part(text, begin, colon, at, true));
                    let behind = text.len() - at - 1;
                    return match behind {
                        0 => Ok(parts),
                        _ => input(format!("{behind} bytes stand behind the end of its JSON")),
                    };
                }
            }
            _ => {}
        }
        at += 1;
    }
    parts.extend(part(text, begin, colon, bytes.len(), false));
    Ok(parts)
}

/// A part by where it begins, has its colon and ends; `None` of white space.
fn part(text: &str, begin: usize, colon: Option<usize>, end: usize, is_whole: bool) -> Option<Part<'_>> {
    let end = end.max(begin);
    let whole = text.get(begin..end)?.trim();
    if whole.is_empty() {
        return None;
    }
    let name = colon.map(|colon| text[begin..colon].trim().trim_matches('"'));
    let value = colon.map_or(whole, |colon| text[colon + 1..end].trim());
    Some(Part { name, text: value, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_json_lacks_are_replaced() {
        assert_eq!(
            without_infinities(r#"["Infinity \" NaN", Infinity, -Infinity, NaN]"#),
            r#"["Infinity \" NaN", null, null, null]"#
        );
        assert_eq!(without_infinities("\"a\\\\\", NaN, \"NaN"), "\"a\\\\\", null, \"NaN");
    }

    #[test]
    fn parts_are_told_apart_whatever_stands_in_them_and_the_last_of_a_cut_text_is_not_whole() {
        let shown = |text: &str| -> Vec<(String, String, bool)> {
            let parts = parts(text).unwrap();
            parts.iter().map(|p| (p.name.unwrap_or("-").to_string(), p.text.to_string(), p.is_whole)).collect()
        };
        let own = |name: &str, text: &str, is_whole| (name.to_string(), text.to_string(), is_whole);
        assert_eq!(
            shown(r#" {"a,}": {"b": [1, "]"]}, "c": "x:\"}", "c": NaN} "#),
            [own("a,}", r#"{"b": [1, "]"]}"#, true), own("c", r#""x:\"}""#, true), own("c", "NaN", true)]
        );
        assert_eq!(shown("[1, {\"a\": 2},\n"), [own("-", "1", true), own("-", "{\"a\": 2}", true)]);
        assert_eq!(shown("[1, {\"a\": 2"), [own("-", "1", true), own("-", "{\"a\": 2", false)]);
        assert_eq!(shown("{\"a\": \"2"), [own("a", "\"2", false)]);
        assert_eq!(shown("[1,, 2]"), [own("-", "1", true), own("-", "", true), own("-", "2", true)]);
        assert!(shown("{}").is_empty() && shown("[").is_empty());
        assert!(parts("1").is_err() && parts("").is_err() && parts("{} {}").is_err());
    }
}
