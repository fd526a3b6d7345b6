//! `export header`: what the command says and refuses. That headers answer in C++ as they do here is held in `src/choose/dispatch`.

use crate::common::{root, run};

#[test]
fn the_command_says_what_the_tree_loses_and_refuses_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let toy = root().join("src/predict/toy").display().to_string();
    let model = format!("{toy}/model");
    let output = folder.path().join("table.h").display().to_string();
    let export = |more: &[&str]| run(&[&["export", "header", &model, "--kernel", &toy, "-o", &output], more].concat());
    let (out, err, code) = export(&["M=100", "M=4000", "--samples", "60"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("2 fixed problems in a table, all others by a tree of"), "{out}");
    assert!(
        out.contains("the tree against the model, on 20 other problems (M 100 to 4000): the model's first choice in"),
        "{out}"
    );
    let text = std::fs::read_to_string(&output).unwrap();
    assert!(text.starts_with("// Made by seqtune") && text.lines().next().unwrap().ends_with(" only."), "{text}");
    assert!(
        text.contains("// The tree against the model, on 20 other random problems: it chooses as the model in "),
        "{text}"
    );
    let (_, err, code) = export(&["M=100"]);
    assert!(code == 2 && err.contains("exists; name another file, or pass --overwrite"), "{err}");
    let (out, err, code) = export(&["M=100", "--samples", "30", "--overwrite", "--device", "rtx4090"]);
    assert!(code == 0 && err.contains("the model never saw RTX 4090 (learned on "), "{err}");
    let first = std::fs::read_to_string(&output).unwrap().lines().next().unwrap().to_string();
    for text in [&out, &first] {
        assert!(text.contains("device RTX 4090, which the model never saw; learned on "), "{text}");
    }
    let (_, err, code) = export(&["M=100", "--samples", "30", "--overwrite", "--namespace", "choices_h200"]);
    assert!(code == 0 && std::fs::read_to_string(&output).unwrap().contains("namespace choices_h200 {"), "{err}");
    for (words, fault) in [
        (vec!["M=100", "--namespace", "int"], "a namespace is a name in C++"),
        (vec!["M=100", "--namespace", "a::b"], "a namespace is a name in C++"),
        (vec!["M=0"], "field `M`"),
        (vec!["M=100", "--range", "Q=1..9"], "`Q` is no size of kernel"),
        (vec!["M=100", "--range", "M=9..1"], "the first is at most the second"),
        (vec!["M=100", "--range", "M"], "write it as M=16..4096"),
        (vec!["nothing.txt"], "no such file"),
    ] {
        let (_, err, code) = export(&[&words[..], &["--overwrite"]].concat());
        assert!(code == 2 && err.contains(fault) && err.lines().count() == 1, "{words:?}: {err}");
    }
}
