//! What several tests share: the program, a toy kernel, a toy dataset.
#![allow(dead_code, unused_imports)] // each test binary uses its part

#[path = "../../src/kernel/drawn.rs"]
mod drawn;
mod processor;

pub use drawn::{seed, test_generator};
pub use processor::processor_seconds;

use seqtune_data::recipe::Provenance;
use seqtune_data::{Dataset, FORMAT, Header, Measurement, NamedDataset, Outcome, Record, Table};
use seqtune_kernel::{ConfigSpace, Device, Kernel};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Products of different sizes, one of another layout.
pub const SIZES: [&str; 6] = [
    "M=64,N=64,K=64",
    "M=100,N=7,K=3",
    "M=1,N=512,K=256",
    "M=33,N=33,K=33,transB=T",
    "M=128,N=16,K=8",
    "M=50,N=60,K=70",
];

/// The program under test: the one just built, or that of SEQTUNE_BIN where tests are carried to another machine.
pub fn seqtune(args: &[&str]) -> Command {
    program("seqtune", args)
}

/// The program of the laboratory, which stands beside the other one.
pub fn laboratory(args: &[&str]) -> Command {
    program("seqtune-lab", args)
}

fn program(name: &str, args: &[&str]) -> Command {
    // each package knows its own programs, and theirs are the neighbours
    let own = [
        option_env!("CARGO_BIN_EXE_seqtune"),
        option_env!("CARGO_BIN_EXE_seqtune-train"),
        option_env!("CARGO_BIN_EXE_seqtune-lab"),
    ];
    let built = own.into_iter().flatten().next().map(PathBuf::from);
    let program = match (std::env::var_os("SEQTUNE_BIN").map(PathBuf::from), name) {
        (Some(carried), "seqtune") => carried,
        (carried, name) => carried.or(built).unwrap().with_file_name(name),
    };
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    // on a busy machine a healthy worker may be silent for longer than usual: what is to be ended for it has `--timeout`, or is the fake device, some
    // of whose configs hang
    if !args.contains(&"fake") {
        command.env("SEQTUNE_SILENCE", "600");
    }
    // a device that a test opened in its own process has named PoCL's folder for all processes after it
    command.env_remove("POCL_CACHE_DIR");
    // programs compiled by tests stay with what cargo has built: the user's folder is neither read nor filled
    if let (Some(built), None) = (option_env!("CARGO_TARGET_TMPDIR"), std::env::var_os("SEQTUNE_CACHE")) {
        command.env("SEQTUNE_CACHE", Path::new(built).join("cache"));
    }
    command
}

/// A worker's silence of so long is a hang on the busiest machine too: of sweeps whose programs are not to be ended.
pub const PATIENT: [&str; 2] = ["--timeout", "600s"];

/// How many configs of each problem a test compiles or runs: `SEQTUNE_TEST_CONFIGS`, or so many.
pub fn configs_of_each(default: usize) -> usize {
    std::env::var("SEQTUNE_TEST_CONFIGS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Descriptors of a file that this process has open, as a process that is forked now would have them.
pub fn inherited(path: &Path) -> Vec<std::os::fd::OwnedFd> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let own = open.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == path));
    let numbers = own.map(|fd| fd.file_name().to_str().unwrap().parse().unwrap());
    // SAFETY: the file stays open while its descriptor is copied
    numbers.map(|fd| unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().unwrap()).collect()
}

/// The folder of the repository, whichever package a test belongs to.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    if package.join("src/predict").is_dir() { package } else { package.ancestors().nth(2).unwrap() }
}

/// Runs the program; standard output, standard error, exit code.
pub fn run(args: &[&str]) -> (String, String, i32) {
    text(seqtune(args).output().unwrap())
}

/// Runs the laboratory likewise.
pub fn run_laboratory(args: &[&str]) -> (String, String, i32) {
    text(laboratory(args).output().unwrap())
}

/// Standard output, standard error and exit code. Lines of progress are left out: a busy machine has more of them.
pub fn text(output: Output) -> (String, String, i32) {
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let is_progress = |line: &&str| {
        let count = line.split_once(": ").and_then(|(_, rest)| rest.split_once(", ")).map(|(count, _)| count);
        let numbers = count.and_then(|count| count.split_once('/'));
        numbers.is_some_and(|(at, of)| at.parse::<u64>().is_ok() && of.parse::<u64>().is_ok()) && line.contains(" gone")
    };
    let err = err.split_inclusive('\n').filter(|line| !is_progress(line)).collect();
    (out, err, output.status.code().unwrap_or(-1))
}

