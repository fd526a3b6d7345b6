//! The arguments of a kernel function, read from OpenCL C.

use seqtune_predict::error::{Error, Result, input};
use seqtune_predict::kernel::without_comments;

/// A kernel function.
pub struct Signature {
    /// Its name.
    pub entry: String,
    /// Its arguments in order.
    pub arguments: Vec<Argument>,
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
    /// Finds a kernel function by name, or the only one.
    ///
    /// # Errors
    /// [`Error::Input`] where there is none or several, or an argument is of a kind that kernel.toml has not.
    pub fn find(code: &str, entry: Option<&str>) -> Result<Signature> {
        let code = without_comments(code);
        let mut found = Vec::new();
        let mut rest = code.as_str();
        while let Some(at) = rest.find("kernel") {
            let begins_word = !rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let behind = &rest[at + "kernel".len()..];
            rest = behind;
            let is_word = begins_word && behind.starts_with(char::is_whitespace);
            if !is_word {
                continue;
            }
            let declared = without_attributes(behind);
            let Some((head, after)) = declared.split_once('(') else { continue };
            let words: Vec<&str> = head.split_whitespace().collect();
            let (Some(name), true) = (words.last(), words.contains(&"void")) else { continue };
            let inside = after.split_once(')').map_or("", |(inside, _)| inside);
            found.push((name.to_string(), inside.to_string()));
        }
        let named = found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let chosen = match (entry, &found[..]) {
            (Some(entry), all) => all.iter().find(|(name, _)| name == entry),
            (None, [one]) => Some(one),
            (None, []) => return input("it has no `kernel void NAME(…)`"),
            (None, _) => return input(format!("it has several kernels; name one of {named} by --entry")),
        };
        let Some((name, inside)) = chosen else {
            return input(format!("it has no kernel `{}`; it has {named}", entry.unwrap_or_default()));
        };
        let arguments = inside.split(',').map(str::trim).filter(|text| !text.is_empty()).map(argument);
        Ok(Signature { entry: name.clone(), arguments: arguments.collect::<Result<_>>()? })
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
            "half" | "short" | "ushort" => Some(2),
            _ => None,
        });
        let element = element.ok_or_else(unknown)?;
        if has("const") { Kind::In(element) } else { Kind::Out(element) }
    } else if has("float") {
        Kind::Float
    } else if has("int") || has("uint") {
        Kind::Int
    } else {
        return Err(unknown());
    };
    Ok(Argument { name, kind })
}

/// A declaration without `__attribute__((…))`, which may stand before its name.
fn without_attributes(declared: &str) -> String {
    let (mut made, mut rest) = (String::new(), declared);
    // those behind the declaration are of what follows
    while let Some(at) = rest.find("__attribute__").filter(|at| !rest[..*at].contains('{')) {
        made += &rest[..at];
        rest = &rest[at + "__attribute__".len()..];
        let mut open = 0;
        let end = rest.find(|c: char| {
            open += (c == '(') as i32 - (c == ')') as i32;
            c == ')' && open == 0
        });
        rest = end.map_or("", |end| &rest[end + 1..]);
    }
    made + rest
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
        let two = "kernel void a(int n) {} kernel void b(int n) {}";
        assert!(Signature::find(two, None).err().unwrap().to_string().contains("one of a, b"));
        assert!(Signature::find("kernel void a(image2d_t x) {}", None).is_err());
    }
}
