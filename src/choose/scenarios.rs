//! What a caller sees: threads, files, changes and limits, on the toy kernel with times that the tests make up.

use crate::{Chooser, Given, Goal, Measured, Options, Pick, Point};
use seqtune_predict::{Device, Error, Kernel, Model, Objective, Problem};
use std::path::{Path, PathBuf};

fn toy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../predict/toy")
}

fn kernel() -> Kernel {
    Kernel::open(&toy().display().to_string()).unwrap()
}

fn device(driver: &str) -> Device {
    Device { driver: driver.into(), ..Device::find_described("A100").unwrap() }
}

/// Configs of the caller's: tile, expected microseconds and joules.
const GIVEN: [(&str, f64, f64); 3] =
    [("tile=32,width=4", 100.0, 9e-3), ("tile=16,width=4", 110.0, 4e-3), ("tile=64,width=4", 120.0, 6e-3)];

fn given(identity: &str, driver: &str, options: Options) -> Chooser {
    let points = |_: &Problem| {
        let kernel = kernel();
        let point = |(config, time_us, joules): &(&str, f64, f64)| Point {
            config: kernel.config(config).unwrap(),
            time_us: Some(*time_us),
            joules: Some(*joules),
        };
        GIVEN.iter().map(point).collect()
    };
    Chooser::new(&kernel(), &device(driver), Box::new(Given::new(identity, points)), options).unwrap()
}

fn tile(kernel: &Kernel, pick: &Pick) -> i64 {
    kernel.value(pick.config(), "tile").unwrap()
}

/// Calls with times by tile; the tiles that were chosen.
fn calls(chooser: &Chooser, problem: &str, count: usize, take: &dyn Fn(i64) -> (f64, Option<f64>)) -> Vec<i64> {
    let problem = chooser.kernel().problem(problem).unwrap();
    let call = |i: usize| {
        let pick = chooser.pick(&problem).unwrap();
        let tile = tile(chooser.kernel(), &pick);
        let (time_us, joules) = take(tile);
        // times that repeat to the last digit would be believed to have no noise
        let time_us = time_us * if i.is_multiple_of(2) { 1.02 } else { 0.98 };
        chooser.report(&pick, Measured { time_us, joules }).unwrap();
        tile
    };
    (0..count).map(call).collect()
}

/// Times of which the second config's is the least.
fn usual(tile: i64) -> (f64, Option<f64>) {
    (if tile == 16 { 60.0 } else { 100.0 }, None)
}

#[test]
fn a_problem_settles_on_the_best_config_and_says_what_it_knows() {
    let chooser = given("table 1", "CUDA 12", Options::default());
    let problem = chooser.kernel().problem("M=1000").unwrap();
    assert!(chooser.standing(&problem).is_none() && chooser.settled_config(&problem).is_none());
    let chosen = calls(&chooser, "M=1000", 60, &usual);
    assert_eq!(chosen[0], 32, "the first is the one that was expected to be the best");
    assert!(chosen[30..].iter().all(|tile| *tile == 16), "{chosen:?}");
    let standing = chooser.standing(&problem).unwrap();
    assert_eq!((standing.settled, standing.calls), (Some(1), 60));
    assert!((standing.configs[1].time_us - 60.0).abs() < 3.0 && standing.regret_bound > 0.0, "{standing:?}");
}

#[test]
fn a_model_s_configs_are_chosen_among_and_those_that_fail_are_left() {
    let kernel = kernel();
    let model = Model::load(&toy().join("model")).unwrap();
    let options = Options { top: 3, ..Options::default() };
    let chooser = Chooser::of_model(&kernel, &model, &device("CUDA 12"), options).unwrap();
    let problem = kernel.problem("M=1000").unwrap();
    let first = chooser.pick(&problem).unwrap();
    assert_eq!(kernel.show_config(first.config()), "tile=32,width=4");
    chooser.book_failure(&first);
    let second = chooser.pick(&problem).unwrap();
    assert_ne!(second.config(), first.config());
    assert!(chooser.failed_id(second.id()) && !chooser.failed_id(u64::MAX));
    chooser.book_failure(&chooser.pick(&problem).unwrap());
    assert!(matches!(chooser.pick(&problem), Err(Error::NoLegalConfig(_))));
}

