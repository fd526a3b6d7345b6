//! Text from outside, spelled for the place that it is written to: one function for each place, so that no name becomes code,
//! ends a comment, or moves a terminal's cursor.
//!
//! | place | function |
//! |---|---|
//! | one line for a person | [`line()`], and `quoted` and `printable` of [`error`](crate::error), which cut as well |
//! | an answer of several lines | [`lines`] |
//! | JSON for a terminal or a program | [`json`] |
//! | a string in TOML | [`toml()`] |
//! | a cell of a table in Markdown | [`cell`] |
//! | HTML, XML and SVG | [`markup`] |
//! | a name in C and C++ | [`c_name`], [`c_names`] |
//! | a comment, a string in C and C++ | [`c_comment`], [`c_string`] |

use std::collections::HashSet;
use std::sync::LazyLock;

/// A character that a terminal or an editor obeys or hides: controls, and what changes the direction of text or has no width.
pub fn is_hidden(c: char) -> bool {
    let ranges = [
        ('\u{ad}', '\u{ad}'),
        ('\u{34f}', '\u{34f}'),
        ('\u{61c}', '\u{61c}'),
        ('\u{115f}', '\u{1160}'),
        ('\u{17b4}', '\u{17b5}'),
        ('\u{180e}', '\u{180e}'),
        ('\u{200b}', '\u{200f}'),
        ('\u{2028}', '\u{202e}'),
        ('\u{2060}', '\u{206f}'),
        ('\u{3164}', '\u{3164}'),
        ('\u{feff}', '\u{feff}'),
        ('\u{ffa0}', '\u{ffa0}'),
        ('\u{fff0}', '\u{fffb}'),
        ('\u{1bca0}', '\u{1bca3}'),
        ('\u{1d173}', '\u{1d17a}'),
        ('\u{e0000}', '\u{e0fff}'),
    ];
    c.is_control() || ranges.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// A character as a person sees it: a hidden one as its escape.
pub(crate) fn visible(c: char) -> String {
    match c {
        _ if !is_hidden(c) => c.to_string(),
        _ if c.is_ascii() => c.escape_default().to_string(),
        _ => c.escape_unicode().to_string(),
    }
}

/// A text in one line: hidden characters, ends of lines among them, are escapes.
pub fn line(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// A text of several lines: hidden characters but ends of lines and tabs are escapes. What stands in one of the lines is spelled by
/// [`line()`] before, so that it makes no lines of its own.
pub fn lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c.to_string() } else { visible(c) }).collect()
}

/// JSON that has been written without line breaks, whose strings then show no hidden character: `\u009b` for one.
pub fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown += &format!("\\u{unit:04x}")),
            false => shown.push(c),
        }
    }
    shown
}

/// Text as a string of TOML, with its quotes.
pub fn toml(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_hidden(c) => format!("\\U{:08X}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// A cell of a table in Markdown, which a bar would end: in one line.
pub fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

/// Text as HTML, XML and SVG take it, also between quotes. Hidden characters, which XML takes in part only, are escapes.
pub fn markup(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".into(),
        '<' => "&lt;".into(),
        '>' => "&gt;".into(),
        '"' => "&quot;".into(),
        '\'' => "&#39;".into(),
        '\n' | '\t' => c.to_string(),
        c => visible(c),
    };
    text.chars().map(escape).collect()
}

/// Words that no name in C or C++ may be.
static WORDS_OF_C: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("words_of_c.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect()
});

/// A name in C and C++: letters, digits and `_`, with `v` before what begins otherwise than with a letter, and `_` behind a word of the
/// languages or a macro of their headers. None of these ends with `_`, so that the result is no such word.
pub fn c_name(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, 'v');
    }
    if WORDS_OF_C.contains(name.as_str()) {
        name.push('_');
    }
    name
}

