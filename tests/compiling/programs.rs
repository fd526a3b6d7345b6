//! Programs compiled without a device, what they need, and the folder that keeps them.

use crate::common::{configs_of_each, run, seqtune, test_generator, text};
use seqtune_data::{Invalidity, Resources};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, ConfigSpace, Define, Device, Kernel, Limits, Problem};
use seqtune_measure::backends::cuda::nvrtc::{Nvrtc, architectures};
use seqtune_measure::backends::hip;
use seqtune_measure::compile::{Binary, Cached, Compiler, Job, Store, compile_for};
use seqtune_measure::compiler_for;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn nvrtc_or_skip() -> bool {
    let there = !architectures().is_empty();
    if !there {
        println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
    }
    there
}

/// A description of an NVIDIA GPU with another architecture.
fn device(architecture: &str) -> Device {
    let described = Device::find_described("H100").unwrap();
    let shared = match architecture {
        "sm_86" | "sm_120" => 101_376.0,
        _ => 232_448.0,
    };
    let limits = Limits { local_memory_opt_in: Some(shared), ..described.limits };
    Device { architecture: architecture.into(), limits, ..described }
}

/// Kernels and problems whose programs are compiled.
const PROGRAMS: [(&str, &str); 6] = [
    ("gemm", "M=500,N=300,K=200"),
    ("gemm", "M=500,N=300,K=200,dtype=f16,transA=T,transB=T,beta=1"),
    ("conv2d", "N=2,C=32,H=28,W=28,K=64,R=3,S=3,pad_h=1,pad_w=1"),
    ("conv2d", "N=2,C=32,H=28,W=28,K=64,R=3,S=3,pad_h=1,pad_w=1,dtype=f16"),
    ("gemm_tc", "M=500,N=300,K=200"),
    ("gemm_tc", "M=77,N=55,K=33,dtype=bf16,transA=T,transB=T,beta=1"),
];

/// Compiles a few configs of every kernel; each must be able to launch, and declare the local memory that its space counts.
fn compile_a_sample(compiler: &dyn Compiler, device: &Device, programs: &[(&str, &str)]) {
    // AMD's compiler moves arrays of a work-item there when it pleases
    let beside = if device.vendor == "AMD" { 65_536 } else { 16 };
    let architecture = &device.architecture;
    for (i, (name, problem)) in programs.iter().enumerate() {
        let kernel = Kernel::open(name).unwrap();
        let problem = kernel.problem(problem).unwrap();
        // others for each architecture
        let mut rng = test_generator(architecture.bytes().fold(i as u64, |seed, byte| 31 * seed + u64::from(byte)));
        let wanted = configs_of_each(2);
        let configs = ConfigSpace::new(&kernel, &problem, device).counter().sample_distinct(wanted, &mut rng).unwrap();
        assert_eq!(configs.len(), wanted);
        let compile = |config: &Config| compile_for(compiler, &kernel, &problem, config, device);
        for (config, compiled) in configs.iter().zip(on_threads(&configs, 2, compile).unwrap()) {
            let config = kernel.show_config(config);
            let needs =
                compiled.unwrap_or_else(|f| panic!("{name} {config} on {architecture}: {}", f.detail)).resources;
            assert!(needs.registers >= 8 && needs.groups_per_unit >= 1, "{config}: {needs:?}");
            let value = |p: &str| -> u32 {
                let pairs = config.split(',').filter_map(|pair| pair.split_once('='));
                pairs.filter(|(n, _)| *n == p).find_map(|(_, v)| v.parse().ok()).unwrap()
            };
            let counted = match *name {
                // asked for at launch, none declared
                "gemm_tc" | "gemm_wg" => 0,
                "gemm" => {
                    let tile = |on: &str, side: &str| value(on) * (value(side) + value("PAD"));
                    4 * value("KWG") * (tile("SA", "MWG") + tile("SB", "NWG"))
                }
                _ => {
                    let pixels = value("SX") * value("PX") * value("PPT");
                    4 * value("CB") * (pixels + value("SW") * value("KX") * value("KPT"))
                }
            };
            let declared = needs.local_bytes;
            assert!((counted..counted + beside).contains(&declared), "{name} {config}: {declared}, counted {counted}");
        }
    }
}