/// Compiles a double of a driver's library into `library`, once for all tests of these sources; false, with a word, where there is no C compiler.
pub fn build_double(source: &str, library: &Path) -> bool {
    let Some(target) = option_env!("CARGO_TARGET_TMPDIR") else { return build_double_on(source, library, &[]) };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(root().join("tests/doubles")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut hasher = std::hash::DefaultHasher::new();
    files.iter().for_each(|file| std::fs::read(file).unwrap().hash(&mut hasher));
    let built = Path::new(target).join("doubles").join(format!("{:016x}", hasher.finish())).join(source);
    if !built.exists() {
        std::fs::create_dir_all(built.parent().unwrap()).unwrap();
        // another test may do the same at this time: it is there whole, or not yet
        let new = tempfile::NamedTempFile::new_in(built.parent().unwrap()).unwrap();
        if !build_double_on(source, new.path(), &[]) {
            return false;
        }
        new.persist(&built).unwrap();
    }
    std::fs::copy(built, library).is_ok()
}

/// The same of a double that passes calls on to these libraries.
pub fn build_double_on(source: &str, library: &Path, behind: &[&Path]) -> bool {
    let cc = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-Wno-unused-parameter", "-Wl,--no-as-needed", "-o"])
        .arg(library)
        .arg(root().join("tests/doubles").join(source))
        .args(behind)
        .arg("-lm")
        .output();
    match cc {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => {
            println!("skipped: no C compiler is here; `apt-get install gcc` brings one");
            return false;
        }
    }
    true
}

/// Records of a sweep of so many configs of each problem, with the double of NVIDIA's driver in a folder where one is given; each program is run once.
pub fn swept(kernel: &str, problems: &[&str], sample: &str, device: &str, driver: Option<&Path>) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl").display().to_string();
    let args = ["sweep", kernel, "--device", device, "--sample", sample, "--timeout", "60s", "-o", &path, "--problems"];
    let mut run = seqtune(&[&args[..], problems].concat());
    if let Some(driver) = driver {
        run.env("LD_LIBRARY_PATH", driver).env("DOUBLE_GPU", "ptx");
    }
    let (out, err, code) = text(run.output().unwrap());
    let records = Dataset::load(Path::new(&path)).unwrap_or_else(|_| panic!("{kernel}: {out}{err}")).records;
    let works = records.iter().any(|record| matches!(record.outcome, Outcome::Measured(_)));
    assert_eq!(code, !works as i32, "{kernel}: {out}{err}");
    records
}

/// Every record is of a config that computed what the reference does.
pub fn assert_measured(kernel: &str, records: &[Record]) {
    for Record { problem, config, outcome, .. } in records {
        assert!(matches!(outcome, Outcome::Measured(_)), "{kernel} {problem} {config}: {outcome:?}");
    }
}

/// Says why a test does nothing here, and returns whether an OpenCL device is present.
pub fn opencl_or_skip() -> bool {
    let (out, _, _) = run(&["devices", "--json"]);
    let found = !serde_json::from_str::<serde_json::Value>(&out).unwrap()["live"].as_array().unwrap().is_empty();
    if !found {
        println!("skipped: no OpenCL device opens here; `scripts/setup.sh opencl` makes the processor one");
    }
    found
}

/// A public file in the folder that `SEQTUNE_TEST_DATA` names; `None`, with a word, where it is not there.
pub fn public(file: &str, from: &str) -> Option<String> {
    let folder = std::env::var_os("SEQTUNE_TEST_DATA");
    let path = folder.map(|folder| root().join(folder).join(file)).filter(|path| path.exists());
    if path.is_none() {
        println!(
            "skipped: {file} is not here; it takes the file of that name from {from}, in the folder SEQTUNE_TEST_DATA"
        );
    }
    path.map(|path| path.display().to_string())
}

/// Sends a signal to a process that a test has started: the program `kill` is not on every machine.
pub fn signal(process: u32, signal: i32) {
    // SAFETY: asks the system for one signal
    unsafe {
        libc::kill(process as libc::pid_t, signal);
    }
}

/// Writes a file and gives its path.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// Source of the toy kernel, which the fake device alone runs.
const TOY_SOURCE: &str = "__kernel void toy() {}\n__kernel void toy_reference() {}\n";

