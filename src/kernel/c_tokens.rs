//! Tokens of C, C++, OpenCL C and CUDA C++: what all that reads a source without a compiler rests on.
//!
//! All tokens of a source in their order are the source again. Lines are those of the text, and a backslash at the end of one is a token.

use std::iter::FusedIterator;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name, a keyword or a number: letters, digits and `_`, in a number apostrophes too.
    Word,
    /// Any other single character.
    Mark,
    /// A string or character in quotes, with them. The prefix of a raw string of C++ is a word before it.
    Quoted,
    /// A comment, with what begins and ends it; one behind `//` without the end of its line.
    Comment,
    /// White space within a line.
    Space,
    /// The end of a line.
    LineEnd,
    /// A backslash with the end of its line, which goes on in the next one.
    Joint,
}

/// A token of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Byte of the source where it begins.
    pub at: usize,
    /// Its text.
    pub text: &'a str,
}

/// Splits a source into its tokens.
pub fn tokens(source: &str) -> Tokens<'_> {
    Tokens { source, at: 0, word: "" }
}

/// Splits a source into its words, marks and quoted texts, without what separates them.
pub fn words_and_marks(source: &str) -> impl Iterator<Item = &str> {
    let says_something = |kind| matches!(kind, TokenKind::Word | TokenKind::Mark | TokenKind::Quoted);
    tokens(source).filter(move |token| says_something(token.kind)).map(|token| token.text)
}

/// Returns what stands behind the `#` of a preprocessor line, without white space around it; `None` for another line.
pub fn directive(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('#').map(str::trim)
}

/// Whether a character belongs to words.
pub(crate) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of a source, in order.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    source: &'a str,
    at: usize,
    /// The word that ends where the next token begins, if one does.
    word: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.source[self.at..];
        let (kind, length) = first_token(rest, rest.chars().next()?, self.word);
        let token = Token { kind, at: self.at, text: &rest[..length] };
        self.at += length;
        self.word = if kind == TokenKind::Word { token.text } else { "" };
        Some(token)
    }
}

impl FusedIterator for Tokens<'_> {}

/// Kind and bytes of the token with which a text begins, behind a `word`.
fn first_token(rest: &str, first: char, word: &str) -> (TokenKind, usize) {
    let up_to = |ends: &dyn Fn(char) -> bool| rest.find(ends).unwrap_or(rest.len());
    match first {
        '/' if rest.starts_with("//") => (TokenKind::Comment, up_to(&|c| c == '\n')),
        '/' if rest.starts_with("/*") => {
            (TokenKind::Comment, rest[2..].find("*/").map_or(rest.len(), |length| length + 4))
        }
        '"' if is_raw(word) => (TokenKind::Quoted, length_of_raw(rest)),
        '"' | '\'' => (TokenKind::Quoted, length_of_quoted(rest, first)),
        '\\' if rest.starts_with("\\\n") => (TokenKind::Joint, 2),
        '\\' if rest.starts_with("\\\r\n") => (TokenKind::Joint, 3),
        '\n' => (TokenKind::LineEnd, 1),
        _ if first.is_ascii_digit() => (TokenKind::Word, up_to(&|c| !is_of_word(c) && c != '\'')),
        _ if is_of_word(first) => (TokenKind::Word, up_to(&|c| !is_of_word(c))),
        _ if first.is_whitespace() => (TokenKind::Space, up_to(&|c| !c.is_whitespace() || c == '\n')),
        _ => (TokenKind::Mark, first.len_utf8()),
    }
}

