//! One source for several compilers: what which of them reads.

use crate::c_tokens::directive;

/// The text that OpenCL compilers read of a source: without what stands between `#ifdef SEQTUNE_CPP` and its `#else` or `#endif`, and without
/// these lines. A source may so do things on CUDA and HIP that OpenCL C cannot say, and remain what it was elsewhere.
pub fn opencl_text(source: &str) -> String {
    // one for each conditional that is open: whether a branch of it is left out, `None` where it is none of ours
    let mut open: Vec<Option<bool>> = Vec::new();
    let mut text = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let is_ours = match directive(line) {
            Some("ifdef SEQTUNE_CPP") => {
                open.push(Some(true));
                true
            }
            Some(rest) if rest.starts_with("if") => {
                open.push(None);
                false
            }
            Some(rest) if rest.starts_with("else") => match open.last_mut() {
                Some(Some(left_out)) => {
                    *left_out = false;
                    true
                }
                _ => false,
            },
            // with a condition of its own it is one of those that are none of ours
            Some(rest) if rest.starts_with("elif") && open.last() == Some(&Some(true)) => {
                open.pop();
                open.push(None);
                false
            }
            Some(rest) if rest.starts_with("endif") => open.pop().flatten().is_some(),
            _ => false,
        };
        if !is_ours && !open.contains(&Some(true)) {
            text += line;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_cpp_alone_is_no_part_of_the_opencl_text() {
        let plain = "a\n#if X\nb\n#else\nc\n#endif\nlast";
        assert_eq!(opencl_text(plain), plain);
        let both = "a\n#ifdef SEQTUNE_CPP\nhere\n#if X\nhere\n#else\nhere\n#endif\n#else\nb\n# if Y\nc\n#endif\n#endif\nd\n#ifdef SEQTUNE_CPP\n#pragma x\n#endif\ne\n";
        assert_eq!(opencl_text(both), "a\nb\n# if Y\nc\n#endif\nd\ne\n");
        let more = "#ifdef SEQTUNE_CPP\r\nhere\r\n#elif X\r\nb\r\n#else // c\r\nc\r\n#endif // SEQTUNE_CPP\r\n";
        assert_eq!(opencl_text("#ifdef SEQTUNE_CPP\nhere\n#else // b\nb\n#endif // all\n"), "b\n");
        assert_eq!(opencl_text(more), "#elif X\r\nb\r\n#else // c\r\nc\r\n#endif // SEQTUNE_CPP\r\n");
    }
}