/// Names in C and C++, each of its own and none of `taken`: what would be there twice is numbered.
pub fn c_names<'a>(texts: impl Iterator<Item = &'a str>, taken: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        let plain = c_name(text);
        let (mut wanted, mut number) = (plain.clone(), 2);
        while all.contains(&wanted) || taken.contains(&wanted) {
            wanted = c_name(&format!("{plain}{number}"));
            number += 1;
        }
        all.push(wanted);
    }
    all
}

/// Text in a comment of C and C++, `//` as well as `/* */`: it ends neither, continues no line and begins no comment within one.
pub fn c_comment(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // `??/` is a backslash in older C, and one at its end joins a line with the next
        let joins = matches!((shown.chars().next_back(), c), (Some('*'), '/') | (Some('/'), '*') | (Some('?'), '?'));
        if joins {
            shown.push(' ');
        }
        shown.push(if is_hidden(c) || c == '\\' { ' ' } else { c });
    }
    // the comment's own sign stands next to it
    if shown.ends_with(['*', '/']) {
        shown.push(' ');
    }
    shown
}

/// Text as a string of C and C++, with its quotes: what is not plain ASCII is written in octal, which takes three digits and no more.
pub fn c_string(text: &str) -> String {
    let byte = |b: u8| match b {
        b'"' | b'\\' => format!("\\{}", b as char),
        b'?' => "\\?".into(),
        b' '..=b'~' => (b as char).to_string(),
        b => format!("\\{b:03o}"),
    };
    format!("\"{}\"", text.bytes().map(byte).collect::<String>())
}

