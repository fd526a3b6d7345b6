//! Sweeps: interruption, failures, and real kernels on a real device.

use crate::common::{PATIENT, SIZES, configs_of_each, opencl_or_skip, run, seqtune, test_generator, text};
use rand::Rng;
use seqtune_data::recipe::Provenance;
use seqtune_data::{Dataset, InvalidityKind, Outcome, Record};
use seqtune_kernel::{Kernel, Problem};
use seqtune_measure::live_device;
use seqtune_measure::sweep::plan::{Choice, plan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

fn sweep_args<'a>(path: &'a str, extra: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", "gemm", "--device", "fake", "-o", path, "--problems"][..], &SIZES, extra].concat()
}

/// Problem, config and whether it worked: what an interrupted sweep must have in common with an undisturbed one. The fake
/// device's times are a function of the config, but how many samples are taken is not.
fn set(path: &Path) -> BTreeSet<String> {
    let key = |r: &Record| {
        let outcome = match &r.outcome {
            Outcome::Measured(m) => format!("{:.3}", m.samples_us[0]),
            Outcome::Invalid(i) => format!("{:?}", i.kind),
            Outcome::Tuned(_) => unreachable!("a sweep measures"),
        };
        format!("{} {} {outcome}", r.problem, r.config)
    };
    let dataset = Dataset::load(path).unwrap();
    let set: BTreeSet<String> = dataset.records.iter().map(key).collect();
    assert_eq!(set.len(), dataset.records.len(), "nothing was measured twice");
    set
}

#[test]
fn a_sweep_of_more_programs_than_are_kept_loses_no_config() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    // some 1,200 programs, a thousand of which are kept; problems of 210 configs do not end where that is reached
    let (_, err, code) = run(&sweep_args(path.to_str().unwrap(), &["--sample", "210", "--private-share", "1"]));
    assert_eq!(code, 0, "{err}");
    let records = Dataset::load(&path).unwrap().records;
    let failed: Vec<&Record> = records.iter().filter(|r| !matches!(r.outcome, Outcome::Measured(_))).collect();
    assert!(records.len() > 1_100 && failed.is_empty(), "{} records, failed: {failed:?}", records.len());
}

#[test]
fn a_sweep_killed_ten_times_ends_with_the_records_of_an_undisturbed_one() {
    let folder = tempfile::tempdir().unwrap();
    let (calm, killed) = (folder.path().join("calm.jsonl"), folder.path().join("killed.jsonl"));
    let extra = ["--sample", "30", "--seed", "3"];
    let (_, err, code) =
        text(seqtune(&sweep_args(calm.to_str().unwrap(), &extra)).env("SEQTUNE_FAKE", "slow=2").output().unwrap());
    assert_eq!(code, 0, "{err}");
    let mut rng = test_generator(6);
    let mut kills = 0;
    while kills < 10 {
        let mut child = seqtune(&sweep_args(killed.to_str().unwrap(), &extra))
            .env("SEQTUNE_FAKE", "slow=2")
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // as soon as so many more are written, of 180 in all
        let lines = || std::fs::read(&killed).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        let enough = lines() + rng.random_range(0..12);
        while lines() < enough && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills >= 5, "the sweep was over after {kills} kills: too fast for this test");
    let (out, err, code) =
        text(seqtune(&sweep_args(killed.to_str().unwrap(), &extra)).env("SEQTUNE_FAKE", "slow=2").output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("180 records"), "{out}");
    assert_eq!(set(&killed), set(&calm));
}

