//! Address spaces of OpenCL C in CUDA C++ and HIP C++, where variables have one and pointers say none.
//!
//! In OpenCL C `__local float a[64];` declares a variable of local memory and `__local float *p;` a pointer to it. The prelude's macros drop the
//! words, which is right for pointers. Variables get a word of their own here; without one they would be each work-item's own, in silence.

use seqtune_kernel::Define;
use seqtune_kernel::c_tokens::{self, TokenKind};

/// Words of OpenCL C that may stand without their underscores, which attributes of CUDA C++ and HIP C++ are called.
const SHORT: [&str; 5] = ["kernel", "global", "local", "constant", "private"];

/// What a word that stands without them lacks.
const UNDERSCORES: &str = "__";

/// An address space.
struct Space {
    /// Its words, and macros that end with one.
    words: Vec<String>,
    /// What stands before its variables at file scope, and within functions.
    outside: &'static str,
    within: &'static str,
}

/// What follows a word of an address space.
#[derive(PartialEq)]
enum Follows {
    Variable,
    Pointer,
    /// The text ends before either is clear.
    Nothing,
}

/// A part of a source without comments, white space and what is in quotes, with the byte where it begins.
#[derive(Clone, Copy)]
enum Token<'a> {
    Word(usize, &'a str),
    Sign(char),
    LineEnd,
}

/// The source with the long forms of its words, and with a word before each variable that has an address space. A name of `defines` is no word:
/// a parameter may be called `local`.
pub fn with_words_of_variables(source: &str, defines: &[Define]) -> String {
    let is_short = |word: &str| SHORT.contains(&word) && !defines.iter().any(|define| define.name == word);
    let space = |name: &str, outside, within| {
        let short = Some(name.to_string()).filter(|name| is_short(name));
        Space { words: short.into_iter().chain([format!("__{name}")]).collect(), outside, within }
    };
    let mut spaces = [
        space("local", "SEQTUNE_SHARED ", "SEQTUNE_SHARED "),
        space("constant", "__constant__ ", ""),
        space("global", "__device__ ", ""),
    ];
    let tokens = tokens(source);
    let mut words: Vec<(usize, &'static str)> = Vec::new();
    // how many brackets and braces are open; as they were at each `#if`, where an `#else` begins again
    let (mut open, mut opened) = ((0i32, 0i32), Vec::new());
    let mut rest = &tokens[..];
    let mut begins = true;
    while let Some((first, behind)) = rest.split_first() {
        let is_directive = begins && matches!(first, Token::Sign('#'));
        begins = matches!(first, Token::LineEnd);
        rest = behind;
        if is_directive {
            let end = rest.iter().position(|token| matches!(token, Token::LineEnd)).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            rest = after;
            match line {
                [Token::Word(_, "if" | "ifdef" | "ifndef"), ..] => opened.push(open),
                [Token::Word(_, "else" | "elif"), ..] => open = opened.last().copied().unwrap_or(open),
                [Token::Word(_, "endif"), ..] => drop(opened.pop()),
                [Token::Word(_, "define"), Token::Word(_, name), body @ ..] => {
                    words.extend(of_macro(&mut spaces, &is_short, name, body));
                }
                _ => {}
            }
            continue;
        }
        match first {
            Token::Sign('(') => open.0 += 1,
            Token::Sign(')') => open.0 -= 1,
            Token::Sign('{') => open.1 += 1,
            Token::Sign('}') => open.1 -= 1,
            Token::Word(at, word) => {
                let space = spaces.iter().find(|space| space.words.iter().any(|name| name == word));
                let before = space.map_or("", |space| if open.1 == 0 { space.outside } else { space.within });
                if open.0 == 0 && !before.is_empty() && follows(rest) == Follows::Variable {
                    words.push((*at, before));
                }
                words.extend(is_short(word).then_some((*at, UNDERSCORES)));
            }
            _ => {}
        }
    }
    let (mut text, mut end) = (String::with_capacity(source.len() + 16 * words.len()), 0);
    for (at, word) in words {
        text += &source[end..at];
        text += word;
        end = at;
    }
    text + &source[end..]
}

/// The words of variables in the body of a macro. A macro whose body leaves open what follows becomes a word of its address space.
fn of_macro(
    spaces: &mut [Space],
    is_short: &dyn Fn(&str) -> bool,
    name: &str,
    body: &[Token],
) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (i, token) in body.iter().enumerate() {
        let Token::Word(at, word) = *token else { continue };
        if let Some(space) = spaces.iter_mut().find(|space| space.words.iter().any(|name| name == word)) {
            match follows(&body[i + 1..]) {
                Follows::Variable if !space.within.is_empty() => found.push((at, space.within)),
                Follows::Nothing => space.words.push(name.into()),
                Follows::Variable | Follows::Pointer => {}
            }
        }
        found.extend(is_short(word).then_some((at, UNDERSCORES)));
    }
    found
}

