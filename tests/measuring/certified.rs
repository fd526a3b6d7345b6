//! `validate --certify`: a row has the predicted config only where a pair that is measured anew shows that it is faster than the default.

use crate::common::{opencl_or_skip, run};
use serde_json::Value;

#[test]
fn a_row_keeps_its_evidence_and_falls_back_to_the_default_without_it() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // small, so that eight pairs of each take seconds
    let problems = ["rows=64,columns=500", "rows=8,columns=64"];
    let ask = ["validate", "models/softmax-cpu", "softmax", problems[0], problems[1], "--device", "opencl:0"];
    let certify = |output: &str, more: &[&str]| {
        let output = path(output);
        run(&[&ask[..], &["--top", "2", "--no-confirm", "--certify", &output], more].concat())
    };
    let (_, err, code) = certify("first.json", &[]);
    assert!(code == 0 && err.contains(" of 2 rows are certified: "), "{err}");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path("first.json")).unwrap()).unwrap();
    assert!(file["kernel"] == "softmax" && file["model"].as_str().unwrap().len() == 16, "{file}");
    for row in file["rows"].as_array().unwrap() {
        let certified = row["certified"].as_bool().unwrap();
        assert_eq!(row["config"], row[if certified { "predicted" } else { "default" }], "{row}");
        if row["predicted"] == row["default"] {
            assert!(!certified && row["n"] == 0 && row["interval"].is_null(), "{row}");
            continue;
        }
        let [low, high] = [0, 1].map(|end| row["interval"][end].as_f64().unwrap());
        let difference = row["difference"].as_f64().unwrap();
        assert!(row["n"] == 8 && low <= difference && difference <= high && certified == (high < 0.0), "{row}");
    }
    let (_, err, code) = certify("first.json", &[]);
    assert!(code == 2 && err.contains("exists; name another file, or pass --overwrite"), "{err}");
    // the same configs once more
    let first = path("first.json");
    let (_, err, code) = certify("second.json", &["--certified", &first]);
    assert_eq!(code, 0, "{err}");
    let again: Value = serde_json::from_str(&std::fs::read_to_string(path("second.json")).unwrap()).unwrap();
    for (row, again) in file["rows"].as_array().unwrap().iter().zip(again["rows"].as_array().unwrap()) {
        assert!(row["certified"] == false || row["predicted"] == again["predicted"], "{row} {again}");
    }
    std::fs::write(path("note.json"), "{}").unwrap();
    let note = path("note.json");
    let (_, err, code) = certify("third.json", &["--certified", &note]);
    assert!(code == 2 && err.contains("is no file of certified rows"), "{err}");
    let (_, err, code) = certify("note.json", &["--overwrite"]);
    assert!(code == 2 && err.contains("is there and no file of certified rows"), "{err}");
    assert_eq!(std::fs::read_to_string(note).unwrap(), "{}");
}
