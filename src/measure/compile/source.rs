//! What is read of an OpenCL C source without a compiler.

/// The source with comments as spaces, texts in quotes empty, and continued lines in one.
pub fn without_comments(source: &str) -> String {
    let source = source.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut text = String::with_capacity(source.len());
    let mut rest = source.as_str();
    while let Some(first) = rest.chars().next() {
        let end_of = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at);
        let (kept, length) = match first {
            '/' if rest.starts_with("//") => ("", end_of("\n", 2)),
            '/' if rest.starts_with("/*") => (" ", (end_of("*/", 2) + 2).min(rest.len())),
            '"' | '\'' => ("\"\"", (quoted(rest, first)).min(rest.len())),
            _ => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        text += kept;
        rest = &rest[length..];
    }
    text
}

/// Bytes of the text in quotes with which a text begins, its quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
