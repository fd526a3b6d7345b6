//! The executors of GPUs on doubles of their drivers, with the real compilers: good runs, and every way to fail.

use crate::common::{PATIENT, build_double, seqtune, text};
use seqtune_data::{Dataset, Outcome};
use seqtune_kernel::threads::on_threads;
use seqtune_measure::backends::cuda::nvrtc::architectures;
use seqtune_measure::backends::hip;
use std::path::Path;
use std::sync::OnceLock;

/// A maker's API with its doubles.
struct Api {
    id: &'static str,
    libraries: &'static [(&'static str, &'static str)],
    /// What the driver says where a launch is refused, and where there is no device.
    refused: &'static str,
    none: &'static str,
}

impl Api {
    /// Without the colon, which would divide a path of libraries.
    fn folder(&self) -> &str {
        self.id.split(':').next().unwrap()
    }
}

const CUDA: Api = Api {
    id: "cuda:0",
    libraries: &[
        ("libcuda.c", "libcuda.so.1"),
        ("libnvidia-ml.c", "libnvidia-ml.so.1"),
        ("libcublas.c", "libcublas.so.13"),
    ],
    refused: "too many resources requested for launch",
    none: "Not available: CUDA: no CUDA-capable device is detected",
};
const HIP: Api = Api {
    id: "hip:0",
    // the newest names that are looked for, so that they stand before an installed ROCm
    libraries: &[
        ("libamdhip64.c", "libamdhip64.so.7"),
        ("libamd_smi.c", "libamd_smi.so.26"),
        ("librocm_smi64.c", "librocm_smi64.so.7"),
    ],
    refused: "out of resources",
    none: "Not available: HIP: no ROCm-capable device is detected",
};

/// The folder of all doubles, built once; `None`, with a word, where there is no C compiler.
fn doubles() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let built = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        for api in [&CUDA, &HIP] {
            // each API's in a folder of its own, so that a run sees only one
            let own = folder.path().join(api.folder());
            std::fs::create_dir(&own).unwrap();
            for (source, library) in api.libraries {
                if !build_double(source, &own.join(library)) {
                    return None;
                }
            }
        }
        Some(folder)
    });
    built.as_ref().map(|folder| folder.path())
}

/// The APIs whose compilers are here; a word for each other.
fn apis() -> Vec<&'static Api> {
    let mut apis = Vec::new();
    match architectures().is_empty() {
        true => println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it"),
        false => apis.push(&CUDA),
    }
    match hip::compiler("gfx90a") {
        Ok(_) => apis.push(&HIP),
        Err(e) => println!("skipped: {e}; `scripts/setup.sh amd` installs it"),
    }
    apis
}

/// Runs the program with the doubles of an API as its libraries.
fn with_double(api: &Api, args: &[&str], mode: &str) -> Option<(String, String, i32)> {
    let once = tempfile::tempdir().unwrap();
    let mut run = seqtune(args);
    run.env("LD_LIBRARY_PATH", doubles()?.join(api.folder()));
    run.env("DOUBLE_GPU", mode).env("DOUBLE_GPU_ONCE", once.path().join("failed"));
    if let Some((_, energy)) = mode.split_once("energy=") {
        run.env("DOUBLE_ENERGY", energy);
    }
    Some(text(run.output().unwrap()))
}

/// Sweeps gemm into `path`.
fn sweep(api: &Api, path: &Path, more: &[&str], mode: &str) -> Option<(String, String, i32)> {
    let args = ["sweep", "gemm", "--device", api.id, "-o", path.to_str().unwrap()];
    with_double(api, &[&args[..], more].concat(), mode)
}