#[test]
fn a_journal_is_in_the_order_of_its_plan_whatever_is_finished_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.jsonl");
    let extra = ["--sample", "40", "--pool", "50", "--private-share", "0.1", "--seed", "5"];
    let (_, err, code) = run(&sweep_args(path.to_str().unwrap(), &extra));
    assert_eq!(code, 0, "{err}");
    let kernel = Kernel::open("gemm").unwrap();
    let problems: Vec<Problem> = SIZES.iter().map(|size| kernel.problem(size).unwrap()).collect();
    let choice = Choice::Sample { configs: 40, pool: 50, swept: &[], fresh: 0.1 };
    let planned = plan(&kernel, &live_device("fake").unwrap(), &problems, choice, 5).unwrap();
    let planned =
        planned.iter().flat_map(|planned| planned.configs.iter().map(move |config| (&planned.problem, config)));
    let planned: Vec<(String, String)> =
        planned.map(|(problem, config)| (kernel.show_problem(problem), kernel.show_config(config))).collect();
    let records = Dataset::load(&path).unwrap().records;
    assert!(records.iter().any(|r| matches!(&r.outcome, Outcome::Measured(m) if m.samples_us.len() < 8)), "hopeless");
    let written: Vec<(String, String)> =
        records.into_iter().map(|r| (r.problem.to_string(), r.config.to_string())).collect();
    assert_eq!(written, planned);
}

#[test]
fn configs_that_fail_hang_or_kill_their_process_are_booked_and_the_sweep_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faults.jsonl");
    let extra = ["--sample", "40", "--pool", "40", "--private-share", "0", "--timeout", "1s"];
    let args = sweep_args(path.to_str().unwrap(), &extra);
    let (out, err, code) = text(seqtune(&args).env("SEQTUNE_FAKE", "faults").output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("240 records"), "{out}");
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut details = BTreeSet::new();
    for record in Dataset::load(&path).unwrap().records {
        match record.outcome {
            Outcome::Measured(_) => *kinds.entry("measured".into()).or_default() += 1,
            Outcome::Invalid(i) => {
                *kinds.entry(format!("{:?}", i.kind)).or_default() += 1;
                details.insert(i.detail);
            }
            Outcome::Tuned(_) => unreachable!("a sweep measures"),
        }
    }
    for kind in [InvalidityKind::Compile, InvalidityKind::Runtime, InvalidityKind::Timeout, InvalidityKind::Correctness]
    {
        assert!(kinds.contains_key(&format!("{kind:?}")), "no {kind:?} in {kinds:?}");
    }
    assert!(kinds["measured"] > 100, "{kinds:?}");
    assert!(details.iter().any(|d| d.contains("signal: 6")), "a crash is named: {details:?}");
    assert!(details.iter().any(|d| d.contains("silent for 1.0 s")), "a hang is named: {details:?}");
    assert!(details.contains("injected, and the device is lost"), "a lost device is named: {details:?}");
    assert!(!details.contains("the device is lost"), "no other config is blamed for it: {details:?}");
}

#[test]
fn energy_is_metered_where_there_is_a_counter_and_its_absence_is_told_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = |name: &str, mode: &str| {
        let path = folder.path().join(name);
        let output = path.display().to_string();
        let args =
            ["sweep", "gemm", "--device", "fake", "-o", &output, "--sample", "2", "--energy", "--problems", SIZES[0]];
        let (out, err, code) = text(seqtune(&args).env("SEQTUNE_FAKE", mode).output().unwrap());
        assert_eq!(code, 0, "{out}{err}");
        (Dataset::load(&path).unwrap(), err)
    };
    let (metered, err) = sweep("with.jsonl", "energy,slow=1");
    let metered_by = &metered.header.provenance;
    assert!(matches!(metered_by, Provenance::Measured { energy: Some(_), .. }), "{metered_by:?}");
    assert!(!err.contains("no energy"), "{err}");
    for record in &metered.records {
        let Outcome::Measured(m) = &record.outcome else { panic!("{record:?}") };
        let energy = m.energy.unwrap();
        assert!(energy.joules > 0.0 && energy.idle_watts > 0.0 && energy.half_width >= 0.0, "{energy:?}");
    }
    let (without, err) = sweep("without.jsonl", "");
    assert!(err.contains("no energy was metered: the device is not one that uses energy"), "{err}");
    assert!(without.records.iter().all(|r| r.outcome.joules().is_none() && r.observed.unmetered.is_some()));
    assert!(without.records.iter().all(|r| r.outcome.time_us().is_some()), "times are kept");
}

