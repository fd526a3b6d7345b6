//! Programs that use what Hopper alone has, run without it: the double of the driver's interpreter takes them as PTX.

use crate::common::{configs_of_each, root, test_generator};
use seqtune_kernel::threads::on_threads;
use seqtune_kernel::{Config, ConfigSpace, Device, Kernel, Problem};
use seqtune_measure::backends::cuda::nvrtc::{Nvrtc, architectures};
use seqtune_measure::compile::{Compiler, compile_for};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter, built once; `None`, with a word, where a compiler is missing.
fn interpreter() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    if !architectures().contains(&90) {
        println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
        return None;
    }
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ptx_product");
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-Wall", "-Werror", "-Wno-unused-parameter", "-o"]).arg(&program);
        let Ok(output) = cc.arg(root().join("tests/doubles/ptx_product.c")).arg("-lm").output() else {
            println!("skipped: no C compiler is here; `apt-get install gcc` brings one");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some((folder, program))
    });
    built.as_ref().map(|(_, program)| program.as_path())
}

/// A product: sizes, whether A and B are transposed, whether values are bf16, alpha and beta.
type Product = ([u32; 3], [bool; 3], [&'static str; 2]);

fn problem_of(kernel: &Kernel, ([m, n, k], [a, b, bf16], [alpha, beta]): &Product) -> Problem {
    let turned = |is: &bool| if *is { "T" } else { "N" };
    let dtype = if *bf16 { "bf16" } else { "f16" };
    let (a, b) = (turned(a), turned(b));
    kernel.problem(&format!("M={m},N={n},K={k},transA={a},transB={b},alpha={alpha},beta={beta},dtype={dtype}")).unwrap()
}

/// Runs `sample` random configs; each with what the interpreter says of it, nothing where the product is right.
fn run(program: &Path, kernel: &Kernel, product: &Product, sample: usize) -> Vec<(String, String)> {
    let device = Device::find_described("H200").unwrap();
    let problem = problem_of(kernel, product);
    let compiler = Nvrtc::open("sm_90").unwrap().into_ptx();
    let launch = &kernel.source().unwrap().program;
    let mut rng = test_generator(u64::from(product.0[0]));
    let configs = ConfigSpace::new(kernel, &problem, &device).counter().sample_distinct(sample, &mut rng).unwrap();
    let say = |config: &Config| {
        let binary = compile_for(&compiler, kernel, &problem, config, &device)?;
        let code = binary.unwrap_or_else(|why| panic!("{}: {}", kernel.show_config(config), why.detail)).code;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), code).unwrap();
        let env = kernel.env_of(&problem, Some(&device), config);
        let items = launch.local[0].eval(&env);
        let shared = launch.dynamic_local.as_ref().unwrap().eval(&env);
        let launched = [launch.global[0].eval(&env) / items, items, shared].map(|x| x.to_string());
        let mut command = Command::new(program);
        command.arg(file.path()).arg(&launch.entry).args(product.0.map(|x| x.to_string()));
        command.args(product.1.map(|is| u8::from(is).to_string())).args(product.2).args(launched);
        let said = String::from_utf8_lossy(&command.output().unwrap().stdout).trim().to_string();
        Ok((kernel.show_config(config), said))
    };
    on_threads(&configs, 2, say).unwrap()
}

#[test]
fn products_of_warpgroups_are_right_for_odd_sizes_and_every_layout() {
    let Some(program) = interpreter() else { return };
    let kernel = Kernel::open("gemm_wg").unwrap();
    let sample = configs_of_each(4);
    for product in [
        ([1, 1, 1], [false; 3], ["1", "0"]),
        ([130, 264, 136], [false; 3], ["1", "0"]),
        ([17, 40, 65], [false, false, true], ["1", "1"]),
        ([77, 54, 31], [true, true, false], ["0.5", "2"]),
        ([200, 136, 72], [true, false, true], ["1", "0"]),
        ([100, 72, 200], [false, true, false], ["1", "1"]),
    ] {
        for (config, said) in run(program, &kernel, &product, sample) {
            assert_eq!(said, "", "{product:?} {config}");
        }
    }
}

#[test]
fn programs_are_compiled_for_what_their_architecture_alone_has() {
    if !architectures().contains(&90) {
        return;
    }
    let target = |architecture: &str| Nvrtc::open(architecture).unwrap().identity();
    assert!(target("sm_90").contains("cubin --gpu-architecture=sm_90a "), "{}", target("sm_90"));
    assert!(target("sm_80").contains("cubin --gpu-architecture=sm_80 "), "{}", target("sm_80"));
    // of a GPU that is not known, nothing is known
    let unknown = target("sm_93");
    assert!(unknown.contains("PTX None") && unknown.contains(" --gpu-architecture=sm_90 "), "{unknown}");
}

#[test]
fn faults_in_gemm_wg_are_found_by_the_rule_that_they_break() {
    let Some(program) = interpreter() else { return };
    for (right, wrong, expected) in [
        ("asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\")", "(void)0", "not fenced off"),
        ("        __syncthreads();\n", "", "written since the last barrier"),
        ("\"n\"(AHEAD - 1)", "\"n\"(AHEAD)", "to which a copy is on its way"),
        ("\"n\"(IN_FLIGHT)", "\"n\"(IN_FLIGHT + 1)", "shared byte"),
        ("asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\")", "(void)0", "no wgmma.fence"),
        ("filling = AHEAD * STAGE_BYTES", "filling = 0", "shared byte"),
        ("(LINES_ALONG_K ? along : mine) < beside && ", "", "outside of global memory"),
        ("(run * 2 ^ line % 8 * 16)", "run * 2", "off by"),
        ("#define K_MAJOR_STRIDE ATOM", "#define K_MAJOR_STRIDE 512", "off by"),
        ("half * 8 + lane / 4", "half * 4 + lane / 4", "off by"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for file in ["kernel.toml", "reference.cl", "gemm_wg.cu"] {
            let text = std::fs::read_to_string(Path::new("kernels/gemm_wg").join(file)).unwrap();
            assert!(file != "gemm_wg.cu" || text.contains(right), "the kernel has no `{right}`");
            std::fs::write(folder.path().join(file), text.replace(right, wrong)).unwrap();
        }
        let kernel = Kernel::open(&folder.path().display().to_string()).unwrap();
        let found = run(program, &kernel, &([130, 72, 520], [false, true, false], ["1", "0"]), 4);
        let told = found.iter().filter(|(_, said)| said.contains(expected)).count();
        assert!(told >= 2, "`{wrong}` for `{right}`: {found:?}");
    }
}
