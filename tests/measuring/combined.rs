//! Programs of several configs made by one run of an OpenCL compiler.

use crate::common::{PATIENT, assert_measured, opencl_or_skip, seqtune, test_generator, text, write};
use seqtune_data::{Dataset, InvalidityKind, Outcome, Record};
use seqtune_kernel::{Config, ConfigSpace, Kernel};
use seqtune_measure::compile::Job;
use seqtune_measure::executor::Executor;
use seqtune_measure::registry::open;
use std::path::{Path, PathBuf};

const TWICE: &str = r#"
name = "twice"
meaning = "y = 2 x"
field = [{ name = "n", kind = "size", min = 1, max = 10000, shape = true, meaning = "length" }]
parameter = [{ name = "V", values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], default = 1, meaning = "elements of a work-item" }]
argument = [
    { name = "n", kind = "int", value = "n" },
    { name = "x", kind = "in", length = "n", element = "4" },
    { name = "y", kind = "out", length = "n", element = "4" },
]
program = { file = "k.cl", entry = "twice", global = ["cdiv(n, V)"], local = [] }
reference = { file = "r.cl", entry = "twice", global = ["n"], local = [] }
work = { flops = "n", bytes = "8 * n" }
"#;
const REFERENCE: &str = "__kernel void twice(const int n, __global const float *x, __global float *y) {
    y[get_global_id(0)] = 2 * x[get_global_id(0)];
}";
/// Declares a type, a table and a function, whose meaning is another for each config.
const SOURCE: &str = "
#define ELEMENTS (V)
typedef struct { float of[V]; } part;
__constant int lengths[V] = {V};
static inline part doubled(part p) { for (int i = 0; i < ELEMENTS; ++i) p.of[i] *= 2; return p; }
__kernel void twice(const int n, __global const float *x, __global float *y) {
    const int first = get_global_id(0) * lengths[0];
    part p;
    for (int i = 0; i < V; ++i) p.of[i] = first + i < n ? x[first + i] : 0;
    p = doubled(p);
    for (int i = 0; i < V; ++i) if (first + i < n) y[first + i] = p.of[i];
}
";

/// Sweeps all configs of the kernel with a source, with a cache of its own.
fn swept(folder: &Path, source: &str) -> Vec<Record> {
    write(folder, "kernel.toml", TWICE.as_bytes());
    write(folder, "k.cl", source.as_bytes());
    write(folder, "r.cl", REFERENCE.as_bytes());
    let journal = folder.join("sweep.jsonl");
    let _ = std::fs::remove_file(&journal);
    let (place, output) = (folder.display().to_string(), journal.display().to_string());
    let words = [
        "sweep",
        &place,
        "--device",
        "opencl:0",
        "--exhaustive",
        "-o",
        &output,
        PATIENT[0],
        PATIENT[1],
        "--problems",
        "n=101",
    ];
    let (_, err, code) = text(seqtune(&words).env("SEQTUNE_CACHE", folder.join("cache")).output().unwrap());
    assert_eq!(code, 0, "{err}");
    Dataset::load(&journal).unwrap().records
}

/// Files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Programs of a cache that are kernels of a combined one.
fn combined(folder: &Path) -> usize {
    let is_one = |path: &&PathBuf| {
        path.extension().is_some_and(|e| e == "so") && path.display().to_string().contains("_of_config_")
    };
    files(&folder.join("cache/pocl")).iter().filter(is_one).count()
}

#[test]
fn configs_compiled_together_compute_what_each_does_alone_whatever_becomes_of_the_cache() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_measured("twice", &swept(folder, SOURCE));
    let made = combined(folder);
    assert!(made > 2, "{made} programs were made together");
    // the next process finds them again
    assert_measured("twice", &swept(folder, SOURCE));
    assert_eq!(combined(folder), made);
    for file in files(&folder.join("cache/combined")) {
        std::fs::write(file, "damaged").unwrap();
    }
    assert_measured("twice", &swept(folder, SOURCE));
    std::fs::remove_dir_all(folder.join("cache/pocl")).unwrap();
    assert_measured("twice", &swept(folder, SOURCE));
}

#[test]
fn a_config_that_does_not_compile_takes_no_other_with_it_and_enumerations_compile_one_by_one() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let records = swept(folder.path(), &format!("{SOURCE}\n#if V == 3\n#error \"three is wrong\"\n#endif\n"));
    let failed: Vec<&Record> = records.iter().filter(|r| matches!(r.outcome, Outcome::Invalid(_))).collect();
    let [Record { config, outcome: Outcome::Invalid(fault), .. }] = &failed[..] else { panic!("{failed:?}") };
    assert!(&**config == "V=3" && fault.kind == InvalidityKind::Compile, "{config}: {fault:?}");
    assert!(fault.detail.contains("three is wrong"), "{fault:?}");
    assert_eq!(records.len(), 12);

    let folder = tempfile::tempdir().unwrap();
    assert_measured(
        "twice",
        &swept(folder.path(), &SOURCE.replace("typedef struct", "enum { NONE };\ntypedef struct")),
    );
    assert_eq!(combined(folder.path()), 0);
}

#[test]
fn every_shipped_kernel_can_be_compiled_for_several_configs_at_once() {
    if !opencl_or_skip() {
        return;
    }
    // the folder of a process is told by its environment: in a process of its own no other test sees it
    const APART: &str = "SEQTUNE_TEST_APART";
    let Some(folder) = std::env::var_os(APART).map(PathBuf::from) else {
        let (folder, program) = (tempfile::tempdir().unwrap(), std::env::current_exe().unwrap());
        let mut apart = std::process::Command::new(program);
        apart.args(["combined::every_shipped_kernel_can_be_compiled_for_several_configs_at_once", "--exact"]);
        let (out, err, code) =
            text(apart.env("SEQTUNE_CACHE", folder.path()).env(APART, folder.path()).output().unwrap());
        assert!(code == 0 && out.contains("1 passed"), "{out}{err}");
        return;
    };
    let mut executor = open("opencl:0").unwrap();
    let mut known = 0;
    for name in Kernel::all_shipped() {
        let kernel = Kernel::open(&name).unwrap();
        if kernel.source().is_err() || !kernel.source().unwrap().program.file.ends_with(".cl") {
            continue;
        }
        assert_is_shared(&kernel, executor.as_mut());
        let now = files(&folder.join("combined")).len();
        assert_eq!(now - known, 4, "{name}: three configs and their source");
        known = now;
    }
    assert!(known >= 4 * 15, "{known}");
}

fn assert_is_shared(kernel: &Kernel, executor: &mut dyn Executor) {
    let problem = kernel.problem(&kernel.middle_problem()).unwrap();
    let device = executor.device().clone();
    let space = ConfigSpace::new(kernel, &problem, &device);
    let configs: Vec<Config> = space.counter().sample_distinct(3, &mut test_generator(1)).unwrap();
    let launch = &kernel.source().unwrap().program;
    let defines: Vec<_> = configs.iter().map(|config| kernel.defines(&problem, config)).collect();
    let envs: Vec<_> = configs.iter().map(|config| kernel.env_of(&problem, Some(&device), config)).collect();
    let jobs: Vec<Job> = std::iter::zip(&defines, &envs).map(|(d, env)| Job::new(kernel, launch, d, env)).collect();
    executor.announce(&jobs);
    jobs.iter().for_each(|job| assert!(executor.compile(job).is_ok(), "{}", kernel.name));
}