#[test]
fn a_budget_stops_a_sweep_and_the_same_command_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.jsonl");
    let args = sweep_args(path.to_str().unwrap(), &["--sample", "30", "--budget", "0.3s"]);
    let (_, err, code) = text(seqtune(&args).env("SEQTUNE_FAKE", "slow=2").output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("the budget is spent at"), "{err}");
    let before = Dataset::load(&path).unwrap().records.len();
    assert!(before < 180);
    let args = sweep_args(path.to_str().unwrap(), &["--sample", "30", "--json"]);
    let (out, _, _) = text(seqtune(&args).env("SEQTUNE_FAKE", "slow=2").output().unwrap());
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["complete"], true);
    assert_eq!(report["found"].as_u64().unwrap() as usize, before);
    assert_eq!(Dataset::load(&path).unwrap().records.len(), 180);
}

#[test]
fn every_config_is_told_how_the_device_was_while_it_was_at_work() {
    let folder = tempfile::tempdir().unwrap();
    for (more, mode) in [(&["--sample", "20"][..], "hot"), (&["--sample", "2", "--energy"], "hot,energy")] {
        let path = folder.path().join(format!("{mode}.jsonl"));
        let args = ["sweep", "gemm", "--device", "fake", "-o", path.to_str().unwrap(), "--problems", SIZES[0]];
        let args = [&args[..], more].concat();
        let (_, err, code) = text(seqtune(&args).env("SEQTUNE_FAKE", mode).output().unwrap());
        assert_eq!(code, 0, "{err}");
        for record in Dataset::load(&path).unwrap().records {
            let conditions = record.observed.conditions.unwrap();
            assert_eq!((conditions.clock_mhz, &conditions.throttled[..]), (1_000, &["hot".to_string()][..]));
        }
    }
}

#[test]
fn a_problem_whose_reference_fails_is_told_and_the_others_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (path, packed) = (folder.path().join("failed.jsonl"), folder.path().join("failed.sqt"));
    // of the six problems the second
    let more = ["--sample", "9", "--pack", packed.to_str().unwrap(), "--json"];
    let args = sweep_args(path.to_str().unwrap(), &more);
    let fails = || text(seqtune(&args).env("SEQTUNE_FAKE", "refuse=700").output().unwrap());
    let (out, err, code) = fails();
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("M=100,N=7,K=3 could not be measured: the reference of kernel gemm: refused"), "{err}");
    assert!(!err.contains("the budget"), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(report["complete"] == false && report["stopped"] == false, "{out}");
    assert_eq!(report["failed"].as_array().unwrap().len(), 1, "{out}");
    let measured = Dataset::load(&packed).unwrap().records;
    assert!(measured.len() == 45 && measured.iter().all(|r| !r.problem.contains("M=100")));
    // once nothing but it is left there is nothing to go on with
    let (_, err, code) = fails();
    assert!(code == 1 && err.contains("M=100,N=7,K=3: the reference of kernel gemm: refused"), "{code} {err}");
    let (out, err, code) = text(seqtune(&args).env("SEQTUNE_FAKE", "").output().unwrap());
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(Dataset::load(&path).unwrap().records.len(), 54);
}

#[test]
fn a_sweep_whose_problems_all_fail_one_after_the_other_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lost.jsonl");
    let problems: Vec<String> = (1..20).map(|k| format!("M=64,N=64,K={k}")).collect();
    let mut args =
        vec!["sweep", "gemm", "--device", "fake", "--sample", "2", "-o", path.to_str().unwrap(), "--problems"];
    args.extend(["M=8,N=8,K=8"].into_iter().chain(problems.iter().map(String::as_str)));
    let (_, err, code) = text(seqtune(&args).env("SEQTUNE_FAKE", "refuse=4096").output().unwrap());
    assert!(code == 1 && err.contains("8 problems one after the other failed, the last: "), "{code} {err}");
    assert_eq!(Dataset::load(&path).unwrap().records.len(), 2);
}

