//! One OpenCL C source that holds the kernels of several configs.
//!
//! The source is repeated, each time under the definitions of one config, with all names that it declares at file scope renamed by macros.
//! What this reading of the source misses is declared twice, which no compiler accepts: a combined source compiles to the same kernels or
//! not at all.

use crate::compile::Job;
use seqtune_kernel::c_tokens::{directive, words_and_marks};
use seqtune_kernel::without_comments;
use std::collections::BTreeSet;

/// Combined source with the name of each job's kernel.
#[derive(Debug)]
pub struct Combined {
    /// Text of the source.
    pub source: String,
    /// Names of the kernel functions, in the order of the jobs.
    pub entries: Vec<String>,
}

/// Names in a source.
#[derive(Default, Debug)]
struct Names {
    /// Functions, types and variables at file scope.
    declared: BTreeSet<String>,
    /// Macros that the source defines.
    macros: BTreeSet<String>,
}

/// Combines jobs of one source; `None` where they are of several, or where the source includes files, declares enumerations, or has pragmas that
/// could reach beyond one config.
pub fn combine(jobs: &[&Job]) -> Option<Combined> {
    let first = jobs.first()?;
    let names = Names::from_source(first.source)?;
    let mut combined = Combined { source: String::new(), entries: Vec::new() };
    for (at, job) in jobs.iter().enumerate() {
        if (job.source, job.entry) != (first.source, first.entry) {
            return None;
        }
        let defined: BTreeSet<&String> = job.defines.iter().map(|define| &define.name).chain(&names.macros).collect();
        let renamed: Vec<&String> = names.declared.iter().filter(|name| !defined.contains(name)).collect();
        if !renamed.iter().any(|name| *name == job.entry) {
            return None;
        }
        let own = |name: &str| format!("{name}_of_config_{at}");
        let changed: Vec<&String> = defined.into_iter().chain(renamed.iter().copied()).collect();
        let text = &mut combined.source;
        changed.iter().for_each(|name| *text += &format!("#pragma push_macro(\"{name}\")\n"));
        job.defines.iter().for_each(|define| *text += &define.line());
        renamed.iter().for_each(|name| *text += &format!("#define {name} {}\n", own(name)));
        *text += &format!("{}\n", job.source);
        changed.iter().for_each(|name| *text += &format!("#pragma pop_macro(\"{name}\")\n"));
        combined.entries.push(own(job.entry));
    }
    Some(combined)
}

impl Names {
    /// Reads a source; `None` where it cannot be repeated.
    fn from_source(source: &str) -> Option<Names> {
        let (mut names, mut code) = (Names::default(), String::new());
        for line in without_comments(source).lines() {
            let Some(directive) = directive(line) else {
                code += line;
                code.push('\n');
                continue;
            };
            let mut words = words_and_marks(directive);
            match words.next() {
                Some("define" | "undef") => names.macros.extend(words.next().map(String::from)),
                Some("include") => return None,
                Some("pragma")
                    if !matches!((words.next(), words.next()), (Some("unroll"), _) | (_, Some("EXTENSION"))) =>
                {
                    return None;
                }
                _ => {}
            }
        }
        let (mut depth, mut last) = (0i32, "");
        for token in words_and_marks(&code) {
            // a declared name stands before its parameters, its length, its value or the end of its declaration, a structure's before its members
            let ends_name = matches!(token, "(" | "[" | "{" | "=" | "," | ";");
            if depth == 0 && last == "enum" {
                return None;
            }
            if depth == 0 && ends_name && is_name(last) {
                names.declared.insert(last.into());
            }
            match token {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            last = token;
        }
        Some(names)
    }
}

/// Whether a token can be the name of a declaration; two underscores begin the language's own words.
fn is_name(token: &str) -> bool {
    let begins = token.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins && !token.starts_with("__") && !matches!(token, "struct" | "union")
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqtune_kernel::Define;

    fn job<'a>(source: &'a str, defines: &'a [Define]) -> Job<'a> {
        Job { file: "k.cl", source, entry: "k", defines, group: vec![], dynamic_local_bytes: 0 }
    }

    #[test]
    fn names_at_file_scope_are_found_whatever_stands_around_them() {
        let source = r#"
// int a(); in a comment /* and so on
#ifndef N
#define N 4 \
    + 1
#endif
#define CAT(a, b) a##b
typedef CAT(float, N) vec; /* int b(); */
typedef struct { float x, y; } point;
struct pair { int c; };
__constant float table[2] = {1, 2}, other = 3;
static inline float *f(__global float *d, const int e) { char q = '"'; int g = 1; return d + g; }
__kernel __attribute__((reqd_work_group_size(N, 1, 1))) void k(__global vec *h)
{
#pragma unroll
    for (int i = 0; i < N; ++i) h[i] = f("(\"", i);
}
"#;
        let names = Names::from_source(source).unwrap();
        let expected = ["CAT", "f", "k", "other", "pair", "point", "table", "vec"];
        assert_eq!(names.declared.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(names.macros.iter().map(String::as_str).collect::<Vec<_>>(), ["CAT", "N"]);
    }

    #[test]
    fn what_could_reach_beyond_one_config_is_not_combined() {
        let whole = |text: &str| format!("{text}\n__kernel void k(__global int *a) {{ a[0] = N; }}");
        for text in ["#include \"other.h\"", "#pragma OPENCL FP_CONTRACT OFF", "enum { A, B };", "#define k other"] {
            assert!(combine(&[&job(&whole(text), &[]), &job(&whole(text), &[])]).is_none(), "{text}");
        }
        let text = whole("#pragma OPENCL EXTENSION cl_khr_fp16 : enable");
        let defines = [[Define::new("N", "1")], [Define::new("N", "2")]];
        let combined = combine(&[&job(&text, &defines[0]), &job(&text, &defines[1])]).unwrap();
        assert_eq!(combined.entries, ["k_of_config_0", "k_of_config_1"]);
        assert!(combine(&[&job(&text, &defines[0]), &job("__kernel void k() {}", &defines[1])]).is_none());
    }
}
