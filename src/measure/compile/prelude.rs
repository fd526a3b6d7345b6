//! Sources as CUDA C++ and HIP C++: definitions, the words that clang lacks, and OpenCL C by a prelude of macros.

use crate::compile::address_spaces::with_words_of_variables;
use seqtune_kernel::Define;
use seqtune_kernel::c_tokens::directive;

/// Words of HIP for clang alone, before every source.
const WORDS: &str = include_str!("hip_words.cuh");

/// What the headers of [`STANDARD`] declare.
const STANDARD_WORDS: &str = include_str!("standard_words.cuh");

/// Numbers by name, before every source.
const NUMBERS: &str = include_str!("number_words.cuh");

/// Headers that run-time compilers come without or refuse to read again: their `#include` lines are dropped.
const STANDARD: [&str; 11] = [
    "stdint.h",
    "cstdint",
    "stddef.h",
    "cstddef",
    "math.h",
    "cmath",
    "float.h",
    "cfloat",
    "cuda_runtime.h",
    "device_launch_parameters.h",
    "hip/hip_runtime.h",
];

/// Prelude before a source in OpenCL C.
const PRELUDE: &str = include_str!("prelude.cuh");

/// A source as CUDA C++ or HIP C++, with its definitions behind what a compiler itself includes and what is put before: a parameter may have a
/// name of theirs (`T`, `U`), which as an option would change their words.
///
/// OpenCL C is converted by macros, and by words before the variables of an address space.
pub fn as_cpp(file: &str, source: &str, defines: &[Define]) -> String {
    let is_opencl = file.ends_with(".cl");
    let mut text = String::with_capacity(WORDS.len() + NUMBERS.len() + PRELUDE.len() + source.len() + 256);
    text += WORDS;
    text += NUMBERS;
    if is_opencl {
        text += PRELUDE;
    }
    let plain = if is_opencl { None } else { without_standard_headers(source) };
    if plain.is_some() {
        text += STANDARD_WORDS;
    }
    defines.iter().for_each(|define| text += &define.line());
    // messages count lines of the source
    text += "#line 1\n";
    match plain {
        Some(plain) => text + &plain,
        None if is_opencl => text + &with_words_of_variables(source, defines),
        None => text + source,
    }
}

/// The source with blank lines for its includes of [`STANDARD`] headers; `None` where it has none.
fn without_standard_headers(source: &str) -> Option<String> {
    let is_standard = |line: &str| {
        let name = directive(line).and_then(|rest| rest.strip_prefix("include"));
        let name = name.and_then(|rest| rest.trim_start().strip_prefix('<')?.split_once('>'));
        name.is_some_and(|(name, _)| STANDARD.contains(&name.trim()))
    };
    source.lines().any(is_standard).then(|| {
        let lines = source.lines().map(|line| if is_standard(line) { "" } else { line });
        lines.collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_stand_before_the_source_and_behind_the_prelude() {
        let text = as_cpp(
            "k.cl",
            "    __local float as[KWG * 4];\n    __local float *bs = 0;\nfloat f(__local const float *as);\n",
            &[Define::new("T", "4")],
        );
        let own = text.strip_prefix(WORDS).unwrap().strip_prefix(NUMBERS).unwrap().strip_prefix(PRELUDE).unwrap();
        assert_eq!(
            own,
            "#define T 4\n#line 1\n    SEQTUNE_SHARED __local float as[KWG * 4];\n    __local float *bs = 0;\nfloat f(__local const float *as);\n"
        );
        let cuda = as_cpp("k.cu", "__shared__ int x;", &[Define::new("T", "4")]);
        assert_eq!(
            cuda.strip_prefix(WORDS).unwrap().strip_prefix(NUMBERS).unwrap(),
            "#define T 4\n#line 1\n__shared__ int x;"
        );
        let included = as_cpp("k.cu", "#include <mma.h>\n # include <cstdint> // of sizes\nint32_t x;", &[]);
        assert_eq!(
            included.strip_prefix(WORDS).unwrap().strip_prefix(NUMBERS).unwrap().strip_prefix(STANDARD_WORDS).unwrap(),
            "#line 1\n#include <mma.h>\n\nint32_t x;"
        );
    }
}
