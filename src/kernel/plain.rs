//! Texts without what changes nothing: comments and white space.

use crate::c_tokens::{TokenKind, is_of_word, length_of_quoted, tokens};

/// Lines that go on behind a backslash, in one.
fn join_lines(source: &str, between: &str) -> String {
    source.replace("\\\r\n", between).replace("\\\n", between)
}

/// The source with comments as spaces, texts in quotes empty, and continued lines in one: what is read of it without a compiler.
pub fn without_comments(source: &str) -> String {
    let source = join_lines(source, " ");
    let mut text = String::with_capacity(source.len());
    for token in tokens(&source) {
        match token.kind {
            TokenKind::Comment if token.text.starts_with("//") => {}
            TokenKind::Comment => text.push(' '),
            TokenKind::Quoted => text += "\"\"",
            _ => text += token.text,
        }
    }
    text
}

/// The source's lines with comments left out and texts in quotes empty; there are as many as before.
pub(crate) fn code_alone(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    for token in tokens(source) {
        match token.kind {
            TokenKind::Comment | TokenKind::Quoted => text.extend(token.text.chars().filter(|c| *c == '\n')),
            _ => text += token.text,
        }
    }
    text
}

/// A source in C, C++, OpenCL C or CUDA as its compiler reads it: without comments, white space only where it separates, directives
/// on lines of their own, texts in quotes as they are.
pub(crate) fn plain_c(source: &str) -> String {
    let source = join_lines(source, "");
    let mut plain = Plain { text: String::with_capacity(source.len()), ..Plain::default() };
    for token in tokens(&source) {
        match token.kind {
            TokenKind::Comment => plain.space = true,
            TokenKind::Quoted => {
                plain.separate('"');
                plain.text += token.text;
                plain.begun = true;
            }
            _ => token.text.chars().for_each(|c| plain.push(c)),
        }
    }
    // where a line stands changes nothing
    match plain.text.contains("#line ") {
        true => plain.text.split_inclusive('\n').filter(|line| !line.starts_with("#line ")).collect(),
        false => plain.text,
    }
}

/// A source that is written without what changes nothing.
#[derive(Default)]
struct Plain {
    text: String,
    /// White space or a comment came before.
    space: bool,
    /// Something of this line came before.
    begun: bool,
    /// The line is a directive, which begins there.
    directive: Option<usize>,
}

impl Plain {
    fn push(&mut self, c: char) {
        match c {
            '\n' => {
                if self.directive.take().is_some() {
                    self.text.push('\n');
                }
                (self.space, self.begun) = (true, false);
            }
            _ if c.is_whitespace() => self.space = true,
            '#' if !self.begun => {
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                (self.space, self.begun, self.directive) = (false, true, Some(self.text.len()));
                self.text.push('#');
            }
            _ => {
                self.separate(c);
                self.text.push(c);
                self.begun = true;
            }
        }
    }

    /// Writes the white space before `next`, where there was some that separates.
    fn separate(&mut self, next: char) {
        let Some(last) = self.text.chars().last().filter(|_| std::mem::take(&mut self.space)) else { return };
        // `#define F (x)` is another macro than `#define F(x)`
        let of_macro = next == '('
            && self.directive.is_some_and(|at| {
                let mut words = self.text[at..].split(' ');
                words.next() == Some("#define") && words.count() == 1
            });
        if last != '\n' && last != '#' && (of_macro || separates(last, next)) {
            self.text.push(' ');
        }
    }
}

/// Whether white space between two characters keeps them apart: words, and operators that would be another one together.
fn separates(last: char, next: char) -> bool {
    const OPERATORS: &str = "+-*/%<>=&|!^~.:#?";
    let is_word = |c: char| is_of_word(c) || c == '"' || c == '\'';
    is_word(last) && is_word(next) || OPERATORS.contains(last) && OPERATORS.contains(next)
}

/// An expression of `kernel.toml` without the white space that separates nothing.
pub(crate) fn plain_expr(text: &str) -> String {
    text.split_whitespace().fold(String::new(), |mut plain, part| {
        if plain.chars().last().zip(part.chars().next()).is_some_and(|(last, next)| separates(last, next)) {
            plain.push(' ');
        }
        plain + part
    })
}