#[test]
fn every_kernel_compiles_for_every_generation_and_declares_the_local_memory_that_its_space_counts() {
    if !nvrtc_or_skip() {
        return;
    }
    // each generation that changed what a multiprocessor holds; cp.async and its mma came with 8.0
    for (architecture, programs) in
        [("sm_75", &PROGRAMS[..4]), ("sm_86", &PROGRAMS), ("sm_90", &PROGRAMS), ("sm_120", &PROGRAMS)]
    {
        compile_a_sample(&Nvrtc::open(architecture).unwrap(), &device(architecture), programs);
    }
    let hopper = [("gemm_wg", "M=500,N=300,K=200"), ("gemm_wg", "M=77,N=55,K=33,dtype=bf16,transA=T,transB=T,beta=1")];
    compile_a_sample(&Nvrtc::open("sm_90").unwrap(), &device("sm_90"), &hopper);
}

#[test]
fn every_kernel_compiles_for_amd_gpus_by_hiprtc_or_by_clang() {
    for name in ["MI50", "MI250X", "RX 6900 XT", "MI300X", "RX 7900 XTX"] {
        let device = Device::find_described(name).unwrap();
        match hip::compiler(&device.architecture) {
            Ok(compiler) => {
                println!("{name}: {}", compiler.identity());
                compile_a_sample(compiler.as_ref(), &device, &PROGRAMS[..4]);
            }
            Err(e) => println!("skipped: {e}; `scripts/setup.sh amd` installs it"),
        }
    }
}

