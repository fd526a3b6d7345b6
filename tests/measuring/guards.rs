//! Kernels that are right on most data: each mistake is refused by the one guard that is made for it.

use crate::common::{PATIENT, opencl_or_skip, root, run};
use seqtune_data::{Dataset, InvalidityKind, Outcome};
use seqtune_kernel::{Config, Kernel};
use seqtune_measure::engine::Engine;
use seqtune_measure::registry::live_device;
use seqtune_measure::worker::setup::Setup;
use std::collections::BTreeMap;
use std::time::Duration;

const RACE: i64 = 4;
const PROBLEM: &str = "rows=64,columns=100,alpha=1";

fn careless() -> String {
    root().join("tests/measuring/careless").display().to_string()
}

/// The guard that refuses each mistake, as its words begin; none for the kernel without one.
fn guards(is_cpu: bool) -> Vec<(i64, &'static str)> {
    let all = [
        (0, ""),
        (1, "it accesses memory 0 bytes behind the end of argument `x`"),
        (2, "right at first, but with input that has o"),
        (3, "right at first, but for rows="),
        (RACE, "right at first, but with work-items in reversed order: `y`: element "),
        (5, "it accesses memory 4 bytes before the beginning of argument `x`"),
        (6, "right at first, but with input of zeros: `y`: element "),
        (7, "right at first, but with input of equal elements: `y`: element "),
    ];
    // without protected pages the NaN behind a buffer changes nothing that these read
    all.into_iter().filter(|(slip, _)| is_cpu || ![1, RACE, 5].contains(slip)).collect()
}

#[test]
fn each_mistake_is_refused_by_its_guard_when_a_config_is_confirmed() {
    if !opencl_or_skip() {
        return;
    }
    let kernel = Kernel::open(&careless()).unwrap();
    let (problem, device) = (kernel.problem(PROBLEM).unwrap(), live_device("opencl:0").unwrap());
    let guards = guards(device.limits.is_cpu == Some(1.0));
    let configs: Vec<Config> = guards.iter().map(|(slip, _)| kernel.config(&format!("SLIP={slip}")).unwrap()).collect();
    let setup = Setup {
        seqtune: crate::common::seqtune(&[]).get_program().into(),
        kernel: careless(),
        opened: kernel.clone(),
        device: "opencl:0".into(),
        limit: Duration::from_secs(600),
        memory: 4e9,
        program: None,
        environment: Vec::new(),
    };
    let confirmation = Engine::new(setup, 1).confirm(&kernel, &device, &problem, &configs).unwrap();
    for ((slip, words), fault) in std::iter::zip(guards, confirmation.faults) {
        let told = fault.map_or(String::new(), |fault| fault.detail);
        assert!(told.contains(words) && told.is_empty() == words.is_empty(), "SLIP={slip}: {told}");
    }
    let kinds = ["of seed 1", "reversed order", "of seed 2", "offsets", "outliers", "equal elements", "zeros"];
    for kind in kinds.into_iter().filter(|kind| device.limits.is_cpu == Some(1.0) || *kind != "reversed order") {
        assert!(confirmation.cases.iter().any(|case| case.contains(kind)), "{kind}: {:?}", confirmation.cases);
    }
    assert_eq!(confirmation.cases.iter().filter(|case| case.starts_with("for rows=")).count(), 3);
}

#[test]
fn a_sweep_refuses_what_reads_beyond_a_buffer_or_is_wrong_on_another_kind_of_input() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("careless.jsonl").display().to_string();
    // these have other data of all four kinds between them
    let problems = (60..68).flat_map(|rows| ["--problems".into(), format!("rows={rows},columns=100,alpha=1")]);
    let problems: Vec<String> = problems.collect();
    let words = ["sweep", &careless(), "--exhaustive", "--device", "opencl:0", "-o", &journal];
    let all: Vec<&str> = words.into_iter().chain(PATIENT).chain(problems.iter().map(String::as_str)).collect();
    let (out, err, code) = run(&all);
    assert_eq!(code, 0, "{out}{err}");
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in Dataset::load(journal.as_ref()).unwrap().records {
        let Outcome::Invalid(fault) = record.outcome else { continue };
        assert!(matches!(fault.kind, InvalidityKind::Correctness | InvalidityKind::Runtime), "{fault:?}");
        told.entry(record.config.to_string()).or_default().push(fault.detail);
    }
    let refused = |slip: i64, words: &str| {
        told.get(&format!("SLIP={slip}")).map_or(0, |all| all.iter().filter(|told| told.contains(words)).count())
    };
    let is_cpu = live_device("opencl:0").unwrap().limits.is_cpu == Some(1.0);
    for (slip, words) in guards(is_cpu) {
        match slip {
            // right, or wrong only for other factors or in another order, which a sweep does not try
            0 | 3 | RACE => assert!(!told.contains_key(&format!("SLIP={slip}")), "{told:?}"),
            // where no protected page follows at once, what lies between makes the comparison true
            1 => assert_eq!(refused(slip, ""), 8, "SLIP={slip}: {told:?}"),
            5 => assert_eq!(refused(slip, words), 8, "SLIP={slip}: {told:?}"),
            _ => assert!((1..8).contains(&refused(slip, words)), "SLIP={slip}: {told:?}"),
        }
    }
}

#[test]
fn check_launches_a_kernel_and_says_what_it_was_right_on() {
    if !opencl_or_skip() {
        return;
    }
    let careless = careless();
    let launch = ["check", &careless, "--device", "opencl:0", "--problem", PROBLEM];
    let (out, err, code) = run(&launch);
    assert!(code == 0 && out.contains("with input of zeros; for rows="), "{out}{err}");
    let (out, err, code) = run(&[&launch[..], &["--config", "SLIP=2"]].concat());
    assert!(code == 1 && out.is_empty(), "{out}{err}");
    assert!(
        err.contains("SLIP=2 is wrong for rows=64,columns=100: right at first, but with input that has o"),
        "{err}"
    );
    let (_, err, code) = run(&[&launch[..], &["--config", "SLIP=8"]].concat());
    assert!(code == 2 && err.contains("--config"), "{err}");
    let (_, err, code) = run(&["check", "models/gemm-cpu", "--device", "opencl:0"]);
    assert!(code == 2 && err.contains("models/gemm-cpu: is no kernel, and --device launches kernels alone"), "{err}");
}