/// A source of Python, or a file of TOML: without comments behind `#`, blank lines and white space at the ends of lines. Indentation stays.
fn plain_hash(source: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(source.len()), source);
    let end_line = |text: &mut String| {
        text.truncate(text.trim_end_matches([' ', '\t', '\r']).len());
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
    };
    while let Some(first) = rest.chars().next() {
        let triple = ["\"\"\"", "'''"].into_iter().find(|quotes| rest.starts_with(quotes));
        let length = match (first, triple) {
            ('#', _) => rest.find('\n').unwrap_or(rest.len()),
            ('\n', _) => {
                end_line(&mut text);
                1
            }
            (_, Some(quotes)) => {
                let length = rest[3..].find(quotes).map_or(rest.len(), |at| at + 6);
                text += &rest[..length];
                length
            }
            ('"' | '\'', None) => {
                let length = length_of_quoted(rest, first);
                text += &rest[..length];
                length
            }
            _ => {
                text.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    end_line(&mut text);
    text
}

/// Languages whose comments are those of C.
const LIKE_C: [&str; 15] =
    ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "cl", "clh", "cu", "cuh", "hip", "metal"];

/// A file's text without its comments and white space, by the end of its name; of other kinds of files as it is, but for the ends of its
/// lines.
pub(crate) fn plain(name: &str, text: &str) -> String {
    let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind).to_ascii_lowercase();
    match &*kind {
        kind if LIKE_C.contains(&kind) => plain_c(text),
        "py" | "toml" => plain_hash(text),
        _ => text.lines().map(|line| line.trim_end().to_string() + "\n").collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_white_space_of_c_change_nothing() {
        let one = "#define A 1\n#ifdef B\nint f(int a) {\n  return a+1;\n}\n#endif\n";
        let two = "/* a\n   page */ #  define   A \\\n  1 // one\n\n#ifdef B  /* why */\nint f ( int a )\n{ // begins\n\treturn a + 1 ; /* \" */ }\r\n  #endif // B\n";
        assert_eq!(plain_c(one), plain_c(two));
        assert_eq!(plain_c(one), "#define A 1\n#ifdef B\nint f(int a){return a+1;}\n#endif\n");
    }

    #[test]
    fn what_a_compiler_reads_otherwise_stays_apart() {
        let apart = [
            ("a = b + +c;", "a = b ++c;"),
            ("int x;", "intx;"),
            ("s = \"a // b\";", "s = \"a\";"),
            ("s = \"a  b\";", "s = \"a b\";"),
            ("s = \"a\\\" /* b\"; c(); /* */", "s = \"a\\\" /* b\"; d(); /* */"),
            ("c = '\"'; f(); // \"", "c = '\"'; g(); // \""),
            ("#define F (x)\n", "#define F(x)\n"),
            ("#if A\nb\n#endif\n", "#if A b\n#endif\n"),
            ("a / *p", "a /*p*/"),
            ("s = R\"x( // one )x\";", "s = R\"x( // two )x\";"),
            ("n = 1'000; f(); // '", "n = 1'000; g(); // '"),
            ("// a \\\nb();\nc();", "// a\nb();\nc();"),
        ];
        for (one, two) in apart {
            assert_ne!(plain_c(one), plain_c(two), "{one}");
        }
    }

    #[test]
    fn comments_of_python_and_toml_change_nothing_and_texts_stay() {
        let one = "def f(x):\n    return x  # doubled\n\n# the end\n";
        assert_eq!(plain("k.py", one), "def f(x):\n    return x\n");
        assert_ne!(plain("k.py", "if x:\n    a\n    b\n"), plain("k.py", "if x:\n    a\nb\n"));
        assert_ne!(plain("k.py", "s = '# a'\n"), plain("k.py", "s = '# b'\n"));
        assert_ne!(plain("k.py", "s = \"\"\"\n# a\n\"\"\"\n"), plain("k.py", "s = \"\"\"\n# b\n\"\"\"\n"));
        assert_eq!(plain("k.toml", "a = 1 # one\r\n"), plain("k.toml", "# two\na = 1\n"));
        assert_ne!(plain("run.sh", "# a\n"), plain("run.sh", "# b\n"), "a shell's comments may be a job's directives");
        assert_eq!(plain("run.sh", "a  \r\n"), plain("run.sh", "a\n"));
    }

    #[test]
    fn expressions_lose_the_white_space_that_separates_nothing() {
        assert_eq!(plain_expr(" A * B  <=\n lds_bytes and not ( C == 1)"), "A*B<=lds_bytes and not(C==1)");
        assert_ne!(plain_expr("A / / B"), plain_expr("A // B"));
    }

    #[test]
    fn texts_in_quotes_are_emptied_for_reading_without_a_compiler() {
        assert_eq!(without_comments("a /* b */ \"c // d\" \\\ne // f\ng"), "a   \"\"  e \ng");
    }
}
