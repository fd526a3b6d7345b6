//! What docs/integrations/c.md shows compiles without a warning, and its programs run.

use crate::kit::{command, compile, out, root};

/// The fences of a language in a document.
fn fences(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let bodies = text.split(&opening).skip(1).filter_map(|rest| rest.split_once("\n```"));
    bodies.map(|(body, _)| body.to_string()).collect()
}

/// A whole program of what a document shows: a part is a function that is given a predictor, unless it makes one.
fn whole(shown: &str) -> String {
    if shown.contains("int main(") {
        return shown.to_string();
    }
    let given = if shown.contains("seqtune_open(") { "void" } else { "seqtune_predictor *predictor" };
    let call = if given == "void" {
        "    part();\n"
    } else {
        "    seqtune_predictor *predictor;\n    if (!seqtune_open(\"models/gemm-cpu\", \"gemm\", \"epyc\", &predictor)) part(predictor), seqtune_close(predictor);\n"
    };
    // the one that is about bytes declares no predictor
    let own = if shown.contains("seqtune_open_memory(") { "    seqtune_predictor *predictor;\n" } else { "" };
    let includes = "#include <math.h>\n#include <seqtune.h>\n#include <stdio.h>\n#include <string.h>\n";
    let given = if own.is_empty() { given } else { "void" };
    let call = if own.is_empty() { call } else { "    part();\n" };
    format!("{includes}static void part({given})\n{{\n{own}{shown}\n}}\nint main(void)\n{{\n{call}    return 0;\n}}\n")
}

#[test]
fn the_code_of_the_c_page_compiles_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let page = std::fs::read_to_string(root().join("docs/integrations/c.md")).unwrap();
    // what the programs write stays here
    std::os::unix::fs::symlink(root().join("models"), folder.path().join("models")).unwrap();
    let mut said = Vec::new();
    for (language, count) in [("c", 8), ("cpp", 1)] {
        let shown = fences(&page, language);
        assert_eq!(shown.len(), count, "{language}");
        for (at, shown) in shown.iter().enumerate() {
            let source = folder.path().join(format!("part{at}.{language}"));
            std::fs::write(&source, whole(shown)).unwrap();
            let program = source.with_extension("");
            if !compile(&source, &program, &[]) {
                return;
            }
            said.push(out(command(&program, &[]).current_dir(folder.path()).output().unwrap()));
        }
    }
    let [first, program, launches, fields, _, legality, choices, memory, cpp] = &said[..] else { panic!("{said:?}") };
    let stated = first.splitn(3, ',').take(2).collect::<Vec<_>>().join(",");
    assert!(page.contains(&format!("as `{stated},…`")), "the page states another config than {first}");
    assert!(program.contains(" us  MWG=") && program.lines().count() >= 3, "{program}");
    assert_eq!(launches.lines().count(), 4, "{launches}");
    assert_eq!(fields, "M, N, K, transA, transB, alpha, beta, dtype; transB is T\n");
    assert!(!legality.is_empty() && page.contains(legality.trim()), "the page states another reason than {legality}");
    assert_eq!(choices, "settled\n");
    assert!(memory.contains("the model in memory for gemm"), "{memory}");
    assert!(cpp.contains(" us: MWG is ") && cpp.ends_with("\n\nstill trying\n"), "{cpp:?}");
}
