//! Text from outside is shown and not obeyed: no control character, and none that hides or turns text, comes out of a name, a
//! message or a description, be it for a person or as JSON.

use crate::common::{run, seqtune, text, write};
use safetensors::tensor::Dtype;
use seqtune_kernel::spelling::is_hidden;
use seqtune_predict::model::Decoded;
use seqtune_predict::model::file_format::{decode, encode};
use serde_json::Value;
use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;

/// Clears the screen in two ways, turns text around, hides some, and begins a line of its own.
const HOSTILE: &str = "\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{e0041}\u{7}\r\nseqtune: all is well";

/// Refuses output that a terminal would obey, or that has a line of somebody else's.
fn assert_shown(what: &str, (out, err, _): &(String, String, i32)) {
    let obeyed = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
    assert!(!out.chars().chain(err.chars()).any(obeyed), "{what}: {out:?} {err:?}");
    assert!(!out.lines().chain(err.lines()).any(|line| line.starts_with("seqtune: all is well")), "{what}: {out}{err}");
}

#[test]
fn a_dataset_and_its_name_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("s.jsonl").display().to_string();
    let problems = ["--problems", "M=64,N=64,K=64"];
    let sweep = [&["sweep", "gemm", "--device", "fake", "--sample", "12", "-o", &journal][..], &problems].concat();
    assert_eq!(text(seqtune(&sweep).env("SEQTUNE_FAKE", "faults").output().unwrap()).2, 0);
    let mut lines: Vec<Value> =
        std::fs::read_to_string(&journal).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for key in ["command", "tool", "date"] {
        lines[0][key] = HOSTILE.into();
    }
    for key in ["vendor", "architecture", "source", "driver"] {
        lines[0]["device"][key] = HOSTILE.into();
    }
    for record in &mut lines[1..] {
        if let Some(failure) = record["outcome"].get_mut("Invalid") {
            failure["detail"] = HOSTILE.into();
        }
    }
    let changed: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // also the name of the file
    let named = folder.path().join(format!("{HOSTILE}.jsonl"));
    std::fs::write(&named, &changed).unwrap();
    std::fs::remove_file(&journal).unwrap();
    let (place, named) = (folder.path().display().to_string(), named.display().to_string());
    let output = folder.path().join("o.sqt").display().to_string();
    for words in [
        &["check", &named][..],
        &["check", &named, "--json"],
        &["sweep", "status", &place],
        &["sweep", "status", &place, "--json"],
        &["sweep", "merge", &named, "-o", &output],
        &["export", "dataset", &named, "-o", &output, "--overwrite"],
    ] {
        let said = run(words);
        assert_shown(words[0], &said);
        assert_eq!(said.2, 0, "{words:?}: {}", said.1);
        if words.contains(&"--json") {
            let found: Value = serde_json::from_str(said.0.lines().next().unwrap()).unwrap();
            assert!(found.to_string().contains("all is well"), "JSON keeps the text");
        }
    }
    // names that would be paths or orders are refused
    for (key, name) in [("kernel", "../../gemm"), ("kernel", HOSTILE)] {
        lines[0][key] = name.into();
        let changed: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let said = run(&["check", &write(folder.path(), "k.jsonl", changed.as_bytes())]);
        assert_shown("check", &said);
        assert!(said.2 == 2 && said.1.contains("is no kernel's name"), "{}", said.1);
    }
}

#[test]
fn a_model_and_a_device_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let Decoded { weights, trees, meta, .. } =
        decode(&std::fs::read("src/predict/toy/model/model.safetensors").unwrap()).unwrap();
    let mut description: Value = serde_json::from_str(&meta["seqtune"]).unwrap();
    let written = |description: &Value| {
        let meta = HashMap::from([("seqtune".to_string(), description.to_string())]);
        encode(&weights, &trees, &[], meta, Dtype::I8).unwrap()
    };
    for key in ["date", "tool", "command"] {
        description[key] = HOSTILE.into();
    }
    let model = write(folder.path(), "model.safetensors", &written(&description));
    for words in [&["check", &model][..], &["check", &model, "--json"]] {
        let said = run(words);
        assert_shown("check", &said);
        assert_eq!(said.2, 0, "{}", said.1);
    }
    let toy = ["--kernel", "src/predict/toy"];
    let output = folder.path().join("o.h").display().to_string();
    for name in ["A100 \u{1b}[2J", "A100 \u{202e}", "A100 \u{ad}"] {
        description["devices"][0]["name"] = name.into();
        let model = write(folder.path(), "model.safetensors", &written(&description));
        for words in [&["check", &model][..], &[&["predict", &model, "M=64"][..], &toy].concat()] {
            let said = run(words);
            assert_shown(words[0], &said);
            assert_eq!(said.2, 2, "{}", said.1);
        }
    }
    // what is to be seen, and would end a comment
    description["devices"][0]["name"] = "A100 */ int injected; // \\".into();
    let model = write(folder.path(), "model.safetensors", &written(&description));
    let words = [&["export", "header", &model, "M=64", "M=128", "--samples", "30", "-o", &output][..], &toy].concat();
    assert_eq!(run(&words).2, 0);
    let header = std::fs::read_to_string(output).unwrap();
    assert!(!header.contains("*/ int injected") && !header.contains("\\\n"), "{header}");
}

#[test]
fn what_a_program_prints_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = r#"
name = "loud"
meaning = "a program that clears the screen"
field = [{ name = "n", kind = "size", min = 1, max = 9, shape = true, meaning = "size" }]
parameter = [{ name = "A", values = [1, 2], default = 1, meaning = "what it does" }]
[run]
command = ["printf", "\\033[2J\\302\\233 {A} \\377\\001 wrong\\n"]
time = { pattern = "time: ([0-9.]+)", unit = "s" }
"#;
    write(folder.path(), "kernel.toml", kernel.as_bytes());
    let (place, journal) = (folder.path().display().to_string(), folder.path().join("j.jsonl").display().to_string());
    let said = run(&["sweep", &place, "--problems", "n=4", "--exhaustive", "-o", &journal]);
    assert_shown("sweep", &said);
    assert_eq!(said.2, 1, "{}{}", said.0, said.1);
    assert_shown("check", &run(&["check", &journal]));
}

#[test]
fn names_of_files_that_are_no_text_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsString::from_vec(b"\xff\x1b[2J.jsonl".to_vec());
    std::fs::write(folder.path().join(name), "x").unwrap();
    assert_shown("status", &run(&["sweep", "status", &folder.path().display().to_string()]));
}