#[test]
fn what_is_compiled_is_shown_with_what_it_needs_and_other_devices_are_refused_in_a_sentence() {
    if !nvrtc_or_skip() {
        return;
    }
    let problem = "M=64,N=64,K=64";
    let (out, err, code) = run(&["space", "gemm", problem, "--device", "H200", "--compile", "--json"]);
    assert_eq!(code, 0, "{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(answer["resources"]["registers"].as_u64().unwrap() > 16, "{answer}");
    let (out, _, code) = run(&["space", "gemm", problem, "--device", "H200", "--compile", "--sample", "3"]);
    assert!(code == 0 && out.lines().count() == 3 && out.lines().all(|l| l.contains(" registers, ")), "{out}");
    let (_, err, code) = run(&["space", "gemm", problem, "--device", "V100", "--compile"]);
    let expected = "does not compile for sm_70, only for sm_";
    assert!(code == 3 && err.contains(expected) && err.lines().count() == 1, "{code} {err}");
    // neither hipRTC nor clang is found
    let mut blind = seqtune(&["space", "gemm", problem, "--device", "RX 7900 XTX", "--compile"]);
    let (_, err, code) = text(blind.env("PATH", "").env_remove("SEQTUNE_CLANG").output().unwrap());
    if !Path::new("/opt/rocm").exists() {
        assert!(code == 3 && err.contains("clang is not installed") && err.lines().count() == 1, "{code} {err}");
    }
}

/// Compiled programs in a folder of the cache.
fn programs_in(cache: &Path) -> usize {
    std::fs::read_dir(cache.join("programs")).map_or(0, |entries| entries.count())
}

#[test]
fn programs_of_a_sweep_are_compiled_before_there_is_a_device() {
    if !nvrtc_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = || programs_in(folder.path());
    let problems = ["--problems", "M=64,N=64,K=64", "M=96,N=32,K=64", "M=64,N=64,K=64,transB=T"];
    let only = |device: &str, more: &[&str]| {
        let args = [
            "sweep",
            "gemm",
            "--device",
            device,
            "--compile-only",
            "--sample",
            "4",
            "--pool",
            "4",
            "--private-share",
            "0",
        ];
        text(seqtune(&[&args[..], &problems, more].concat()).env("SEQTUNE_CACHE", folder.path()).output().unwrap())
    };
    let (out, err, code) = only("H200", &[]);
    // the default config and four others at most, and the reference, of two layouts
    assert!(code == 0 && out.contains(" measurements on H200 are in the cache"), "{out}{err}");
    assert!((10..=12).contains(&programs()), "{}", programs());
    let made = programs();
    assert!(only("H200", &[]).2 == 0 && programs() == made, "they are found again");
    let (_, err, code) = only("V100", &[]);
    assert!(code == 3 && err.contains("does not compile for sm_70") && err.lines().count() == 1, "{code} {err}");
    let (_, err, code) = only("H200", &["--energy"]);
    assert!(code == 2 && err.contains("cannot be used with"), "{code} {err}");
    let (_, err, code) = run(&["sweep", "hpl", "--problems", "N=500", "--device", "H200", "--compile-only"]);
    assert!(code == 2 && err.contains("hpl is a program") && err.lines().count() == 1, "{code} {err}");
}

#[test]
fn a_reference_that_does_not_compile_is_told_before_there_is_a_device() {
    if !nvrtc_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let copied = Path::new("kernels/softmax");
    for file in std::fs::read_dir(copied).unwrap().flatten() {
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let reference = folder.path().join("reference.cl");
    let text = std::fs::read_to_string(&reference).unwrap();
    std::fs::write(&reference, text.replacen('{', "{ unknown_name = 1;", 1)).unwrap();
    let kernel = folder.path().display().to_string();
    let words = ["sweep", &kernel, "--problems", "rows=99,columns=77", "--sample", "2", "--device", "H200"];
    let (out, err, code) = run(&[&words[..], &["--compile-only"]].concat());
    let told = err.contains("the reference of kernel softmax: ") && err.contains("unknown_name");
    assert!(code == 1 && told, "{code} {out}{err}");
}

#[test]
fn programs_of_guided_sweeps_are_shared_and_those_of_a_validation_are_compiled_beforehand() {
    if !nvrtc_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = || programs_in(folder.path());
    let made = |args: &str, problems: &[&str]| {
        let words: Vec<&str> = args.split(' ').collect();
        let mut command = seqtune(&[&words[..], problems, &["--device", "H200", "--compile-only"]].concat());
        let (out, err, code) = text(command.env("SEQTUNE_CACHE", folder.path()).output().unwrap());
        assert!(code == 0, "{out}{err}");
        out
    };
    let problems = ["M=640,N=512,K=512", "M=640,N=512,K=1024", "M=648,N=512,K=512"];
    // the reference, the default, the first choices, and two more at most of one layout
    let out = made("sweep gemm --guided models/gemm-h200 --sample 6 --pool 2 --problems", &problems);
    assert!(programs() <= 7, "{out}");
    let before = programs();
    let out = made("validate models/gemm-h200 gemm --top 2 --random 2", &problems[..1]);
    assert!(out.contains("5 programs for 5 measurements on H200 are in the cache"), "{out}");
    assert!((before + 2..=before + 3).contains(&programs()), "the first choice and the default were there: {out}");
}

#[test]
fn further_problems_of_a_sweep_need_no_program_that_its_configs_have_not() {
    if !nvrtc_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let of = |pool: &str| {
        let line =
            format!("sweep softmax --problems rows=999,columns=777 --sample 8 --private-share 0 --pool-of {pool}");
        let words: Vec<&str> = line.split(' ').chain(["--device", "H200", "--compile-only"]).collect();
        let mut command = seqtune(&words);
        text(command.env("SEQTUNE_CACHE", folder.path()).output().unwrap())
    };
    let (out, err, code) = of("datasets/softmax/h200.sqt");
    assert!(code == 0 && out.contains("8 programs for 8 measurements"), "{out}{err}");
    let (_, err, code) = of("datasets/norm/h200.sqt");
    assert_eq!(code, 2);
    assert_eq!(err.trim(), "seqtune: --pool-of datasets/norm/h200.sqt: holds kernel norm, not softmax");
}

/// Counts what it is asked for.
struct Counting(AtomicUsize);

impl Compiler for Counting {
    fn identity(&self) -> String {
        "counting 1.0 -O3".into()
    }

    fn compile(&self, job: &Job) -> Result<Binary, Invalidity> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let resources = Resources { registers: 32, ..Resources::default() };
        Ok(Binary { code: job.source.as_bytes().repeat(100), resources })
    }
}

fn job<'a>(source: &'a str, defines: &'a [Define]) -> Job<'a> {
    Job { file: "k.cl", source, entry: "k", defines, group: vec![8, 8], dynamic_local_bytes: 0 }
}

#[test]
fn a_program_is_compiled_once_for_all_processes_and_again_where_its_file_is_damaged_or_anything_differs() {
    let folder = tempfile::tempdir().unwrap();
    let cached = || Cached::new(Counting(AtomicUsize::new(0)), Some(Store::new(folder.path().into(), 1 << 20)));
    let compiled = |c: &Cached<Counting>| c.inner().0.load(Ordering::Relaxed);
    let defines = [Define::new("A", "1")];
    let first = cached();
    let made = first.compile(&job("one", &defines)).unwrap();
    // another process: nothing but the folder is shared
    let second = cached();
    assert_eq!(second.compile(&job("one", &defines)).unwrap(), made);
    assert_eq!((compiled(&first), compiled(&second)), (1, 0));
    second.compile(&job("one", &[])).unwrap();
    second.compile(&job("two", &defines)).unwrap();
    second.compile(&Job { group: vec![8, 16], ..job("one", &defines) }).unwrap();
    assert_eq!(compiled(&second), 3, "definitions, source and geometry each make another program");
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap();
        std::fs::write(entry.path(), &bytes[..bytes.len() - 1]).unwrap();
    }
    assert_eq!(second.compile(&job("one", &defines)).unwrap(), made);
    assert_eq!(compiled(&second), 4, "a truncated file is made again");
    // sixteen at once, on the same few programs
    let third = cached();
    let jobs: Vec<String> = (0..64).map(|i| format!("source {}", i % 4)).collect();
    let all = on_threads(&jobs, 16, |source| Ok(third.compile(&job(source, &defines)).unwrap().code)).unwrap();
    assert!(jobs.iter().zip(all).all(|(source, code)| code == source.as_bytes().repeat(100)));
    let left = std::fs::read_dir(&folder).unwrap().flatten().filter(|e| e.path().extension().is_some()).count();
    assert_eq!(left, 0, "no file in the making is left");
}