const TOY: &str = r#"
name = "toy"
meaning = "a kernel that nothing runs"
[[field]]
name = "M"
kind = "size"
min = 1
max = 4096
shape = true
meaning = "size"
[[parameter]]
name = "tile"
values = [1, 2, 4, 8, 16, 32, 64]
default = 4
meaning = "tile"
[[parameter]]
name = "local"
values = [0, 1]
default = 0
meaning = "local memory"
[[parameter]]
name = "width"
values = [1, 2, 4]
default = 1
meaning = "vector width"
[[constraint]]
expr = "tile <= 2 * M"
reason = "a tile of more than twice the size would idle"
[[constraint]]
expr = "tile % width == 0"
reason = "vectors must divide the tile"
[[constraint]]
expr = "local == 0 or tile >= 8"
reason = "local memory needs a large tile"
[[feature]]
name = "log_m"
expr = "log2(M)"
[[feature]]
name = "waste"
expr = "cdiv(M, tile) * tile / M - 1"
[program]
file = "toy.cl"
entry = "toy"
global = ["M"]
local = ["1"]
[reference]
file = "toy.cl"
entry = "toy_reference"
global = ["M"]
local = []
[[argument]]
name = "M"
kind = "int"
value = "M"
[[argument]]
name = "y"
kind = "out"
length = "M"
element = "4"
[work]
flops = "1000 * M"
bytes = "4 * M"
tolerance = "0"
"#;

/// A kernel of three parameters and at most 26 legal configs.
pub fn toy() -> Kernel {
    let files = BTreeMap::from([("kernel.toml".into(), TOY.into()), ("toy.cl".into(), TOY_SOURCE.into())]);
    Kernel::from_files(files, "toy/kernel.toml").unwrap()
}

/// The same, of which whole profiles of problems are learned.
pub fn toy_with_profiles() -> Kernel {
    let text = TOY.replacen("meaning", "profiles = true\nmeaning", 1);
    let files = BTreeMap::from([("kernel.toml".into(), text), ("toy.cl".into(), TOY_SOURCE.into())]);
    Kernel::from_files(files, "toy/kernel.toml").unwrap()
}

/// The same as a folder; its path.
pub fn write_toy(folder: &Path) -> String {
    std::fs::create_dir_all(folder).unwrap();
    write(folder, "toy.cl", TOY_SOURCE.as_bytes());
    write(folder, "kernel.toml", TOY.as_bytes());
    folder.display().to_string()
}

/// Every legal config of the sizes, with made-up times whose best tile grows with the square root of M.
pub fn toy_dataset(kernel: &Kernel, sizes: impl Iterator<Item = u64>) -> Dataset {
    let device = Device::find_described("A100").unwrap();
    let mut records = Vec::new();
    for m in sizes {
        let problem = kernel.problem(&format!("M={m}")).unwrap();
        let best = (m as f64).sqrt().log2();
        ConfigSpace::new(kernel, &problem, &device)
            .for_each(&mut |choices| {
                let (tile, local, width) = (choices[0] as f64, choices[1] as f64, choices[2] as f64);
                let slow = 1.0
                    + 0.2 * (tile - best).abs()
                    + 0.1 * (local - (best > 3.5) as u8 as f64).abs()
                    + 0.05 * (2.0 - width);
                let us = (m as f64 * slow) as f32;
                let outcome =
                    Outcome::Measured(Measurement { samples_us: vec![us, us * 1.01, us * 0.99], energy: None });
                let config = kernel.show_config(&seqtune_kernel::Config(choices.to_vec()));
                records.push(Record {
                    problem: kernel.show_problem(&problem).into(),
                    config: config.into(),
                    outcome,
                    observed: Default::default(),
                });
                true
            })
            .unwrap();
    }
    let header = Header {
        format: FORMAT.into(),
        kernel: kernel.name.clone(),
        space: kernel.space_hash(),
        identity: None,
        carried: Vec::new(),
        device,
        tool: "test".into(),
        seed: 1,
        provenance: Provenance::Described("made up".into()),
        command: "test".into(),
        date: "2026-01-01".into(),
        shard: None,
    };
    Dataset { header, records }
}

/// Sizes that the toy dataset is made of.
pub fn toy_sizes() -> impl Iterator<Item = u64> {
    (0..48).map(|i| (2f64.powf(2.0 + i as f64 / 5.0)) as u64)
}

pub fn toy_table(kernel: &Kernel) -> Table {
    Table::new(kernel, &[NamedDataset::new("toy", toy_dataset(kernel, toy_sizes()))]).unwrap()
}