/// Bytes of the text in quotes with which a text begins, its quotes included; without an end it ends with its line.
pub(crate) fn length_of_quoted(text: &str, quote: char) -> usize {
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

/// Whether a quote behind this word begins a raw string of C++.
fn is_raw(word: &str) -> bool {
    ["R", "LR", "uR", "UR", "u8R"].contains(&word)
}

/// Bytes of the raw string, from its quote, with which a text begins: `"x(...)x"`.
fn length_of_raw(text: &str) -> usize {
    let Some(open) = text.find('(') else { return text.len() };
    let end = format!("){}\"", &text[1..open]);
    text[open..].find(&end).map_or(text.len(), |at| open + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::TokenKind::{Comment, Joint, LineEnd, Mark, Quoted, Space, Word};
    use super::*;
    use crate::drawn::test_generator;
    use rand::Rng;

    fn kinds(source: &str) -> Vec<(TokenKind, &str)> {
        tokens(source).map(|token| (token.kind, token.text)).collect()
    }

    /// Without white space.
    fn brief(source: &str) -> Vec<(TokenKind, &str)> {
        kinds(source).into_iter().filter(|(kind, _)| *kind != Space).collect()
    }

    #[test]
    fn words_numbers_and_marks_are_told_apart_by_where_they_begin() {
        let expected = [(Word, "int"), (Space, " "), (Word, "a_1"), (Mark, "="), (Word, "0x1F"), (Mark, ";")];
        assert_eq!(kinds("int a_1=0x1F;"), expected);
        assert_eq!(tokens("a +b").map(|token| token.at).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(brief("1'000 .5f"), [(Word, "1'000"), (Mark, "."), (Word, "5f")]);
        assert_eq!(kinds("größe\t\r\n"), [(Word, "größe"), (Space, "\t\r"), (LineEnd, "\n")]);
    }

    #[test]
    fn comments_end_with_their_line_or_their_mark_or_the_source() {
        let source = "a // b /* c\nd /* e // f\n*/ g /* h";
        let expected = [
            (Word, "a"),
            (Comment, "// b /* c"),
            (LineEnd, "\n"),
            (Word, "d"),
            (Comment, "/* e // f\n*/"),
            (Word, "g"),
            (Comment, "/* h"),
        ];
        assert_eq!(brief(source), expected);
        assert_eq!(
            brief("a / *p /*/ b */"),
            [(Word, "a"), (Mark, "/"), (Mark, "*"), (Word, "p"), (Comment, "/*/ b */")]
        );
    }

    #[test]
    fn strings_and_characters_hold_what_would_be_tokens_elsewhere() {
        let expected =
            [(Quoted, r#""a \" // b""#), (Mark, ","), (Quoted, r"'\''"), (Mark, ","), (Quoted, "'\"'"), (Mark, ";")];
        assert_eq!(brief(r#""a \" // b", '\'', '"';"#), expected);
        // one that is left open ends with its line, unless a backslash is the line's last character
        assert_eq!(brief("\"a\nb"), [(Quoted, "\"a"), (LineEnd, "\n"), (Word, "b")]);
        assert_eq!(brief("\"a\\\nb\" c"), [(Quoted, "\"a\\\nb\""), (Word, "c")]);
        assert_eq!(brief("R\"x(\n// \" )x\" a"), [(Word, "R"), (Quoted, "\"x(\n// \" )x\""), (Word, "a")]);
        assert_eq!(brief("R \"x\" (a)")[1], (Quoted, "\"x\""));
    }

    #[test]
    fn lines_that_go_on_are_joined_by_a_token() {
        assert_eq!(kinds("a\\\nb"), [(Word, "a"), (Joint, "\\\n"), (Word, "b")]);
        assert_eq!(kinds("a\\\r\nb\\c"), [(Word, "a"), (Joint, "\\\r\n"), (Word, "b"), (Mark, "\\"), (Word, "c")]);
    }

    #[test]
    fn preprocessor_lines_are_told_by_their_first_mark() {
        assert_eq!(directive(" \t#  define A 1 \r\n"), Some("define A 1"));
        assert_eq!(directive("#"), Some(""));
        assert_eq!([directive("a # b"), directive(""), directive("// # if")], [None; 3]);
        assert_eq!(brief("#if A"), [(Mark, "#"), (Word, "if"), (Word, "A")]);
    }

    #[test]
    fn words_and_marks_are_what_is_left_without_white_space_and_comments() {
        let found: Vec<&str> = words_and_marks("f(/* of */ \"x\", \\\n n); // end\n").collect();
        assert_eq!(found, ["f", "(", "\"x\"", ",", "n", ")", ";"]);
    }

    #[test]
    fn the_tokens_of_any_text_are_the_text() {
        let mut rng = test_generator(34);
        let parts = [
            "/", "*", "//", "/*", "*/", "\"", "'", "\\", "\n", "\r\n", " ", "R", "u8R", "1", "a", "é", "(", ")x", "#",
            "\u{2028}",
        ];
        for _ in 0..5_000 {
            let text: String = (0..rng.random_range(0..30)).map(|_| parts[rng.random_range(0..parts.len())]).collect();
            let mut end = 0;
            for token in tokens(&text) {
                assert!(token.at == end && !token.text.is_empty(), "{text:?}");
                end += token.text.len();
                assert_eq!(&text[token.at..end], token.text);
            }
            assert_eq!(end, text.len());
        }
    }
}
