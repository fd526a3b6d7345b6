//! Programs that do what they should not: each is booked as what it was, and the sweep goes on.

use crate::common::{opencl_or_skip, root, seqtune, text};
use seqtune_data::{Dataset, InvalidityKind, Outcome};
use seqtune_kernel::{Config, Kernel};
use seqtune_measure::engine::Engine;
use seqtune_measure::registry::live_device;
use seqtune_measure::worker::setup::Setup;
use std::collections::BTreeMap;
use std::time::Duration;

/// The kernel calls Linux as x86-64 does.
fn lies_or_skip() -> bool {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("skipped: these programs call Linux as x86-64 does; it takes Linux on x86-64");
        return false;
    }
    opencl_or_skip()
}

#[test]
fn programs_that_hang_grab_print_fork_exit_or_are_right_at_times_are_booked_as_such() {
    if !lies_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("lies.jsonl");
    let kernel = root().join("tests/measuring/lying");
    let (kernel, path) = (kernel.to_str().unwrap(), journal.to_str().unwrap());
    let mut sweep = seqtune(&["sweep", kernel, "--exhaustive", "--problems", "M=64", "-o", path, "--timeout", "10s"]);
    // a worker that compiles these programs itself, where no cache has them, takes 0.23 GB for the first and more than 0.25 for all
    let (out, err, code) = text(sweep.env("SEQTUNE_WORKER_MEMORY", "0.5").output().unwrap());
    assert_eq!(code, 0, "{out}{err}");
    let records = Dataset::load(&journal).unwrap().records;
    let told = records.iter().map(|record| match &record.outcome {
        Outcome::Invalid(fault) => (record.config.to_string(), (Some(fault.kind), fault.detail.clone())),
        _ => (record.config.to_string(), (None, String::new())),
    });
    let told: BTreeMap<String, (Option<InvalidityKind>, String)> = told.collect();
    for (lie, kind, detail) in [
        (0, None, ""),
        (1, Some(InvalidityKind::Timeout), "silent for 10.0 s"),
        (2, Some(InvalidityKind::Correctness), "wrote behind the end of its output"),
        (3, Some(InvalidityKind::Runtime), "it took 0."),
        (4, Some(InvalidityKind::Timeout), "silent for 10.0 s"),
        (5, None, ""),
        (6, Some(InvalidityKind::Correctness), "right at first, but with input that has offsets: `y`: element 0 is 0"),
        (7, Some(InvalidityKind::Runtime), "its process ended: exit status: 0"),
        (8, Some(InvalidityKind::Correctness), "right at first, but with input that has offsets: `y`: element 0 is 0"),
        (9, None, ""),
        (10, None, ""),
        (12, Some(InvalidityKind::Correctness), "right at its first launch, wrong later: `y`: element 0 is 0"),
    ] {
        let found = &told[&format!("LIE={lie}")];
        assert!(found.0 == kind && found.1.contains(detail), "LIE={lie}: {found:?}");
    }
    // what forked is gone with its worker
    let left = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (line.contains(" worker ") && line.contains(kernel)).then_some(line)
    });
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn configs_that_are_wrong_with_other_data_or_at_odd_sizes_are_not_confirmed() {
    if !lies_or_skip() {
        return;
    }
    let folder = root().join("tests/measuring/lying").display().to_string();
    let kernel = Kernel::open(&folder).unwrap();
    let problem = kernel.problem("M=64").unwrap();
    let configs: Vec<Config> =
        [0, 8, 9, 11, 11, 11].iter().map(|lie| kernel.config(&format!("LIE={lie}")).unwrap()).collect();
    let program = seqtune(&[]).get_program().into();
    let device = live_device("live").unwrap();
    let setup = Setup {
        seqtune: program,
        kernel: folder,
        opened: kernel.clone(),
        device: "live".into(),
        limit: Duration::from_secs(600),
        memory: 4e9,
        program: None,
        environment: Vec::new(),
    };
    let faults = Engine::new(setup, 1).confirm(&kernel, &device, &problem, &configs).unwrap().faults;
    let told: Vec<String> = faults.into_iter().map(|fault| fault.map_or(String::new(), |fault| fault.detail)).collect();
    assert_eq!(told[0], "");
    assert!(told[1].starts_with("right at first, but with data of seed "), "{told:?}");
    // one launch of four is wrong: of the thirty of each all but surely one; of fifteen with other data, of one of the three configs
    assert!(told[3..].iter().all(|told| told.starts_with("right at first, but ")), "{told:?}");
    assert!(told[3..].iter().any(|told| told.starts_with("right at first, but with data of seed ")), "{told:?}");
    assert!(told[2].starts_with("right at first, but for ") && told[2].contains(" is 0, "), "{told:?}");
}
