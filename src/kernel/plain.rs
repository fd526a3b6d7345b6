//! Texts without what changes nothing: comments and white space.

/// A part of a source in C, C++, OpenCL C or CUDA.
enum Piece<'a> {
    /// A character of the code.
    Code(char),
    /// A comment, with what begins and ends it.
    Comment(&'a str),
    /// A text in quotes, with them.
    Quoted(&'a str),
}

/// Gives the parts of a source whose continued lines are joined, in order.
fn pieces<'a>(source: &'a str, each: &mut dyn FnMut(Piece<'a>)) {
    let (mut rest, mut word) = (source, String::new());
    while let Some(first) = rest.chars().next() {
        let end_of = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at);
        // the apostrophe between digits of C++
        let in_number = first == '\'' && word.starts_with(|c: char| c.is_ascii_digit());
        let length = match first {
            '/' if rest.starts_with("//") => {
                let length = end_of("\n", 2);
                each(Piece::Comment(&rest[..length]));
                length
            }
            '/' if rest.starts_with("/*") => {
                let length = (end_of("*/", 2) + 2).min(rest.len());
                each(Piece::Comment(&rest[..length]));
                length
            }
            '"' | '\'' if !in_number => {
                let length = if first == '"' && is_raw(&word) { raw(rest) } else { length_of_quoted(rest, first) };
                each(Piece::Quoted(&rest[..length]));
                length
            }
            _ => {
                each(Piece::Code(first));
                first.len_utf8()
            }
        };
        match is_of_word(first) || in_number {
            true => word.push(first),
            false => word.clear(),
        }
        rest = &rest[length..];
    }
}

/// Lines that go on behind a backslash, in one.
fn joined(source: &str, between: &str) -> String {
    source.replace("\\\r\n", between).replace("\\\n", between)
}

/// Bytes of the text in quotes with which a text begins, its quotes included; without an end it ends with its line.
pub fn length_of_quoted(text: &str, quote: char) -> usize {
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
fn raw(text: &str) -> usize {
    let Some(open) = text.find('(') else { return text.len() };
    let end = format!("){}\"", &text[1..open]);
    text[open..].find(&end).map_or(text.len(), |at| open + at + end.len())
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The source with comments as spaces, texts in quotes empty, and continued lines in one: what is read of it without a compiler.
pub fn without_comments(source: &str) -> String {
    let source = joined(source, " ");
    let mut text = String::with_capacity(source.len());
    pieces(&source, &mut |piece| match piece {
        Piece::Code(c) => text.push(c),
        Piece::Comment(comment) if comment.starts_with("//") => {}
        Piece::Comment(_) => text.push(' '),
        Piece::Quoted(_) => text += "\"\"",
    });
    text
}

/// The source's lines with comments left out and texts in quotes empty; there are as many as before.
pub(crate) fn code_alone(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    pieces(source, &mut |piece| match piece {
        Piece::Code(c) => text.push(c),
        Piece::Comment(all) | Piece::Quoted(all) => text.extend(all.chars().filter(|c| *c == '\n')),
    });
    text
}

/// A source in C, C++, OpenCL C or CUDA as its compiler reads it: without comments, white space only where it separates, directives
/// on lines of their own, texts in quotes as they are.
pub(crate) fn plain_c(source: &str) -> String {
    let source = joined(source, "");
    let mut plain = Plain { text: String::with_capacity(source.len()), ..Plain::default() };
    pieces(&source, &mut |piece| match piece {
        Piece::Comment(_) => plain.space = true,
        Piece::Quoted(text) => {
            plain.separate('"');
            plain.text += text;
            plain.begun = true;
        }
        Piece::Code(c) => plain.push(c),
    });
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