#[test]
fn the_folder_of_programs_is_bounded_and_loses_what_was_used_longest_ago() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().into(), 10_000);
    let binary = Binary { code: vec![7; 1_000], resources: Resources::default() };
    for i in 0..20u64 {
        store.put(&format!("key{i}"), &binary);
        let file = std::fs::File::options().append(true).open(folder.path().join(format!("key{i}"))).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(i)).unwrap();
    }
    // read, so that it is as new as can be
    assert!(store.get("key0").is_some());
    store.trim();
    let kept: Vec<usize> = (0..20).filter(|i| folder.path().join(format!("key{i}")).exists()).collect();
    let bytes: u64 = std::fs::read_dir(&folder).unwrap().flatten().map(|e| e.metadata().unwrap().len()).sum();
    assert!(bytes <= 9_000, "{bytes}");
    assert_eq!(kept[0], 0, "{kept:?}");
    assert!(kept[1..].iter().eq((20 - kept.len() + 1..20).collect::<Vec<_>>().iter()), "{kept:?}");
}

#[test]
fn a_problem_is_compiled_for_a_described_device_by_its_architecture() {
    if !nvrtc_or_skip() {
        return;
    }
    let kernel = Kernel::open("gemm").unwrap();
    let problem: Problem = kernel.problem("M=64,N=64,K=64").unwrap();
    let compile = |device: &str| {
        let device = Device::find_described(device).unwrap();
        let compiler = compiler_for(&device).unwrap();
        compile_for(&compiler, &kernel, &problem, &kernel.default_config(), &device).unwrap().unwrap()
    };
    let (hopper, turing) = (compile("H100"), compile("T4"));
    assert_eq!(hopper, compile("H200"), "one architecture, one program");
    assert_ne!(hopper.code, turing.code);
    assert!(hopper.code.starts_with(b"\x7fELF"));
}

#[test]
fn a_gpu_newer_than_the_compiler_gets_ptx_of_the_newest_architecture_that_is_known() {
    if !nvrtc_or_skip() {
        return;
    }
    let kernel = Kernel::open("gemm").unwrap();
    let problem: Problem = kernel.problem("M=64,N=64,K=64").unwrap();
    let newest = Nvrtc::open(&format!("sm_{}", architectures().into_iter().max().unwrap())).unwrap();
    let newer = Nvrtc::open("sm_990").unwrap();
    assert_ne!(newer.identity(), newest.identity(), "the folder of programs tells them apart");
    let compile = |compiler: &Nvrtc| {
        let config = kernel.default_config();
        compile_for(compiler, &kernel, &problem, &config, &device("sm_990")).unwrap().unwrap()
    };
    let (finished, ptx) = (compile(&newest), compile(&newer));
    let text = std::str::from_utf8(&ptx.code).unwrap();
    assert!(text.contains(".visible .entry gemm(") && text.ends_with('\0'), "{text}");
    assert!(finished.code.starts_with(b"\x7fELF") && finished.resources.registers == ptx.resources.registers);
}
