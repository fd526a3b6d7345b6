//! Signatures: what functions take and return has names, not places in a tuple. And libraries show few names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Packages whose functions are read.
const PACKAGES: [&str; 10] =
    ["kernel", "predict", "data", "choose", "measure", "fit", "eval", "lab", "train", "devices"];

/// Names that a library shows at its root, at most.
const MOST_NAMES: usize = 24;

/// A function as its source declares it.
struct Function {
    name: String,
    is_public: bool,
    parameters: String,
    result: String,
}

/// Source files of a folder and those in it, without tests.
pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test =
            ["tests.rs", "scenarios.rs", "simulation.rs", "compiled.rs", "benches"].iter().any(|n| path.ends_with(n));
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && !is_test {
            found.push(path);
        }
    }
}

/// The code of a file without its tests, comments and texts.
pub fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let (mut left, mut code) = (text, String::new());
    while let Some(next) = left.chars().next() {
        let skipped = match next {
            '/' if left.starts_with("//") => left.find('\n').unwrap_or(left.len()),
            '"' => closed(left, 1, "\"", true),
            'r' if left.starts_with("r\"") && !code.ends_with(is_word) => closed(left, 2, "\"", false),
            'r' if left.starts_with("r#\"") && !code.ends_with(is_word) => closed(left, 3, "\"#", false),
            '\'' if left.starts_with("'\\") => 2 + closed(&left[2..], 1, "'", false),
            '\'' if left.chars().nth(2) == Some('\'') => left.char_indices().nth(3).map_or(left.len(), |(at, _)| at),
            _ => 0,
        };
        if skipped == 0 {
            code.push(next);
        } else if next != '/' {
            code.push_str("\"\"");
        }
        left = &left[skipped.max(next.len_utf8())..];
    }
    code
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of a text that begins `open` bytes long and ends with `end`.
fn closed(text: &str, open: usize, end: &str, escapes: bool) -> usize {
    let mut at = open;
    while at < text.len() && !text[at..].starts_with(end) {
        let wide = text[at..].chars().next().map_or(1, char::len_utf8);
        at += if escapes && text[at..].starts_with('\\') {
            1 + text[at + 1..].chars().next().unwrap().len_utf8()
        } else {
            wide
        };
    }
    at + end.len()
}

/// Length of the group that a text begins with, its brackets included.
fn group(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            '>' if text[..at].ends_with('-') || text[..at].ends_with('=') => {}
            ')' | ']' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// The functions that a text declares.
fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(is_word)) {
        let name: String = code[at + 3..].chars().take_while(|c| is_word(*c)).collect();
        let mut rest = &code[at + 3 + name.len()..];
        if rest.starts_with('<') {
            rest = &rest[group(rest)..];
        }
        if name.is_empty() || !rest.starts_with('(') {
            continue;
        }
        let (parameters, behind) = rest.split_at(group(rest));
        let mut end = 0;
        while !behind[end..].is_empty() && !behind[end..].starts_with(['{', ';']) {
            let is_group = behind[end..].starts_with(['(', '[', '<']);
            end += if is_group { group(&behind[end..]) } else { behind[end..].chars().next().unwrap().len_utf8() };
        }
        let result = behind[..end].split(" where").next().unwrap_or_default();
        let line = code[..at].rsplit('\n').next().unwrap_or_default();
        found.push(Function {
            name,
            is_public: line.trim_start().starts_with("pub "),
            parameters: parameters[1..parameters.len() - 1].into(),
            result: result.split_once("->").map_or(String::new(), |(_, result)| result.into()),
        });
    }
    found
}

/// Names that a text gives to types which hold a tuple.
fn aliases(code: &str) -> Vec<String> {
    let declared = code.match_indices("type ").filter(|(at, _)| !code[..*at].ends_with(is_word));
    let holder = |(at, word): (usize, &str)| {
        let (name, target) = code[at + word.len()..].split(';').next()?.split_once('=')?;
        holds_tuple(target).then(|| name.trim().chars().take_while(|c| is_word(*c)).collect())
    };
    declared.filter_map(holder).collect()
}

/// Whether a list of types or patterns holds a tuple: parentheses with a comma, which are no list of a function's parameters.
fn holds_tuple(types: &str) -> bool {
    let mut left = types;
    while let Some(at) = left.find('(') {
        let before = left[..at].trim_end();
        let word: String =
            before.chars().rev().take_while(|c| is_word(*c)).collect::<Vec<_>>().into_iter().rev().collect();
        let inner = &left[at + 1..at + group(&left[at..]) - 1];
        let is_called = !word.is_empty() && !["mut", "dyn", "ref", "impl", "in"].contains(&word.as_str());
        if !is_called && has_comma(inner) || holds_tuple(inner) {
            return true;
        }
        left = &left[at + 2 + inner.len()..];
    }
    false
}