/// What these tokens say of the word before them: a pointer has a `*` before its declaration ends, or is a parameter.
fn follows(tokens: &[Token]) -> Follows {
    let mut open = 0;
    for token in tokens {
        match token {
            Token::Sign('*') => return Follows::Pointer,
            Token::Sign('(') => open += 1,
            Token::Sign(')') if open == 0 => return Follows::Pointer,
            Token::Sign(')') => open -= 1,
            Token::Sign('[' | ';' | '=' | ',') if open == 0 => return Follows::Variable,
            Token::Sign('{' | '}') => return Follows::Pointer,
            _ => {}
        }
    }
    Follows::Nothing
}

/// Words, marks and ends of lines of a source. A line that goes on behind a backslash does not end.
fn tokens(source: &str) -> Vec<Token<'_>> {
    c_tokens::tokens(source).filter_map(Token::new).collect()
}

impl<'a> Token<'a> {
    fn new(token: c_tokens::Token<'a>) -> Option<Token<'a>> {
        match token.kind {
            TokenKind::Word => Some(Token::Word(token.at, token.text)),
            TokenKind::Mark => token.text.chars().next().filter(|c| *c != '\\').map(Token::Sign),
            TokenKind::LineEnd => Some(Token::LineEnd),
            TokenKind::Quoted | TokenKind::Comment | TokenKind::Space | TokenKind::Joint => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_get_a_word_and_pointers_do_not() {
        let with_words_of_variables = |source: &str| super::with_words_of_variables(source, &[]);
        for (source, expected) in [
            ("{ __local float a[64]; }", "{ SEQTUNE_SHARED __local float a[64]; }"),
            ("{ __local float *p = a; }", "{ __local float *p = a; }"),
            ("{ __local float sum, a[4]; }", "{ SEQTUNE_SHARED __local float sum, a[4]; }"),
            ("{ volatile\tlocal\tfloat a[2 * N]; }", "{ volatile\tSEQTUNE_SHARED __local\tfloat a[2 * N]; }"),
            (
                "{ __local float __attribute__((aligned(16)))\na[4]; }",
                "{ SEQTUNE_SHARED __local float __attribute__((aligned(16)))\na[4]; }",
            ),
            ("{ __local float (*rows)[4] = 0; }", "{ __local float (*rows)[4] = 0; }"),
            (
                "void f(__local float *a, __local float b[]) { g((__local int *)a); }",
                "void f(__local float *a, __local float b[]) { g((__local int *)a); }",
            ),
            ("__constant float t[2] = {1, 2};", "__constant__ __constant float t[2] = {1, 2};"),
            ("{ __constant float t[2] = {1, 2}; }", "{ __constant float t[2] = {1, 2}; }"),
            ("__constant float *p;\nglobal int n = 1;", "__constant float *p;\n__device__ __global int n = 1;"),
            ("kernel void f(global int *a, private int b) {}", "__kernel void f(__global int *a, __private int b) {}"),
            (
                "// __local float a[4];\n/* local int b[4]; */ \"__local int c[4];\"",
                "// __local float a[4];\n/* local int b[4]; */ \"__local int c[4];\"",
            ),
            ("'\\'' '\\\\' ; __constant int a = 1;", "'\\'' '\\\\' ; __constant__ __constant int a = 1;"),
        ] {
            assert_eq!(with_words_of_variables(source), expected);
        }
    }

    #[test]
    fn macros_carry_an_address_space_to_where_they_are_used() {
        let with_words_of_variables = |source: &str| super::with_words_of_variables(source, &[]);
        let source = "#define SOURCE __local const \\\n  float\n#define TILE(n) __local float n[64]\n#define AT(p) (*(__local float *)(p))\n";
        let code = "void f(SOURCE *p) { SOURCE *q = p; SOURCE a[4]; TILE(b); AT(q) = 1; }";
        let expected = "void f(SOURCE *p) { SOURCE *q = p; SEQTUNE_SHARED SOURCE a[4]; TILE(b); AT(q) = 1; }";
        let macros = source.replace("TILE(n) __local", "TILE(n) SEQTUNE_SHARED __local");
        assert_eq!(with_words_of_variables(&format!("{source}{code}")), format!("{macros}{expected}"));
    }

    #[test]
    fn a_parameter_may_have_the_name_of_an_address_space() {
        let source = "{ if (local) x = local; __local float a[4]; }";
        let defines = [Define::new("local", "1")];
        assert_eq!(with_words_of_variables(source, &defines), source.replace("__local", "SEQTUNE_SHARED __local"));
    }

    #[test]
    fn alternatives_that_open_the_same_brace_count_once() {
        let source = "#if A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n}\n__constant int t = 1;";
        assert!(with_words_of_variables(source, &[]).ends_with("}\n__constant__ __constant int t = 1;"));
    }
}
