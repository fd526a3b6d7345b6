//! Evolving compiled code on PoCL: edits are legal, replay makes the same bytes, and what is wrong is refused.

#[path = "../common/mod.rs"]
mod common;

use common::{opencl_or_skip, root, run, test_generator};
use seqtune_evolve::edit::{Edit, Value};
use seqtune_evolve::llvm::{Library, Program, Proposer};
use seqtune_evolve::session::{Session, Subject, read_edits};
use seqtune_kernel::Kernel;
use seqtune_measure::backends::opencl::pocl_llvm;
use seqtune_measure::registry::live_device;
use seqtune_measure::worker::setup::Setup;
use std::time::Duration;

fn hotspot() -> String {
    root().join("tests/evolving/hotspot").display().to_string()
}

/// PoCL with the LLVM that is known.
fn pocl_or_skip() -> bool {
    if !opencl_or_skip() {
        return false;
    }
    let is_known = pocl_llvm() == Some(15);
    if !is_known {
        println!("skipped: code is edited with LLVM 15 alone; it takes Debian 12's PoCL (scripts/setup.sh opencl)");
    }
    is_known
}

/// Does something with the plain kernel on PoCL.
fn with_session<T>(act: impl FnOnce(&mut Session) -> T) -> T {
    let kernel = Kernel::open(&hotspot()).unwrap();
    let (device, config) = (live_device("opencl:0").unwrap(), kernel.default_config());
    let problems = [kernel.problem("rows=64,columns=64").unwrap()];
    let setup = Setup {
        seqtune: common::seqtune(&[]).get_program().into(),
        limit: Duration::from_secs(600),
        ..Setup::new(&kernel, &hotspot(), "opencl:0", None).unwrap()
    };
    let subject = Subject { kernel: &kernel, device: &device, config: &config, problems: &problems, most_error: None };
    act(&mut Session::new(subject, &setup).unwrap())
}

/// The bitcode of the plain kernel, as it is edited.
fn bitcode(library: &Library) -> Vec<u8> {
    let bitcode = with_session(|session| session.program().unwrap().bitcode());
    assert!(Program::read(library, &bitcode, "hotspot").unwrap().size() > 80);
    bitcode
}

#[test]
fn drawn_edits_are_legal_and_replay_makes_the_same_bytes() {
    if !pocl_or_skip() {
        return;
    }
    let library = Library::open(15).unwrap();
    let bitcode = bitcode(&library);
    let (mut rng, mut refused) = (test_generator(1), 0);
    for round in 0..250 {
        let mut program = Program::read(&library, &bitcode, "hotspot").unwrap();
        let promising = if round % 2 == 0 { 0.75 } else { 0.0 };
        let draws = (0..4).filter_map(|_| Proposer { promising }.propose(&mut program, &mut rng));
        let edits: Vec<_> = draws.collect();
        assert_eq!(edits.len(), 4, "round {round}");
        refused += usize::from(program.fault().is_some());
        let mut again = Program::read(&library, &bitcode, "hotspot").unwrap();
        let text = serde_json::to_string(&edits).unwrap();
        assert_eq!(again.apply_all(&serde_json::from_str::<Vec<_>>(&text).unwrap()), edits, "{text}");
        assert!(again.bitcode() == program.bitcode(), "{text}");
    }
    // of a thousand edits; intrinsics want constants that types do not tell
    assert!(refused <= 10, "{refused} of 250 programs are refused by LLVM's verifier");
}

#[test]
fn results_that_are_no_numbers_are_a_failure_like_others() {
    if !pocl_or_skip() {
        return;
    }
    let refused = with_session(|session| {
        let places = session.program().unwrap().places();
        let sum = places.iter().find(|place| place.text.contains(" fadd ")).unwrap().id;
        session.judge(&[Edit::Operand { at: sum, index: 1, to: Value::Real(f64::NAN.to_bits()) }])
    });
    let Err(e) = refused else { panic!("judged right") };
    assert!(e.to_string().contains("its results are off by inf of the largest"), "{e}");
}

#[test]
fn a_search_ends_with_edits_that_replay_or_says_that_there_are_none() {
    if !pocl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (kernel, output) = (hotspot(), folder.path().display().to_string());
    let words = [
        "evolve",
        &kernel,
        "rows=64,columns=64",
        "--device",
        "opencl:0",
        "--for",
        "15s",
        "--population",
        "8",
        "-o",
        &output,
    ];
    let (out, err, code) = run(&words);
    assert!(code == 0 && out.contains(" variants tried in "), "{out}{err}");
    assert!(folder.path().join("variants.jsonl").is_file());
    let edits = folder.path().join("edits.json");
    if !edits.is_file() {
        assert!(out.contains("no faster variant was found that is right"), "{out}{err}");
        return;
    }
    assert!(!read_edits(&edits).unwrap().edits.is_empty());
    let edits = edits.display().to_string();
    let (out, err, _) = run(&["evolve", &kernel, "--device", "opencl:0", "--replay", &edits]);
    assert!(out.contains("the same code, byte for byte"), "{out}{err}");
}

#[test]
fn wrong_input_is_refused_in_a_sentence() {
    if !pocl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (kernel, output) = (hotspot(), folder.path().display().to_string());
    let evolve = ["evolve", &kernel, "--device", "opencl:0", "-o", &output];
    let (_, err, code) = run(&[&evolve[..], &["rows=64,columns=64", "--config", "BX=7,BY=16"]].concat());
    assert!(code == 2 && err.contains("--config"), "{err}");
    let edits = folder.path().join("edits.json").display().to_string();
    std::fs::write(&edits, "{}").unwrap();
    let (_, err, code) = run(&[&evolve[..], &["rows=64,columns=64"]].concat());
    assert!(
        code == 2 && err.contains("has an edits.json and no variants.jsonl of a search; name another folder"),
        "{err}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
    let (_, err, code) = run(&["evolve", &kernel, "--device", "opencl:0", "--replay", &edits]);
    assert!(code == 2 && err.contains("is no file of edits"), "{err}");
}