/// Whether a comma stands outside of all groups.
fn has_comma(inner: &str) -> bool {
    let mut at = 0;
    while at < inner.len() {
        match inner[at..].chars().next() {
            Some(',') => return true,
            Some('(' | '[' | '<') => at += group(&inner[at..]),
            next => at += next.map_or(1, char::len_utf8),
        }
    }
    false
}

/// `file name` of what is found in the code of each file.
fn found_in_files(names: impl Fn(&str) -> Vec<String>) -> BTreeSet<String> {
    let mut files = Vec::new();
    PACKAGES.iter().for_each(|package| sources(&Path::new("src").join(package), &mut files));
    let mut found = BTreeSet::new();
    for file in files {
        let place = file.strip_prefix("src").unwrap().display().to_string();
        let code = code(&std::fs::read_to_string(&file).unwrap());
        found.extend(names(&code).iter().map(|name| format!("{place} {name}")));
    }
    found
}

/// `file function` of those whose signature has a tuple in a part of it.
fn with_tuples(part: impl Fn(&Function) -> bool) -> BTreeSet<String> {
    found_in_files(|code| functions(code).into_iter().filter(|f| part(f)).map(|f| f.name).collect())
}

fn check(found: BTreeSet<String>, list: &str, rule: &str) {
    let known: BTreeSet<String> = list.lines().filter(|line| !line.is_empty()).map(String::from).collect();
    let new: Vec<&String> = found.difference(&known).collect();
    assert!(new.is_empty(), "{rule}; give a structure with names to {new:#?}");
    let gone: Vec<&String> = known.difference(&found).collect();
    assert!(gone.is_empty(), "these are mended; take them from the list: {gone:#?}");
}

#[test]
fn no_function_takes_a_tuple_but_those_of_a_list_that_only_shrinks() {
    let found = with_tuples(|function| holds_tuple(&function.parameters));
    check(found, include_str!("tuple_parameters.txt"), "parameters have names");
}

#[test]
fn no_public_function_returns_a_tuple() {
    let found = with_tuples(|function| function.is_public && holds_tuple(&function.result));
    check(found, "", "results have names");
}

#[test]
fn no_type_names_a_tuple_but_those_of_a_list_that_only_shrinks() {
    check(found_in_files(aliases), include_str!("tuple_aliases.txt"), "parts have names");
}

#[test]
fn planted_tuples_are_found_and_calls_and_groups_are_none() {
    let planted = r#"
        pub fn a(x: (u8, u8)) {}
        fn b<T: Fn(u8, u8) -> (u8, u8)>(x: &[(String, T)], text: &str) -> Option<[u8; 2]> { "fn no(x: (u8, u8))" }
        fn c(Pair(x, y): Pair, f: &dyn Fn(u8, u8), g: Vec<fn(u8, u8)>) -> (u8, u8) { }
        // fn d(x: (u8, u8))
        pub(crate) fn e((a, b): (&A, &B)) -> &(dyn Any + Send) {}
        pub fn f(c: char) -> Result<(Vec<'_, u8>, u8)> where u8: From<u8> { match c { '"' => 1, '\'' => 2 } }
        type H<'a> = [(&'a u8, u8)];
        pub type I = dyn Fn(u8, u8) -> u8;
        impl Iterator for A { type Item = (); }
        pub fn g<'a>(it: impl Iterator<Item = (&'a u8, u8)>) -> ((), [(); 2]) {}
    "#;
    let found = functions(&code(planted));
    let names = |part: &dyn Fn(&Function) -> bool| -> String {
        found.iter().filter(|f| part(f)).map(|f| f.name.as_str()).collect::<Vec<_>>().concat()
    };
    assert_eq!(names(&|_| true), "abcefg");
    assert_eq!(names(&|f| holds_tuple(&f.parameters)), "abeg");
    assert_eq!(names(&|f| holds_tuple(&f.result)), "cfg");
    assert_eq!(names(&|f| f.is_public), "afg");
    assert_eq!(aliases(&code(planted)), ["H"]);
}

#[test]
fn libraries_show_few_names_and_no_module() {
    for package in ["kernel", "predict"] {
        let text = std::fs::read_to_string(Path::new("src").join(package).join("lib.rs")).unwrap();
        let mut names = 0;
        let mut is_hidden = false;
        for line in text.lines() {
            if line.starts_with("pub mod ") {
                assert!(is_hidden, "{package}: users see a module, {line}");
            }
            if let Some(tree) = line.strip_prefix("pub use ").filter(|_| !is_hidden) {
                names += tree.matches(',').count() + 1;
            }
            is_hidden = line == "#[doc(hidden)]";
        }
        assert!((10..=MOST_NAMES).contains(&names), "{package} shows {names} names");
    }
}