#[test]
fn a_gpu_is_listed_with_its_limits() {
    for api in apis() {
        let Some((out, err, code)) = with_double(api, &["devices", "--json"], "") else { return };
        assert_eq!(code, 0, "{err}");
        let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
        let gpu = &answer["live"][0];
        let limit = |name: &str| gpu["limits"][name].as_f64().unwrap();
        assert_eq!(gpu["id"], api.id);
        // two operations a multiply-add at 1.5 GHz; 64 bits twice at 1 GHz
        assert_eq!(limit("bandwidth_gbs"), 16.0);
        if api.id == "cuda:0" {
            assert_eq!((&gpu["name"], &gpu["bus"]), (&"Double 1".into(), &"0000:1b:00.0".into()));
            assert_eq!((&gpu["architecture"], &gpu["driver"]), (&"sm_90".into(), &"CUDA 13.0".into()));
            assert_eq!(gpu["source"], "asked of the device through CUDA, driver 580.100.01");
            assert_eq!((limit("f32_gflops"), limit("compute_units")), (2.0 * 128.0 * 3.0, 2.0));
        } else {
            assert_eq!((&gpu["name"], &gpu["bus"]), (&"AMD Double 1".into(), &"0000:c3:00.0".into()));
            assert_eq!((&gpu["architecture"], &gpu["driver"]), (&"gfx90a".into(), &"HIP 6.2.41134".into()));
            assert_eq!((limit("f32_gflops"), limit("compute_units")), (4.0 * 64.0 * 3.0, 4.0));
            assert_eq!((limit("sub_group"), limit("group_registers")), (64.0, 131_072.0));
        }
    }
}

#[test]
fn a_sweep_measures_and_records_what_each_program_needs() {
    for api in apis() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let more = ["--sample", "12", "--problems", "M=40,N=30,K=20", "M=64,N=64,K=8,alpha=0.5,beta=2"];
        let Some((out, err, code)) = sweep(api, &path, &more, "") else { return };
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("24 measured now") && out.contains("0 failed"), "{out}");
        let dataset = Dataset::load(&path).unwrap();
        assert!(dataset.header.device.name.ends_with("Double 1"), "{:?}", dataset.header.device);
        for record in &dataset.records {
            assert!(matches!(&record.outcome, Outcome::Measured(m) if m.samples_us.len() >= 3), "{record:?}");
            let needs = record.observed.resources.unwrap();
            assert!(needs.registers >= 8 && needs.groups_per_unit >= 1 && needs.occupancy > 0, "{needs:?}");
        }
    }
}

#[test]
fn the_vendors_library_is_measured_once_for_each_problem_of_a_sweep() {
    for api in apis() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let more = ["--sample", "6", "--library", "--problems", "M=40,N=30,K=20", "M=64,N=64,K=8,alpha=0.5,beta=2"];
        let Some((out, err, code)) = sweep(api, &path, &more, "") else { return };
        if api.id != "cuda:0" {
            assert!(code == 3 && err.contains("--library: ") && err.lines().count() == 1, "{code} {out}{err}");
            continue;
        }
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("2 problems beside the vendor's library: the best found is "), "{out}");
        let with = |path: &Path| {
            let records = Dataset::load(path).unwrap().records;
            records.iter().filter(|r| r.observed.library_us.is_some()).map(|r| r.problem.clone()).collect::<Vec<_>>()
        };
        let first = with(&path);
        assert!(first.len() == 2 && first[0] != first[1], "{first:?}");
        // going on asks it no more; the packed form keeps it
        let more = [&["--sample", "9"], &more[2..]].concat();
        let (out, err, code) = sweep(api, &path, &more, "").unwrap();
        assert!(code == 0 && with(&path) == first, "{out}{err}");
        let packed = folder.path().join("sweep.sqt");
        let args = ["export", "dataset", path.to_str().unwrap(), "-o", packed.to_str().unwrap()];
        let (out, _, _) = with_double(api, &args, "").unwrap();
        assert!(out.contains("2 problems beside the vendor's library") && with(&packed) == first, "{out}");
    }
}