#[test]
fn what_is_no_time_is_refused_and_options_are_checked() {
    let chooser = given("table 1", "CUDA 12", Options::default());
    let pick = chooser.pick(&chooser.kernel().problem("M=1000").unwrap()).unwrap();
    for time_us in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(chooser.report(&pick, Measured { time_us, joules: None }), Err(Error::Input(_))));
    }
    assert!(chooser.report(&pick, std::time::Duration::from_micros(100)).is_ok());
    assert!(chooser.report_id(pick.id(), Measured { time_us: 100.0, joules: Some(1.0) }).unwrap());
    assert!(chooser.set_goal(Goal { time_us: Some(f64::NAN), ..Goal::default() }).is_err());
    let wrong = [
        Options { top: 0, ..Options::default() },
        Options { setup_us: f64::NAN, ..Options::default() },
        Options { tolerance: 2.0, ..Options::default() },
        Options { spread: 0.0, ..Options::default() },
        Options { problems: 0, ..Options::default() },
    ];
    assert!(wrong.iter().all(|options| options.check().is_err()));
}

#[test]
fn the_choice_opens_again_where_times_change_and_other_problems_follow() {
    let chooser = given("table 1", "CUDA 12", Options::default());
    let problems = ["M=1000", "M=2000", "M=3000"];
    problems.iter().for_each(|problem| drop(calls(&chooser, problem, 60, &usual)));
    let settled = |problem: &str| chooser.settled_config(&chooser.kernel().problem(problem).unwrap()).is_some();
    assert!(problems.iter().all(|problem| settled(problem)));
    // other work: what was best is slowed down most
    let loaded = |tile: i64| (if tile == 16 { 200.0 } else { 150.0 }, None);
    let chosen = calls(&chooser, "M=2000", 60, &loaded);
    assert_eq!(chosen[0], 16);
    assert!(chosen[40..].iter().all(|tile| *tile != 16), "{chosen:?}");
    assert!(settled("M=1000"), "one problem may have its own reason");
    calls(&chooser, "M=3000", 60, &loaded);
    assert!(!settled("M=1000"), "two have one in common: the device is another");
    let chosen = calls(&chooser, "M=1000", 60, &loaded);
    assert!(chosen[40..].iter().all(|tile| *tile != 16), "{chosen:?}");
}

/// Times and joules of which each config has its own advantage.
fn metered(tile: i64) -> (f64, Option<f64>) {
    match tile {
        32 => (100.0, Some(9e-3)),
        16 => (200.0, Some(4e-3)),
        _ => (150.0, Some(6e-3)),
    }
}

#[test]
fn a_limit_that_drops_is_kept_from_the_next_call_on_by_what_is_known() {
    let chooser = given("table 1", "CUDA 12", Options::default());
    let fastest = calls(&chooser, "M=1000", 80, &metered);
    assert!(fastest[60..].iter().all(|tile| *tile == 32), "{fastest:?}");
    // 9 mJ in 100 us are 90 W, 6 mJ in 150 us are 40 W, 4 mJ in 200 us are 20 W
    chooser.set_goal(Goal { power_w: Some(50.0), ..Goal::default() }).unwrap();
    let chosen = calls(&chooser, "M=1000", 20, &metered);
    assert!(chosen.iter().all(|tile| *tile == 64), "{chosen:?}");
    chooser.set_goal(Goal { power_w: Some(25.0), ..Goal::default() }).unwrap();
    assert!(calls(&chooser, "M=1000", 20, &metered).iter().all(|tile| *tile == 16));
    chooser.set_goal(Goal { objective: Objective::Energy, time_us: Some(160.0), ..Goal::default() }).unwrap();
    assert!(calls(&chooser, "M=1000", 20, &metered).iter().all(|tile| *tile == 64));
    chooser.set_goal(Goal { objective: Objective::Energy, ..Goal::default() }).unwrap();
    assert!(calls(&chooser, "M=1000", 20, &metered).iter().all(|tile| *tile == 16));
    let within = |share| Goal { objective: Objective::Energy, within_time: Some(share), ..Goal::default() };
    chooser.set_goal(within(0.6)).unwrap();
    assert!(calls(&chooser, "M=1000", 20, &metered).iter().all(|tile| *tile == 64), "150 us are within 60 % of 100");
    chooser.set_goal(within(0.1)).unwrap();
    assert!(calls(&chooser, "M=1000", 20, &metered).iter().all(|tile| *tile == 32));
    assert!(chooser.set_goal(within(-0.1)).is_err() && chooser.set_goal(within(f64::NAN)).is_err());
    // a limit that nothing keeps: what breaks it least
    chooser.set_goal(Goal { time_us: Some(50.0), ..Goal::default() }).unwrap();
    assert!(calls(&chooser, "M=1000", 20, &metered).iter().all(|tile| *tile == 32));
}