/// Text as a string of Python, with its quotes: what is not plain ASCII is written by its number.
pub fn python_string(text: &str) -> String {
    let character = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        c => format!("\\U{:08x}", c as u32),
    };
    format!("\"{}\"", text.chars().map(character).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_of_python_ends_where_it_ends_and_holds_no_hidden_character() {
        assert_eq!(python_string("a\"b\\\n\u{202e}é"), r#""a\"b\\\U0000000a\U0000202e\U000000e9""#);
    }
    use std::process::Command;

    const HOSTILE: [&str; 6] = [
        "a \u{1b}[2J\u{9b}31m b",
        "*/ int injected; /*",
        "end \\",
        "what ??/",
        "\"; int injected; \"",
        "\u{202e}tni\u{2066}\r\n#define M 1",
    ];

    #[test]
    fn no_hidden_character_reaches_a_person_or_a_program() {
        for text in HOSTILE {
            for shown in [line(text), lines(text), markup(text), cell(text), c_comment(text), c_string(text)] {
                assert!(!shown.chars().any(|c| is_hidden(c) && c != '\n'), "{shown:?}");
            }
            assert!(
                [line(text), cell(text), c_comment(text), c_string(text)].iter().all(|shown| !shown.contains('\n'))
            );
            let written: toml::Table = toml::from_str(&format!("text = {}", toml(text))).unwrap();
            assert_eq!(written["text"].as_str(), Some(text));
            let written = json(&serde_json::to_string(text).unwrap());
            assert!(!written.chars().any(is_hidden), "{written:?}");
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
        assert_eq!(json(&serde_json::to_string("\u{e0041}").unwrap()), "\"\\udb40\\udc41\"");
        assert_eq!(line("über \u{1b}[0m\u{ad}"), "über \\u{1b}[0m\\u{ad}");
        assert_eq!((lines("a\n\tb\r").as_str(), cell("a|b\n").as_str()), ("a\n\tb\\r", "a\\|b\\n"));
        assert_eq!(markup("<a b='&'>\""), "&lt;a b=&#39;&amp;&#39;&gt;&quot;");
    }

    #[test]
    fn names_are_those_of_c_and_each_its_own() {
        let texts = ["M", "int", "3x3", "a-b", "a_b", "default", "", "_", "EOF", "EOF_", "linux", "INT_MAX", "size_t"];
        let expected = [
            "M", "int_", "v3x3", "a_b", "a_b2", "default_", "v", "v_", "EOF_", "EOF_2", "linux_", "INT_MAX_", "size_t_",
        ];
        assert_eq!(c_names(texts.into_iter(), &[]), expected);
        assert_eq!(c_names(["Config", "Config"].into_iter(), &["Config".into()]), ["Config2", "Config3"]);
        // as users of exported headers know them
        assert!(
            ["M", "N", "MWG", "tile", "BLOCK_M", "dtype", "transA", "num_warps"]
                .iter()
                .all(|name| c_name(name) == *name)
        );
    }

    /// What a compiler says of a program; `None` where it is not here.
    fn compiled(folder: &std::path::Path, compiler: &str, flags: &[&str], file: &str) -> Option<std::process::Output> {
        match Command::new(compiler).args(flags).arg(file).current_dir(folder).output() {
            Ok(done) => Some(done),
            Err(_) => {
                println!("skipped: there is no {compiler} here; `apt-get install g++` brings it");
                None
            }
        }
    }

    const HEADERS: [&str; 30] = [
        "assert",
        "complex",
        "ctype",
        "dirent",
        "errno",
        "fcntl",
        "fenv",
        "float",
        "inttypes",
        "iso646",
        "limits",
        "locale",
        "math",
        "poll",
        "pthread",
        "setjmp",
        "signal",
        "stdarg",
        "stdbool",
        "stddef",
        "stdint",
        "stdio",
        "stdlib",
        "string",
        "sys/param",
        "tgmath",
        "time",
        "unistd",
        "wchar",
        "wctype",
    ];

    #[test]
    fn no_macro_of_the_headers_here_is_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let all: String = HEADERS.iter().map(|name| format!("#include <{name}.h>\n")).collect();
        std::fs::write(folder.path().join("all.c"), all).unwrap();
        for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
            let flags = ["-D_GNU_SOURCE", "-dM", "-E", "-x", language];
            let Some(done) = compiled(folder.path(), compiler, &flags, "all.c") else { continue };
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let text = String::from_utf8(done.stdout).unwrap();
            let macros = text.lines().filter_map(|line| line.split([' ', '(']).nth(1));
            let macros: HashSet<&str> = macros.filter(|name| !name.starts_with('_')).collect();
            assert!(macros.len() > 300, "{}", macros.len());
            let names: Vec<String> = macros.iter().map(|name| c_name(name)).collect();
            assert_eq!(names.iter().find(|name| macros.contains(name.as_str())), None);
        }
    }

    #[test]
    fn hostile_names_comments_and_strings_compile_as_c_and_as_cpp_and_say_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut program = String::from("#include <stdio.h>\n#include <string.h>\n");
        for text in HOSTILE {
            program += &format!("// {}\n/* {} */\n/*{}*/\n", c_comment(text), c_comment(text), c_comment(text));
        }
        let names = c_names(HOSTILE.into_iter().chain(["int", "EOF", "new", "this", "x", "x"]), &[]);
        let members: String = names.iter().map(|name| format!("    int {name};\n")).collect();
        program += &format!("struct all {{\n{members}}};\nint main(void) {{\n    int injected = 0;\n");
        for text in HOSTILE {
            let bytes: Vec<String> = text.bytes().map(|b| format!("(char){b}")).collect();
            program += &format!(
                "    {{ const char wanted[] = {{ {}, 0 }}; injected += strcmp({}, wanted) != 0; }}\n",
                bytes.join(", "),
                c_string(text)
            );
        }
        program += "    return injected;\n}\n";
        std::fs::write(folder.path().join("main.c"), &program).unwrap();
        for (compiler, standard, language) in [("cc", "-std=c11", "c"), ("c++", "-std=c++17", "c++")] {
            let flags = [standard, "-Wall", "-Wextra", "-Wno-narrowing", "-Werror", "-o", "main", "-x", language];
            let Some(done) = compiled(folder.path(), compiler, &flags, "main.c") else { continue };
            assert!(done.status.success(), "{}\n{program}", String::from_utf8_lossy(&done.stderr));
            assert!(Command::new(folder.path().join("main")).status().unwrap().success());
        }
    }
}