#[test]
fn configs_are_not_hopeless_because_the_vendors_library_is_faster() {
    for api in apis().into_iter().filter(|api| api.id == "cuda:0") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let more = ["--sample", "4", "--library", "--problems", "M=40,N=30,K=20"];
        let Some((out, err, code)) = sweep(api, &path, &more, "slow") else { return };
        assert_eq!(code, 0, "{out}{err}");
        let records = Dataset::load(&path).unwrap().records;
        let library_us = records.iter().find_map(|r| r.observed.library_us).unwrap() as f64;
        let best_us = records.iter().filter_map(|r| r.outcome.time_us()).fold(f64::INFINITY, f64::min);
        for record in &records {
            let Outcome::Measured(m) = &record.outcome else { panic!("{record:?}") };
            // up to three launches that a busy machine holds up in a row are hopeless beside another config; more are not
            let is_right = m.median_us() > if m.samples_us.len() > 3 { 5.0 * library_us } else { 3.0 * best_us };
            assert!(is_right, "{library_us} {best_us} {record:?}");
        }
    }
}

#[test]
fn energy_is_read_from_the_management_library() {
    // NVML with clocks and throttling; AMD SMI, and ROCm SMI where AMD SMI does not count
    for (api, mode) in apis().into_iter().flat_map(|api| match api.id {
        "cuda:0" => vec![(api, "")],
        _ => vec![(api, "energy=amd"), (api, "energy=rocm")],
    }) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let more = ["--sample", "1", "--energy", "--problems", "M=40,N=30,K=20"];
        let Some((out, err, code)) = sweep(api, &path, &more, mode) else { return };
        assert_eq!(code, 0, "{out}{err}");
        let record = &Dataset::load(&path).unwrap().records[0];
        if api.id == "cuda:0" {
            let conditions = record.observed.conditions.as_ref().unwrap();
            let told = (conditions.clock_mhz, conditions.memory_clock_mhz, conditions.temperature);
            assert_eq!((told, &conditions.throttled[..]), ((1500, 2600, 55), &["SW_POWER_CAP".to_string()][..]));
        }
        let Outcome::Measured(m) = &record.outcome else { panic!("{record:?}") };
        let energy = m.energy.unwrap_or_else(|| panic!("{mode}: {record:?}"));
        assert!((energy.idle_watts / 300.0 - 1.0).abs() < 0.02, "{energy:?}");
        // the double multiplies on the host, at 300 W of time that passes: a busy machine takes it away now from these launches, now from those
        let watts = energy.joules / (record.outcome.time_us().unwrap() * 1e-6);
        assert!((30.0..10_000.0).contains(&watts), "{watts} W, {m:?}");
    }
}

#[test]
fn a_counter_that_stands_still_is_told_and_counts_nothing() {
    for api in apis().into_iter().filter(|api| api.id == "hip:0") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let more = ["--sample", "1", "--energy", "--problems", "M=40,N=30,K=20"];
        let Some((out, err, code)) = sweep(api, &path, &more, "energy=still") else { return };
        assert!(code == 0 && err.contains("counter of energy stands still"), "{out}{err}");
        let record = &Dataset::load(&path).unwrap().records[0];
        assert!(matches!(&record.outcome, Outcome::Measured(m) if m.energy.is_none()), "{record:?}");
    }
}

/// Sweeps eight configs of one problem in a mode of the double, in which one fails.
fn assert_is_booked(api: &Api, mode: &str, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    let is_silent = expected.starts_with("silent");
    let timeout = if is_silent { "12s" } else { PATIENT[1] };
    let more = ["--sample", "8", "--timeout", timeout, "--problems", "M=40,N=30,K=20"];
    let Some((out, err, code)) = sweep(api, &path, &more, mode) else { return };
    assert_eq!(code, 0, "{mode}: {out}{err}");
    let outcomes: Vec<Outcome> = Dataset::load(&path).unwrap().records.into_iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes.len(), 8, "{mode}");
    let detail = |o: &Outcome| if let Outcome::Invalid(why) = o { Some(why.detail.clone()) } else { None };
    let failures: Vec<String> = outcomes.iter().filter_map(detail).collect();
    // on a busy machine another config may be silent for so long too
    let most = if is_silent { outcomes.len() - 1 } else { 1 };
    let are_told = (1..=most).contains(&failures.len()) && failures.iter().all(|told| told.contains(expected));
    assert!(are_told, "{} {mode}: {failures:?}", api.id);
}