#[test]
fn choices_are_remembered_and_forgotten_with_another_driver_or_source() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { memory: Some(folder.path().join("deep/choices.json")), ..Options::default() };
    let first = |identity: &str, driver: &str| calls(&given(identity, driver, options.clone()), "M=1000", 1, &usual);
    calls(&given("table 1", "CUDA 12", options.clone()), "M=1000", 60, &usual);
    assert_eq!(first("table 1", "CUDA 12"), [16], "settled from the first call on");
    // the same device through another API has its own choices
    assert_eq!(first("table 1", "OpenCL 3"), [32]);
    assert_eq!(first("table 1", "CUDA 12"), [16]);
    assert_eq!(first("table 1", "CUDA 13"), [32]);
    assert_eq!(first("table 1", "CUDA 12"), [32], "gone with the new driver");
    calls(&given("table 1", "CUDA 13", options.clone()), "M=1000", 60, &usual);
    assert_eq!(first("table 2", "CUDA 13"), [32]);
    let named = Options { driver: "CUDA 14".into(), ..options.clone() };
    calls(&given("table 2", "CUDA 13", named.clone()), "M=1000", 60, &usual);
    assert_eq!(
        calls(&given("table 2", "CUDA 15", named), "M=1000", 1, &usual),
        [16],
        "the driver that is named counts"
    );
}

#[test]
fn a_damaged_file_is_put_aside_with_a_word_and_choices_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("choices.json");
    let options = Options { memory: Some(path.clone()), ..Options::default() };
    calls(&given("table 1", "CUDA 12", options.clone()), "M=1000", 60, &usual);
    let whole = std::fs::read(&path).unwrap();
    let half = whole[..whole.len() / 2].to_vec();
    for damaged in [half, vec![0xff; 100], Vec::new()] {
        std::fs::write(&path, &damaged).unwrap();
        let chooser = given("table 1", "CUDA 12", options.clone());
        let warnings = chooser.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("choices start afresh"), "{warnings:?}");
        assert_eq!(calls(&chooser, "M=1000", 60, &usual)[0], 32);
        drop(chooser);
        // each under a name of its own
        let kept = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| std::fs::read(e.path()).unwrap());
        assert!(kept.into_iter().any(|bytes| bytes == damaged));
        assert_eq!(calls(&given("table 1", "CUDA 12", options.clone()), "M=1000", 1, &usual), [16]);
    }
    // of another version, which goes on writing it
    let other = String::from_utf8(whole).unwrap().replace("choices-1", "choices-9").into_bytes();
    std::fs::write(&path, &other).unwrap();
    let chooser = given("table 1", "CUDA 12", options.clone());
    assert!(chooser.warnings()[0].contains("another version writes it"));
    calls(&chooser, "M=1000", 60, &usual);
    assert!(chooser.save().unwrap_err().to_string().contains("name another file"));
    drop(chooser);
    assert_eq!(std::fs::read(&path).unwrap(), other);
    let unwritable = Options { memory: Some("/dev/null/choices".into()), ..Options::default() };
    let chooser = given("table 1", "CUDA 12", unwritable);
    calls(&chooser, "M=1000", 60, &usual);
    assert!(chooser.save().is_err(), "an error where it is asked for, and none in a call's way");
}