#[test]
fn an_exhaustive_sweep_measures_every_legal_config() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.jsonl");
    let problem = "N=1,C=1,H=9,W=9,K=1,R=1,S=1,groups=1";
    let (count, _, _) = run(&["space", "conv2d", problem, "--device", "fake", "--json"]);
    let count = serde_json::from_str::<serde_json::Value>(&count).unwrap()["legal"].as_u64().unwrap();
    let (_, err, code) = run(&[
        "sweep",
        "conv2d",
        "--device",
        "fake",
        "--exhaustive",
        "--problems",
        problem,
        "-o",
        path.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(Dataset::load(&path).unwrap().records.len() as u64, count);
}

/// Sweeps a kernel on the live device and demands that every config agrees with the reference.
fn all_correct(kernel: &str, problems: &[&str]) {
    if !opencl_or_skip() {
        return;
    }
    let (configs, seed) = (configs_of_each(16), test_generator(11).random::<u32>().to_string());
    let sample = &configs.to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.jsonl");
    let tail =
        ["--sample", sample, "--pool", sample, "--private-share", "0", "--seed", &seed, "-o", path.to_str().unwrap()];
    let tail = [&tail[..], &PATIENT].concat();
    let (_, err, code) = run(&[&["sweep", kernel, "--problems"][..], problems, &tail].concat());
    assert_eq!(code, 0, "{err}");
    let dataset = Dataset::load(&path).unwrap();
    let wrong: Vec<&Record> = dataset.records.iter().filter(|r| r.outcome.time_us().is_none()).collect();
    assert!(wrong.is_empty(), "{} of {} failed, first {:?}", wrong.len(), dataset.records.len(), wrong[0]);
    assert_eq!(dataset.records.len(), problems.len() * configs);
}

#[test]
fn sampled_gemm_configs_agree_with_the_reference_on_odd_sizes_layouts_and_types() {
    // per layout and type: 1, primes, less than a tile, multiples of one, and more than one tile
    let problems = [
        "M=37,N=53,K=71",
        "M=1,N=131,K=17",
        "M=128,N=128,K=64",
        "M=97,N=1,K=130,transA=T",
        "M=129,N=67,K=33,transA=T,alpha=2,beta=0.5",
        "M=1,N=1,K=1,transB=T",
        "M=31,N=257,K=5,transB=T,beta=1",
        "M=64,N=96,K=128,transA=T,transB=T",
        "M=43,N=45,K=47,transA=T,transB=T,alpha=0.5,beta=2",
        "M=37,N=130,K=65,dtype=f16,beta=1",
    ];
    all_correct("gemm", &problems);
}

#[test]
fn sampled_conv2d_configs_agree_with_the_reference_on_strides_padding_dilation_and_groups() {
    let problems = [
        "N=2,C=6,H=13,W=17,K=10,R=3,S=5,pad_h=1,pad_w=2,stride_h=2,dilation_w=2,groups=2",
        "N=1,C=16,H=16,W=16,K=32,R=3,S=3,pad_h=1,pad_w=1",
        "N=1,C=8,H=11,W=7,K=8,R=1,S=1",
        "N=3,C=4,H=5,W=5,K=4,R=5,S=5,pad_h=4,pad_w=4,groups=4",
        "N=1,C=7,H=9,W=23,K=13,R=2,S=3,stride_w=3,dtype=f16",
    ];
    all_correct("conv2d", &problems);
}

#[test]
fn a_kernel_that_writes_out_of_bounds_does_not_end_the_sweep() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("stray");
    std::fs::create_dir(&kernel).unwrap();
    std::fs::write(
        kernel.join("stray.cl"),
        "#ifndef FAR\n#define FAR 1 // stride\n#endif\n__kernel void stray(const int M, __global float *y) {\n  const int i = get_global_id(0);\n  y[(size_t)i * FAR] = i;\n}\n\
         __kernel void stray_reference(const int M, __global float *y) { y[get_global_id(0)] = get_global_id(0); }\n",
    )
    .unwrap();
    let toml = "name = 'stray'\nmeaning = 'writes where it should not'\n[[field]]\nname = 'M'\nkind = 'size'\nmin = 1\nmax = 4096\nmeaning = 'size'\n\
        [[parameter]]\nname = 'FAR'\nvalues = [1, 2, 100000000]\ndefault = 1\nmeaning = 'stride'\n\
        [program]\nfile = 'stray.cl'\nentry = 'stray'\nglobal = ['M']\nlocal = ['1']\n\
        [reference]\nfile = 'stray.cl'\nentry = 'stray_reference'\nglobal = ['M']\nlocal = []\n\
        [[argument]]\nname = 'M'\nkind = 'int'\nvalue = 'M'\n[[argument]]\nname = 'y'\nkind = 'out'\nlength = 'M'\nelement = '4'\n\
        [work]\nflops = 'M'\nbytes = '4 * M'\ntolerance = '0'\n";
    std::fs::write(kernel.join("kernel.toml"), toml).unwrap();
    let path = folder.path().join("stray.jsonl");
    let (_, err, code) = run(&[
        "sweep",
        kernel.to_str().unwrap(),
        "--exhaustive",
        "--problems",
        "M=64",
        "M=8",
        "-o",
        path.to_str().unwrap(),
        PATIENT[0],
        PATIENT[1],
    ]);
    assert_eq!(code, 0, "{err}");
    let outcomes: Vec<String> = Dataset::load(&path)
        .unwrap()
        .records
        .iter()
        .map(|r| match &r.outcome {
            Outcome::Measured(_) => format!("{} measured", r.config),
            Outcome::Invalid(i) => format!("{} {:?}", r.config, i.kind),
            Outcome::Tuned(_) => unreachable!("a sweep measures"),
        })
        .collect();
    for expected in ["FAR=1 measured", "FAR=2 Correctness", "FAR=100000000 Runtime"] {
        assert_eq!(outcomes.iter().filter(|o| *o == expected).count(), 2, "{expected} in {outcomes:?}");
    }
}

