//! Why a program does not compile, out of a compiler's log.

use crate::compile::Job;

/// Characters of a reason at most.
const MOST: usize = 2_000;

/// Whether a line of a log says what is wrong: `k.cl:3:5: error: …` of clang, `k.cu(3): error: …` of NVRTC, `ptxas error   : …` of the assembler.
fn is_error(line: &str) -> bool {
    let mut after = line.match_indices("error").map(|(at, word)| line[at + word.len()..].trim_start());
    after.any(|rest| rest.starts_with(':') || rest.starts_with('#'))
}

/// A log from the first line on that says what is wrong: without the files that include one another, which clang lists before, and
/// without warnings. All of it where no line does.
pub fn reason(log: &str) -> String {
    // the assembler's resources and its reason are parts of NVRTC's log, each of which ends with a zero byte
    let lines: Vec<&str> = log.lines().map(|line| line.trim_matches('\0')).collect();
    let from = lines.iter().position(|line| is_error(line)).unwrap_or(0);
    lines[from..].join("\n").trim().chars().take(MOST).collect()
}

/// Why a program lacks the kernel that its job names: it has others, whose names C++ has made longer where they are not `extern "C"`.
pub fn missing(names: &[&str], job: &Job) -> String {
    let (file, entry) = (job.file, job.entry);
    match names.iter().find(|name| name.contains(&format!("{}{entry}", entry.len()))) {
        _ if names.is_empty() => format!("{file} has no kernel, and `entry` is {entry}"),
        Some(_) => {
            format!("{file}: write `extern \"C\"` before `__global__ void {entry}`, so that its name stays as it is")
        }
        None => format!("{file} has no kernel {entry}, which `entry` names; it has {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_is_missing_is_told_with_those_that_are_there() {
        let job = Job { file: "k.cu", source: "", entry: "gemm", defines: &[], group: vec![], dynamic_local_bytes: 0 };
        assert_eq!(missing(&["a", "b"], &job), "k.cu has no kernel gemm, which `entry` names; it has a, b");
        assert!(missing(&["_Z4gemmiPKf"], &job).contains("write `extern \"C\"` before `__global__ void gemm`"));
        assert_eq!(missing(&[], &job), "k.cu has no kernel, and `entry` is gemm");
    }

    #[test]
    fn a_reason_begins_with_what_is_wrong() {
        let clang = "In file included from <built-in>:1:\nIn file included from hip.h:3:\nk.cl:7:9: error: use of undeclared identifier 'x'\n    x = 1;\n";
        assert_eq!(reason(clang), "k.cl:7:9: error: use of undeclared identifier 'x'\n    x = 1;");
        let ptxas = "ptxas info    : 0 bytes gmem\n\0ptxas error   : Entry function 'k' uses too much shared data\n";
        assert_eq!(reason(ptxas), "ptxas error   : Entry function 'k' uses too much shared data");
        assert!(is_error("k.cu(1): error #20: no") && !is_error("ptxas info    : Used 9 registers, error_of"));
        assert_eq!(reason("it has no words for it\n"), "it has no words for it");
        assert_eq!(reason(&"x".repeat(3_000)).len(), MOST);
    }
}
