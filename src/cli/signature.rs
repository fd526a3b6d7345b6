//! The arguments of a kernel function, read from OpenCL C and CUDA C++.

use seqtune_kernel::c_tokens::words_and_marks;
use seqtune_kernel::error::{Error, Result, input};
use seqtune_kernel::without_comments;

/// A kernel function.
pub struct Signature {
    /// Its name.
    pub entry: String,
    /// Its arguments in order.
    pub arguments: Vec<Argument>,
    /// Whether the preprocessor decides about some of them.
    pub is_conditional: bool,
}

/// An argument.
pub struct Argument {
    pub name: String,
    pub kind: Kind,
}

/// What an argument is; of a buffer with the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    In(usize),
    Out(usize),
    Int,
    Float,
}

impl Signature {
    /// How many kernel functions a source has.
    pub fn count(code: &str) -> usize {
        functions(&without_comments(code)).len()
    }

    /// Finds a kernel function by name, or the only one.
    ///
    /// # Errors
    /// [`Error::Input`] where there is none or several, or an argument is of a kind that kernel.toml has not.
    pub fn find(code: &str, entry: Option<&str>) -> Result<Signature> {
        let found = functions(&without_comments(code));
        let named = found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let chosen = match (entry, &found[..]) {
            (Some(entry), all) => all.iter().find(|(name, _)| name == entry),
            (None, [one]) => Some(one),
            (None, []) => {
                return input(
                    "it has no `kernel void NAME(…)` of OpenCL C and no `__global__ void NAME(…)` of CUDA C++",
                );
            }
            (None, _) => return input(format!("it has several kernels; name one of {named} by --entry")),
        };
        let Some((name, written)) = chosen else {
            return input(format!("it has no kernel `{}`; it has {named}", entry.unwrap_or_default()));
        };
        let arguments = written.split(',').map(str::trim).filter(|text| !text.is_empty()).map(argument);
        let arguments = arguments.collect::<Result<_>>()?;
        Ok(Signature { entry: name.clone(), arguments, is_conditional: written.contains('#') })
    }
}

fn argument(text: &str) -> Result<Argument> {
    let plain = text.replace('*', " * ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let unknown = || {
        Error::Input(format!(
            "argument `{text}`: buffers of float, half, int or uint, and numbers of int or float can be passed"
        ))
    };
    let has = |word: &str| words.contains(&word);
    let name = words.last().filter(|_| words.len() > 1).ok_or_else(unknown)?.to_string();
    let kind = if has("*") {
        let element = words.iter().find_map(|word| match word.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "float" | "int" | "uint" | "unsigned" => Some(4),
            "half" | "__half" | "short" | "ushort" => Some(2),
            _ => None,
        });
        let element = element.ok_or_else(unknown)?;
        if has("const") { Kind::In(element) } else { Kind::Out(element) }
    } else if has("float") {
        Kind::Float
    } else if has("int") || has("uint") || has("unsigned") {
        Kind::Int
    } else {
        return Err(unknown());
    };
    Ok(Argument { name, kind })
}

/// Name and arguments of each kernel function, in one pass.
fn functions(code: &str) -> Vec<(String, String)> {
    let (tokens, mut at, mut found) = (words_and_marks(code).collect::<Vec<_>>(), 0, Vec::new());
    while at < tokens.len() {
        at += 1;
        if !["kernel", "__kernel", "__global__"].contains(&tokens[at - 1]) {
            continue;
        }
        let mut words = Vec::new();
        // up to the bracket of the arguments; whatever else stands there begins no function
        while let Some(token) = tokens.get(at) {
            match *token {
                "__attribute__" | "__launch_bounds__" => at = behind_brackets(&tokens, at + 1),
                word if word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !word.ends_with("kernel") => {
                    words.push(word);
                    at += 1;
                }
                _ => break,
            }
        }
        if let (Some(&"("), Some(name), true) = (tokens.get(at), words.last(), words.contains(&"void")) {
            let end = behind_brackets(&tokens, at);
            found.push((name.to_string(), tokens[at + 1..(end - 1).max(at + 1)].join(" ")));
            at = end;
        }
    }
    found
}

/// The place behind the bracket that closes the one at `at`; `at` itself where none opens there.
fn behind_brackets(tokens: &[&str], at: usize) -> usize {
    let mut open = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match *token {
            "(" => open += 1,
            ")" => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return if i == at { at } else { i + 1 };
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_from_the_source() {
        let code = "// kernel void old(int n)\n__kernel /* of x */ void scale(const int n, __global const float* restrict x,\n  __global half *y, float a) { }";
        let found = Signature::find(code, None).unwrap();
        let kinds: Vec<(&str, Kind)> = found.arguments.iter().map(|a| (a.name.as_str(), a.kind)).collect();
        assert_eq!(kinds, [("n", Kind::Int), ("x", Kind::In(4)), ("y", Kind::Out(2)), ("a", Kind::Float)]);
        assert_eq!(found.entry, "scale");
        let sized = "__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void scale(__global float *y) { }";
        assert_eq!(Signature::find(sized, None).unwrap().entry, "scale");
        let cuda = "#include <cuda_fp16.h>\nextern \"C\" __global__ void __launch_bounds__(WG)\nhalve(const __half *__restrict__ x, unsigned int n,\n  float *y, unsigned m) {}\n__device__ void other(int n) {}";
        let found = Signature::find(cuda, None).unwrap();
        let kinds: Vec<(&str, Kind)> = found.arguments.iter().map(|a| (a.name.as_str(), a.kind)).collect();
        assert_eq!(kinds, [("x", Kind::In(2)), ("n", Kind::Int), ("y", Kind::Out(4)), ("m", Kind::Int)]);
        assert_eq!(found.entry, "halve");
        let odd = "__kernel void filter(__global float* kernel, const int n) {} typedef int kernel; kernel kernel void two(int n) {}";
        let names: Vec<String> = functions(odd).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["filter", "two"]);
        let two = "kernel void a(int n) {} kernel void b(int n) {}";
        assert!(Signature::find(two, None).err().unwrap().to_string().contains("one of a, b"));
        assert!(Signature::find("kernel void a(image2d_t x) {}", None).is_err());
    }

    #[test]
    fn a_source_of_a_million_words_is_read_in_one_pass() {
        let began = std::time::Instant::now();
        for word in ["kernel ", "kernel void f(", "__attribute__((x ", "kernel void __attribute__ f ", "( ", "x, "] {
            let code = word.repeat((4 << 20) / word.len());
            assert!(Signature::find(&code, None).is_err(), "{word}");
        }
        // of a reader that begins anew at each word it would be hours
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    }
}
