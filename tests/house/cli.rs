//! The program as a user meets it: wrong input, help, and what is said of a space.

use crate::common::{run, seqtune, text};

#[test]
fn wrong_input_gets_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("list.txt"), "# sizes\nM=64,N=64,K=64\nM=64,N=64\n").unwrap();
    std::fs::write(path("bad.safetensors"), "not a model").unwrap();
    std::fs::write(path("bad.toml"), "[[device]]\nname = 3\n").unwrap();
    let cases: Vec<Vec<String>> = [
        "space gem M=1,N=1,K=1 --device H200",
        "space gemm M=1,N=1 --device H200",
        "space gemm M=1,N=1,K=1 --device H2000",
        "space gemm M=1,N=1,K=1 --device {bad.toml}",
        "space gemm M=64,N=64,K=64 --device H200 --check MWG=64",
        "sweep gemm --device fake --problems {list.txt} -o {out.jsonl}",
        "sweep gemm --device fake --problems {none.txt} -o {out.jsonl}",
        "sweep gemm --device opencl:99 --problems M=1,N=1,K=1 -o {out.jsonl}",
        "sweep gemm_tc --device fake --problems M=64,N=64,K=64 -o {out.jsonl}",
        "predict {model} gemm M=1,N=1,K=1",
        "predict {bad.safetensors} gemm M=1,N=1,K=1",
        "export dataset {none.jsonl} -o {out.sqt}",
        "export dataset datasets -o {out.sqt}",
        "sweep gemm --device fake --problems M=64,N=64,K=64 -o {out.jsonl} --pack {list.txt}",
        "sweep gemm --device fake --problems M=64,N=64,K=64 -o {out.jsonl} --pack {out.jsonl}",
        "sweep gemm --device fake --problems M=64,N=64,K=64 -o {out.jsonl} --sample 0",
        "export csv {list.txt} -o {list.txt} --overwrite",
        "predict models/gemm-cpu gemm M=1,N=1,K=1 --device epyc --objective energy",
        "evaluate model models/gemm-cpu datasets/gemm/cpu-skylake-2c.sqt --all-problems --device H200",
        "evaluate model models/gemm-cpu datasets/gemm/cpu-skylake-2c.sqt --all-problems --plot datasets",
    ]
    .iter()
    .map(|line| {
        let word = |w: &str| match w.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            Some(name) => path(name),
            None => w.to_string(),
        };
        line.split(' ').map(word).collect()
    })
    .collect();
    let mut sentences = String::new();
    for case in cases {
        let (out, err, code) = run(&case.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 2, "{case:?}: {out}{err}");
        assert_eq!(err.lines().count(), 1, "one sentence: {err}");
        let err = err.replace(&folder.path().display().to_string(), "DIR");
        // the list of live devices depends on the machine
        let err = if err.contains("opencl:99") { "no live device\n".into() } else { err };
        sentences += &err;
    }
    insta::assert_snapshot!(sentences);
    assert!(!folder.path().join("out.jsonl").exists(), "nothing is written for wrong input");
    assert!(std::fs::read_to_string(path("list.txt")).unwrap().starts_with("# sizes"), "nothing is replaced");
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_whole_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (_, err, code) = text(seqtune(&["devices", "--json"]).stdout(full).output().unwrap());
    assert!(code == 1 && err.contains("the answer is not whole"), "{code} {err}");
}

#[test]
fn the_verbs_and_their_options_are_documented() {
    let (out, _, code) = run(&["--help"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(out);
}

#[test]
fn a_space_is_shown_checked_listed_and_sampled() {
    let gemm = ["gemm", "M=512,N=512,K=512", "--device", "H200"];
    let (out, _, _) = run(&[&["space"][..], &gemm].concat());
    insta::assert_snapshot!(out);
    let (sample, _, _) = run(&[&["space"][..], &gemm, &["--sample", "3", "--seed", "5"]].concat());
    assert_eq!(sample.lines().count(), 3);
    for config in sample.lines() {
        let (out, _, code) = run(&[&["space"][..], &gemm, &["--check", config]].concat());
        assert_eq!((out.as_str(), code), ("legal\n", 0));
    }
    let broken =
        sample.lines().next().unwrap().replace("PAD=0", "PAD=4").replace("SA=1", "SA=0").replace("SB=1", "SB=0");
    let (out, err, code) = run(&[&["space"][..], &gemm, &["--check", &broken]].concat());
    assert_eq!(code, 2, "{out}{err}");
    let small = ["space", "conv2d", "N=1,C=1,H=9,W=9,K=1,R=1,S=1", "--device", "MI50"];
    let (json, _, _) = run(&[&small[..], &["--json"]].concat());
    let legal = serde_json::from_str::<serde_json::Value>(&json).unwrap()["legal"].as_u64().unwrap();
    let (list, _, _) = run(&[&small[..], &["--list"]].concat());
    assert_eq!(list.lines().count() as u64, legal);
}
