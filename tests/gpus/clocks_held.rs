//! Clocks of a GPU as tuning parameters, on doubles of the driver and of the management library: set, told, and given back on every way out.

use crate::common::{build_double, root, seqtune, text};
use seqtune_data::{Dataset, Outcome};
use seqtune_measure::backends::cuda::nvrtc::architectures;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A folder with the doubles, a kernel with clocks, and what becomes of them; `None`, with a word, where a compiler is missing.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Option<Bench> {
        let bench = Bench(tempfile::tempdir().unwrap());
        if architectures().is_empty() {
            println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
            return None;
        }
        for (source, library) in [("libcuda.c", "libcuda.so.1"), ("libnvidia-ml.c", "libnvidia-ml.so.1")] {
            if !build_double(source, &bench.path(library)) {
                return None;
            }
        }
        let kernel = bench.path("clocked");
        std::fs::create_dir(&kernel).unwrap();
        for file in ["gemm.cl", "reference.cl", "kernel.toml"] {
            std::fs::copy(root().join("kernels/gemm").join(file), kernel.join(file)).unwrap();
        }
        let parameter = |name: &str, values: &str| {
            format!(
                "\n[[parameter]]\nname = \"{name}\"\nvalues = {values}\ndefault = 0\nmeaning = \"a clock in MHz\"\n"
            )
        };
        let mut toml = std::fs::read_to_string(kernel.join("kernel.toml")).unwrap();
        toml += &(parameter("CORE", "[0, 777, 1200]") + &parameter("MEMORY", "[0, 810, 333]"));
        toml += "\n[clocks]\ncore = \"CORE\"\nmemory = \"MEMORY\"\n";
        std::fs::write(kernel.join("kernel.toml"), toml).unwrap();
        Some(bench)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    /// A sweep of so many configs of one problem, in a mode of the driver's double.
    fn sweep(&self, sample: &str, mode: &str, device: &str) -> Command {
        let [kernel, journal] = ["clocked", "sweep.jsonl"].map(|file| self.path(file).display().to_string());
        let problem = "M=40,N=30,K=20";
        // a busy machine is silent for seconds too
        let timeout = if mode.contains("hang") { "3s" } else { "60s" };
        let mut run = seqtune(&[
            "sweep",
            &kernel,
            "--device",
            device,
            "--sample",
            sample,
            "--problems",
            problem,
            "--timeout",
            timeout,
            "-o",
            &journal,
        ]);
        run.env("LD_LIBRARY_PATH", self.0.path()).env("DOUBLE_CLOCKS", self.path("clocks")).env("DOUBLE_GPU", mode);
        run.env("DOUBLE_GPU_ONCE", self.path("failed"));
        run
    }

    /// The changes of clocks so far.
    fn changes(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("clocks")).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    /// Waits until the last changes are to the clocks of the driver.
    fn is_given_back(&self) -> bool {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(120) {
            if self.changes().ends_with(&["core 1500".into(), "memory 2600".into()]) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("{:?}", self.changes());
        false
    }
}

fn value(config: &str, name: &str) -> u32 {
    config.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap().parse().unwrap()
}

fn records(journal: &Path) -> BTreeMap<String, (Outcome, Option<(u32, u32)>)> {
    let records = Dataset::load(journal).unwrap().records.into_iter();
    let clocks = |r: &seqtune_data::Record| r.observed.conditions.as_ref().map(|c| (c.clock_mhz, c.memory_clock_mhz));
    records.map(|r| (r.config.to_string(), (r.outcome.clone(), clocks(&r)))).collect()
}

#[test]
fn configs_are_measured_at_their_clocks_which_are_the_drivers_again_afterwards() {
    let Some(bench) = Bench::new() else { return };
    let (out, err, code) = text(bench.sweep("40", "", "cuda:0").output().unwrap());
    assert_eq!(code, 0, "{out}{err}");
    let records = records(&bench.path("sweep.jsonl"));
    let mut seen: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (config, (outcome, clocks)) in &records {
        let asked = (value(config, "CORE"), value(config, "MEMORY"));
        *seen.entry(asked).or_default() += 1;
        match (asked.0, outcome) {
            (777, Outcome::Invalid(fault)) => assert!(fault.detail.contains("cores at 777 MHz"), "{}", fault.detail),
            (777, _) => panic!("{config} was measured at a clock that there is not"),
            // by then the cores are held already
            (_, Outcome::Invalid(fault)) if asked.1 == 333 => {
                assert!(fault.detail.contains("memory at 333 MHz"), "{}", fault.detail)
            }
            (core, Outcome::Measured(_)) => {
                let or = |asked: u32, free: u32| if asked == 0 { free } else { asked };
                assert_eq!(*clocks, Some((or(core, 1500), or(asked.1, 2600))), "{config}");
            }
            (_, other) => panic!("{config}: {other:?}"),
        }
    }
    assert_eq!(seen.len(), 9, "all pairs of clocks: {seen:?}");
    assert!(bench.is_given_back());
    // turns are taken by those with the same clocks: not every config changes them
    assert!(bench.changes().len() <= 24, "{:?}", bench.changes());
}

#[test]
fn clocks_are_given_back_when_a_worker_hangs_or_the_whole_sweep_is_killed() {
    let Some(bench) = Bench::new() else { return };
    let (out, err, code) = text(bench.sweep("12", "hang=9", "cuda:0").output().unwrap());
    assert!(code == 0 && out.contains("silent for 3.0 s"), "{out}{err}");
    assert!(bench.is_given_back());
    ["clocks", "sweep.jsonl"].into_iter().for_each(|file| std::fs::remove_file(bench.path(file)).unwrap());
    let mut sweep = bench.sweep("30", "slow", "cuda:0").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while !bench.changes().iter().any(|change| change == "core 1200") {
        assert!(
            began.elapsed() < Duration::from_secs(120) && sweep.try_wait().unwrap().is_none(),
            "{:?}",
            bench.changes()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    assert!(bench.is_given_back());
}

#[test]
fn who_may_not_set_clocks_or_has_none_to_set_is_told_so() {
    let Some(bench) = Bench::new() else { return };
    let (out, err, code) = text(bench.sweep("12", "", "cuda:0").env_remove("DOUBLE_CLOCKS").output().unwrap());
    assert!(code == 3 && err.lines().count() == 1 && err.contains("run as root"), "{code} {out}{err}");
    std::fs::remove_file(bench.path("sweep.jsonl")).unwrap();
    let (out, err, code) = text(bench.sweep("12", "", "fake").output().unwrap());
    assert!(
        code == 3 && err.lines().count() == 1 && err.contains("no clocks can be set through this API"),
        "{code} {out}{err}"
    );
}