#[test]
fn a_file_of_somebody_else_stays_as_it_is_and_so_does_what_lies_where_one_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let options = Options { memory: Some(at("note.txt")), ..Options::default() };
    for note in ["remember the milk", "{\"format\": \"a note\"}", "[1, 2]", "1"] {
        std::fs::write(at("note.txt"), note).unwrap();
        let chooser = given("table 1", "CUDA 12", options.clone());
        assert!(chooser.warnings()[0].contains("no file of choices"));
        assert_eq!(calls(&chooser, "M=1000", 60, &usual)[0], 32, "it chooses all the same");
        assert!(chooser.save().unwrap_err().to_string().contains("stays as it is"));
        drop(chooser);
        assert_eq!(std::fs::read_to_string(at("note.txt")).unwrap(), note);
    }
    // damaged files of ours, beside notes under the names that they would be put aside as, and through a link
    std::fs::write(at("note.txt.damaged"), "another note").unwrap();
    std::os::unix::fs::symlink("nowhere", at("note.txt.damaged2")).unwrap();
    std::os::unix::fs::symlink(at("note.txt"), at("link")).unwrap();
    for memory in ["note.txt", "link"] {
        std::fs::write(at("note.txt"), "{\"format\":\"seqtune-choices-1\", \u{1b}[2J").unwrap();
        let chooser = given("table 1", "CUDA 12", Options { memory: Some(at(memory)), ..Options::default() });
        let warning = chooser.warnings().remove(0);
        assert!(warning.contains("start afresh") && !warning.contains('\u{1b}'), "{warning}");
        calls(&chooser, "M=1000", 60, &usual);
        chooser.save().unwrap();
    }
    assert_eq!(std::fs::read_to_string(at("note.txt.damaged")).unwrap(), "another note");
    assert!(at("note.txt.damaged2").is_symlink() && at("link").is_symlink());
    assert!(at("note.txt.damaged3").is_file() && at("note.txt.damaged4").is_file());
    // a lock that is a pipe is told, and nothing waits
    assert!(std::process::Command::new("mkfifo").arg(at("piped.lock")).status().unwrap().success());
    let chooser = given("table 1", "CUDA 12", Options { memory: Some(at("piped")), ..Options::default() });
    calls(&chooser, "M=1000", 60, &usual);
    assert!(chooser.save().is_err());
}

#[test]
fn what_several_processes_observe_adds_up() {
    const FILE: &str = "SEQTUNE_TEST_CHOICES";
    const SIZE: &str = "SEQTUNE_TEST_SIZE";
    if let (Some(path), Ok(size)) = (std::env::var_os(FILE), std::env::var(SIZE)) {
        let options = Options { memory: Some(path.into()), ..Options::default() };
        let chooser = given("table 1", "CUDA 12", options);
        for _ in 0..10 {
            calls(&chooser, &format!("M={size}"), 2, &usual);
            calls(&chooser, "M=1000", 2, &usual);
            chooser.save().unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("choices.json");
    let name = "scenarios::what_several_processes_observe_adds_up";
    // a problem of its own for each, and one that all have
    let child = |size: usize| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .args([name, "--exact"])
            .env(FILE, &path)
            .env(SIZE, size.to_string())
            .stdout(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let children: Vec<_> = [100, 200, 300, 400].map(child).into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let book: serde_json::Value = serde_json::from_str(&text).unwrap();
    let problems = &book["sections"][0]["problems"];
    assert_eq!(problems["M=1000"]["calls"], 80, "{text}");
    let total: u64 = problems.as_object().unwrap().values().map(|p| p["calls"].as_u64().unwrap()).sum();
    assert_eq!(total, 160);
}

#[test]
fn threads_share_a_chooser() {
    let chooser = given("table 1", "CUDA 12", Options { problems: 8, ..Options::default() });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let chooser = &chooser;
            scope.spawn(move || {
                for i in 0..200 {
                    calls(chooser, &format!("M={}", 1_000 + (i + thread) % 12), 2, &usual);
                }
            });
        }
    });
    let chosen = calls(&chooser, "M=1000", 60, &usual);
    assert!(chosen[30..].iter().all(|tile| *tile == 16), "{chosen:?}");
}

#[test]
fn a_model_whose_times_are_of_another_machine_is_corrected() {
    let kernel = kernel();
    let model = Model::load(&toy().join("model")).unwrap();
    let chooser = Chooser::of_model(&kernel, &model, &device(""), Options { top: 3, ..Options::default() }).unwrap();
    let problem = kernel.problem("M=1000").unwrap();
    for _ in 0..60 {
        let pick = chooser.pick(&problem).unwrap();
        // a twentieth of what the model says, and the second config the fastest
        let time_us = if kernel.value(pick.config(), "width") == Some(2) { 40.0 } else { 50.0 };
        chooser.report(&pick, Measured { time_us, joules: None }).unwrap();
    }
    assert_eq!(kernel.value(&chooser.settled_config(&problem).unwrap(), "width"), Some(2));
}
