//! Conversion of OpenCL C sources to CUDA C++ and HIP C++ by a prelude of macros.

/// Prelude before a source.
const PRELUDE: &str = include_str!("prelude.cuh");

/// Whether a source is OpenCL C, which [`as_cpp`] converts.
fn is_opencl(file: &str) -> bool {
    file.ends_with(".cl")
}

/// Definitions that a compiler gets as options: of sources that [`as_cpp`] does not define them in.
pub fn options(file: &str, defines: &[(String, String)]) -> Vec<String> {
    let own = if is_opencl(file) { &[] } else { defines };
    own.iter().map(|(name, value)| format!("-D{name}={value}")).collect()
}

/// Converts OpenCL C to CUDA C++ or HIP C++, with its definitions behind the prelude and what the compiler itself includes, whose names a
/// parameter may have (`T`, `U`); other sources are returned unchanged.
///
/// Macros suffice except for `__local`, which declares arrays in shared memory and qualifies pointers alike: declarations of arrays
/// are renamed in the text.
pub fn as_cpp(file: &str, source: &str, defines: &[(String, String)]) -> String {
    if !is_opencl(file) {
        return source.into();
    }
    let mut text = String::with_capacity(PRELUDE.len() + source.len() + 256);
    text += PRELUDE;
    defines.iter().for_each(|(name, value)| text += &format!("#define {name} {value}\n"));
    // messages count lines of the source
    text += "#line 1\n";
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
        let own = text.strip_prefix(PRELUDE).unwrap();
        assert_eq!(
            own,
            "#define T 4\n#line 1\n    SEQTUNE_SHARED float as[KWG * 4];\n    __local float *bs = 0;\nfloat f(__local const float *as);\n"
        );
        assert_eq!(as_cpp("k.cu", "__shared__ int x;", &[("T".into(), "4".into())]), "__shared__ int x;");
    }
}