#[test]
fn a_kernel_whose_arguments_are_not_the_functions_is_told_so_and_the_sweep_fails() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("gemm");
    std::fs::create_dir(&kernel).unwrap();
    for entry in std::fs::read_dir(crate::common::root().join("kernels/gemm")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, kernel.join(path.file_name().unwrap())).unwrap();
    }
    let toml = std::fs::read_to_string(kernel.join("kernel.toml")).unwrap();
    let journal = folder.path().join("sweep.jsonl").display().to_string();
    let name = kernel.display().to_string();
    let sweep = ["sweep", &name, "--problems", "M=8,N=8,K=8", "--sample", "2", "-o", &journal, PATIENT[0], PATIENT[1]];
    // the first argument is gone
    let (begin, rest) = toml.split_once("[[argument]]").unwrap();
    let (_, rest) = rest.split_once("[[argument]]").unwrap();
    std::fs::write(kernel.join("kernel.toml"), format!("{begin}[[argument]]{rest}")).unwrap();
    let (out, err, code) = run(&sweep);
    let shown = format!("{out}{err}");
    assert!(code == 1 && shown.contains("kernel.toml states 7 arguments, the function takes 8"), "{code} {shown}");
    // a length that rests on a parameter
    let wrong = toml.replacen("length = \"", "length = \"MWG * ", 1);
    std::fs::write(kernel.join("kernel.toml"), wrong).unwrap();
    let (_, err, code) = run(&sweep);
    assert!(code == 2 && err.contains("names a parameter, which has no value there"), "{code} {err}");
}