#[test]
fn a_config_that_fails_is_booked_with_the_drivers_words_and_the_others_are_measured() {
    // the first launch is the reference's; each config is launched twice before any is timed
    let modes = |api: &'static Api| {
        [
            (api, "launch=4", api.refused),
            (api, "wrong=4", "the reference says"),
            (api, "lost=40", "an illegal memory access was encountered"),
            (api, "hang=4", "silent for 12.0 s"),
            (api, "away=4", "silent for 12.0 s"),
        ]
    };
    let all: Vec<_> = apis().into_iter().flat_map(modes).collect();
    on_threads(&all, 4, |(api, mode, expected)| {
        assert_is_booked(api, mode, expected);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_ends_a_run_is_told_in_a_sentence() {
    for api in apis() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let other = api.id.replace('0', "3");
        for (device, mode, expected, wanted) in [
            (api.id, "memory", "allocating 512 bytes: ".to_string(), 1),
            (other.as_str(), "", format!("no live device `{other}`"), 2),
            (api.id, "none", format!("no {} device opens here", api.id.replace(":0", "")), 3),
        ] {
            let more = ["--device", device, "--sample", "2", "-o", path.to_str().unwrap()];
            let args = [&["sweep", "gemm", "--problems", "M=8,N=8,K=8"][..], &more].concat();
            let Some((out, err, code)) = with_double(api, &args, mode) else { return };
            assert!(code == wanted && err.contains(&expected), "{mode}: {code} {out}{err}");
        }
        let Some((out, _, _)) = with_double(api, &["devices"], "none") else { return };
        assert!(out.contains(api.none), "{out}");
    }
}

#[test]
fn predictions_are_measured_with_energy_and_beside_the_vendors_library() {
    for api in apis() {
        let problems = ["M=40,N=30,K=20", "M=33,N=17,K=50,alpha=0.5,beta=2"];
        let args = ["validate", "models/gemm-cpu", "gemm", "--top", "1", "--device", api.id];
        let args = [&args[..], &problems].concat();
        let Some((out, err, code)) =
            with_double(api, &[&args[..], &["--energy", "--energy-window", "0.5"]].concat(), "")
        else {
            return;
        };
        assert!(code == 0 && out.contains("| mJ |"), "{out}{err}");
        let (json, err, code) = with_double(api, &[&args[..], &["--json"]].concat(), "").unwrap();
        assert_eq!(code, 0, "{json}{err}");
        for line in json.lines() {
            let answer: serde_json::Value = serde_json::from_str(line).unwrap();
            // of two multiprocessors, or four, one work-group or two fill little
            assert!(answer["filled"].as_f64().is_some_and(|share| share > 0.0 && share < 1.0), "{answer}");
            assert!(answer["best_us"].as_f64().is_some_and(|us| us > 0.0), "{answer}");
            if api.id == "cuda:0" {
                assert_eq!(answer["library"], "cuBLAS 13.0.2", "{answer}");
                assert!(answer["library_us"].as_f64().is_some_and(|us| us > 0.0), "{answer}");
            }
        }
        match api.id {
            "cuda:0" => {
                assert!(
                    out.contains("| % of cuBLAS 13.0.2 | device filled, % | mJ |")
                        && out.contains(" % of cuBLAS 13.0.2."),
                    "{out}"
                )
            }
            _ => assert!(out.contains("Nothing of the vendor's is measured beside it"), "{out}"),
        }
    }
}

#[test]
fn a_gpu_machine_brings_back_few_files_and_goes_on_from_them() {
    let (true, Some(doubles)) = (apis().iter().any(|api| api.id == CUDA.id), doubles()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for inside in ["scripts", "datasets/problems", "models", "drivers", "work"] {
        std::fs::create_dir_all(path(inside)).unwrap();
    }
    std::fs::copy("scripts/gpu_run.sh", path("scripts/gpu_run.sh")).unwrap();
    // a driver without the vendor's library
    for (_, library) in &CUDA.libraries[..2] {
        std::fs::copy(doubles.join("cuda").join(library), path("drivers").join(library)).unwrap();
    }
    std::fs::write(path("datasets/problems/gemm_gpu.txt"), "# a list\nM=40,N=30,K=20\nM=50,N=20,K=20\n").unwrap();
    std::fs::write(path("datasets/problems/gemm_gpu_more.txt"), "# others\nM=40,N=31,K=20\n").unwrap();
    let run = |parts: &str, out: &str, drivers: &Path, held_out: &str, files: usize| {
        let mut run = std::process::Command::new("bash");
        run.arg(path("scripts/gpu_run.sh")).arg(env!("CARGO_BIN_EXE_seqtune")).arg(path(out)).arg("2");
        run.env("LD_LIBRARY_PATH", drivers).env("SEQTUNE_NVRTC", std::fs::canonicalize(".nvrtc").unwrap_or_default());
        run.env("PARTS", parts)
            .env("MODELS", std::fs::canonicalize("models/gemm-h200").unwrap())
            .env("GUIDED", "3")
            .env("CONFIGS", "4")
            .env("GUIDED_POOL", "3")
            .env("SEARCH", "2")
            .env("HELD_OUT", held_out)
            .env("WORK", path("work"))
            .env("DOUBLE_GPU", "");
        let (_, err, code) = text(run.output().unwrap());
        let report = std::fs::read_to_string(path(out).join("report.txt")).unwrap();
        assert!(code == 0 && report.contains("cuda:0  Double 1"), "{err}{report}");
        assert_eq!(std::fs::read_dir(path(out)).unwrap().count(), files, "{err}");
        (report, Dataset::load(&path(out).join("gemm.sqt")).unwrap().records)
    };
    let (report, records) = run("gemm", "first", &doubles.join("cuda"), "0", 2);
    assert!(report.contains("gemm: 8 records: 8 measured now"), "{report}");
    assert_eq!(records.iter().filter(|r| r.observed.library_us.is_some()).count(), 2);
    // what came back is enough to go on with elsewhere
    std::fs::remove_dir_all(path("work")).unwrap();
    std::fs::create_dir(path("work")).unwrap();
    std::fs::copy(path("first/gemm.sqt"), path("work/gemm.sqt")).unwrap();
    let (report, records) = run("gemm", "second", &path("drivers"), "0", 2);
    assert!(report.contains("the vendor's library is left out"), "{report}");
    assert!(report.contains("gemm: 8 records: 0 measured now") && report.contains("8 found"), "{report}");
    assert_eq!((records.len(), records.iter().filter(|r| r.observed.library_us.is_some()).count()), (8, 2));
    // a model goes on in the same journal
    let (report, records) = run("gemm_guided", "third", &path("drivers"), "0", 2);
    assert!(report.contains("gemm: ") && records.len() > 8, "{} records: {report}", records.len());
    // another list has a journal of its own, and predictions are measured for what was left out
    let (report, _) = run("gemm_more gemm_more_guided validate", "fourth", &path("drivers"), "1", 4);
    assert!(report.contains("gemm_more: 4 records: 4 measured now"), "{report}");
    assert!(report.contains("validation of") && report.contains("1 problem: first choice"), "{report}");
    let kept = Dataset::load(&path("fourth/validated_gemm.sqt")).unwrap().records;
    assert!(!kept.is_empty(), "what was measured is kept");
}

#[test]
fn the_program_needs_nothing_of_rocm_to_start() {
    use object::{Object, ObjectSymbol};
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_seqtune")).unwrap();
    let program = object::File::parse(&*bytes).unwrap();
    let mut strangers = program.dynamic_symbols().filter_map(|s| s.name().ok()).filter(|n| n.starts_with("hip"));
    assert_eq!(strangers.next(), None, "a symbol of HIP's is linked");
    let names = program.section_by_name(".dynstr").map(|s| object::ObjectSection::data(&s).unwrap().to_vec()).unwrap();
    assert!(!String::from_utf8_lossy(&names).contains("libamdhip64"), "the program names HIP's library");
}
