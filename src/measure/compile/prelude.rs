//! Sources as CUDA C++ and HIP C++: definitions, the words that clang lacks, and OpenCL C by a prelude of macros.

/// Words of HIP for clang alone, before every source.
const WORDS: &str = include_str!("hip_words.cuh");

/// Prelude before a source in OpenCL C.
const PRELUDE: &str = include_str!("prelude.cuh");

/// A source as CUDA C++ or HIP C++, with its definitions behind what a compiler itself includes and what is put before: a parameter may have a
/// name of theirs (`T`, `U`), which as an option would change their words.
///
/// OpenCL C is converted by macros. They suffice except for `__local`, which declares arrays in shared memory and qualifies pointers alike:
/// declarations of arrays are renamed in the text.
pub fn as_cpp(file: &str, source: &str, defines: &[(String, String)]) -> String {
    let is_opencl = file.ends_with(".cl");
    let mut text = String::with_capacity(WORDS.len() + PRELUDE.len() + source.len() + 256);
    text += WORDS;
    if is_opencl {
        text += PRELUDE;
    }
    defines.iter().for_each(|(name, value)| text += &format!("#define {name} {value}\n"));
    // messages count lines of the source
    text += "#line 1\n";
    if !is_opencl {
        return text + source;
    }
    for line in source.lines() {
        match line.trim_start().strip_prefix("__local ") {
            Some(rest) if is_array(rest) => text += &line.replacen("__local", "SEQTUNE_SHARED", 1),
            _ => text += line,
        }
        text.push('\n');
    }
    text
}

/// Checks whether `declaration` is `type name[…]`.
fn is_array(declaration: &str) -> bool {
    let name = declaration.split('[').next().unwrap_or_default();
    name.len() < declaration.len() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_local_memory_are_renamed_and_pointers_are_not() {
        let text = as_cpp(
            "k.cl",
            "    __local float as[KWG * 4];\n    __local float *bs = 0;\nfloat f(__local const float *as);\n",
            &[("T".into(), "4".into())],
        );
        let own = text.strip_prefix(WORDS).unwrap().strip_prefix(PRELUDE).unwrap();
        assert_eq!(
            own,
            "#define T 4\n#line 1\n    SEQTUNE_SHARED float as[KWG * 4];\n    __local float *bs = 0;\nfloat f(__local const float *as);\n"
        );
        let cuda = as_cpp("k.cu", "__shared__ int x;", &[("T".into(), "4".into())]);
        assert_eq!(cuda.strip_prefix(WORDS).unwrap(), "#define T 4\n#line 1\n__shared__ int x;");
    }
}
