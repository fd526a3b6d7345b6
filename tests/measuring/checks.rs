//! Results against the reference kernel and against double precision on the host, on a real device.

use crate::common::{PATIENT, opencl_or_skip, run};
use seqtune_data::{Dataset, InvalidityKind, Outcome};
use std::path::Path;

/// Beyond what the reference is launched for on a CPU: 4.1 GFLOP.
const LARGE: &str = "M=1270,N=1271,K=1272";
const SMALL: &str = "M=100,N=70,K=30";

/// Copies a shipped kernel and changes one of its files.
fn changed(folder: &Path, file: &str, from: &str, to: &str) -> String {
    for entry in std::fs::read_dir("kernels/gemm").unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} does not contain {from}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    folder.display().to_string()
}

/// Sweeps one config; what became of it, or the error.
fn sweep(kernel: &str, problem: &str) -> Result<Outcome, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl").display().to_string();
    let args =
        ["sweep", kernel, "--device", "opencl:0", "--sample", "1", "--seed", "2", "-o", &path, "--problems", problem];
    let (_, err, _) = run(&[&args[..], &PATIENT].concat());
    // a config that fails is a record; where the problem cannot be measured there is none
    let mut records = Dataset::load(Path::new(&path)).map_or_else(|_| Vec::new(), |dataset| dataset.records);
    if records.is_empty() { Err(err) } else { Ok(records.remove(0).outcome) }
}

#[test]
fn a_wrong_reference_ends_the_run_and_a_large_problem_does_without_it() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = changed(folder.path(), "reference.cl", "float sum = 0.0f;", "float sum = 1.0f;");
    let err = sweep(&kernel, SMALL).unwrap_err();
    assert!(err.contains("the reference of kernel gemm is wrong here, or [exact] is: element 0 is"), "{err}");
    assert!(matches!(sweep(&kernel, LARGE), Ok(Outcome::Measured(_))));
}

const VECTORS: &str = r#"
name = "vectors"
meaning = "y = 2 x"
field = [{ name = "n", kind = "size", min = 1, max = 10000, shape = true, meaning = "length" }]
parameter = [{ name = "V", values = [1, 2], default = 1, meaning = "nothing" }]
argument = [{ name = "x", kind = "in", length = "n", element = "4" }, { name = "y", kind = "out", length = "n", element = "4" }]
program = { file = "k.cl", entry = "twice", global = ["n"], local = [] }
reference = { file = "k.cl", entry = "twice", global = ["n"], local = [] }
work = { flops = "n", bytes = "8 * n" }
"#;

#[test]
fn a_reference_that_writes_nothing_or_an_input_or_is_launched_wrongly_ends_the_run() {
    if !opencl_or_skip() {
        return;
    }
    let body = "{ y[get_global_id(0)] = 2 * x[get_global_id(0)]; }";
    let in_order = format!("__kernel void twice(__global const float *x, __global float *y) {body}");
    let swapped = format!("__kernel void twice(__global float *y, __global const float *x) {body}");
    let both = in_order.replace("const float", "float").replace("{ y", "{ x[0] = 7; y");
    let groups = VECTORS.replace("global = [\"n\"], local = []", "global = [\"n\"], local = [\"64\"]");
    let beyond = VECTORS.replace(
        "reference = { file = \"k.cl\", entry = \"twice\", global = [\"n\"]",
        "reference = { file = \"k.cl\", entry = \"twice\", global = [\"n + 8\"]",
    );
    let odd = VECTORS.replacen("element = \"4\"", "element = \"3\"", 1);
    let huge = VECTORS.replacen("length = \"n\"", "length = \"n * 1e30\"", 1);
    let third = VECTORS.replace("argument = [", "argument = [{ name = \"z\", kind = \"int\", value = \"n / 3\" }, ");
    for (source, toml, expected) in [
        (&in_order, VECTORS, ""),
        (&in_order, &odd, "argument `x` of kernel vectors: elements of 3 bytes; there are 4 (f32) and 2"),
        (&in_order, &huge, "argument `x` of kernel vectors: a length of 1"),
        (&in_order, &third, "argument `z` of kernel vectors: its value 33.3"),
        (&swapped, VECTORS, "the reference of kernel vectors writes `x`, which is of kind \"in\""),
        (&in_order.replace(body, "{ float z = x[get_global_id(0)]; }"), VECTORS, "leaves `y` as it was"),
        (&both, VECTORS, "writes `x`"),
        (&in_order.replace("twice", "thrice"), VECTORS, "k.cl has no function `twice`"),
        (&in_order, &beyond, "the reference of kernel vectors writes past the end of `y`"),
        (&in_order, &groups, "are no multiples of the local ones [64]"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernel.toml"), toml).unwrap();
        std::fs::write(folder.path().join("k.cl"), source).unwrap();
        match sweep(&folder.path().display().to_string(), "n=100") {
            Ok(Outcome::Measured(_)) => assert!(expected.is_empty(), "{source} was not noticed"),
            Ok(Outcome::Invalid(invalid)) => {
                assert!(!expected.is_empty() && invalid.detail.contains(expected), "{}", invalid.detail)
            }
            Ok(outcome) => panic!("{outcome:?}"),
            Err(err) => assert!(!expected.is_empty() && err.contains(expected), "{err} {source}"),
        }
    }
}

#[test]
fn configs_are_judged_on_the_problem_that_was_asked_for_not_on_the_smallest() {
    if !opencl_or_skip() {
        return;
    }
    // no config is legal for n = 1, for which programs are made ready; without `min` the smallest problem has nothing to launch
    let four = "constraint = [{ expr = \"n % (4 * V) == 0\", reason = \"no bounds are checked\" }]\nargument";
    let toml = VECTORS
        .replace("argument", four)
        .replace("global = [\"n\"], local = [] }\nreference", "global = [\"n / V\"], local = [\"4\"] }\nreference");
    let body = "{ for (int i = 0; i < V; i++) y[get_global_id(0) * V + i] = 2 * x[get_global_id(0) * V + i]; }";
    let source = format!(
        "#ifndef V\n#define V 1\n#endif\n__kernel void twice(__global const float *x, __global float *y) {body}"
    );
    for toml in [toml.clone(), toml.replace("min = 1, ", "")] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernel.toml"), &toml).unwrap();
        std::fs::write(folder.path().join("k.cl"), &source).unwrap();
        let found = sweep(&folder.path().display().to_string(), "n=96");
        assert!(matches!(found, Ok(Outcome::Measured(_))), "{found:?}");
    }
}

#[test]
fn a_large_problem_is_held_against_double_precision() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernel = changed(folder.path(), "kernel.toml", "factor = \"alpha\"", "factor = \"1.001 * alpha\"");
    let Ok(Outcome::Invalid(invalid)) = sweep(&kernel, LARGE) else { panic!("a wrong result was not noticed") };
    assert_eq!(invalid.kind, InvalidityKind::Correctness);
    assert!(invalid.detail.contains("double precision says"), "{}", invalid.detail);
}

#[test]
fn convolutions_and_halves_agree_with_double_precision() {
    if !opencl_or_skip() {
        return;
    }
    let shape = "N=2,C=8,H=15,W=12,K=12,R=3,S=2,stride_h=2,pad_h=2,pad_w=1,dilation_w=2,groups=4";
    for problem in [shape.to_string(), format!("{shape},dtype=f16")] {
        assert!(matches!(sweep("conv2d", &problem), Ok(Outcome::Measured(_))), "{problem}");
    }
    assert!(matches!(sweep("gemm", "M=65,N=33,K=100,transA=T,transB=T,beta=0.5,dtype=f16"), Ok(Outcome::Measured(_))));
}

#[test]
fn a_mistake_in_what_an_element_is_is_named() {
    for (from, to, expected) in [
        ("output = \"C\"", "output = \"A\"", "[exact]: there is no argument `A` of the kind"),
        ("at = \"m * N + n\"", "at = \"m * N + q\"", "[exact]: `m * N + q`"),
        ("factor = \"alpha\"", "within = \"k < 3\"", "`within` may not depend on `k`"),
        ("c = \"C\"", "c = \"D\"", "[library]: there is no argument `D`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let kernel = changed(folder.path(), "kernel.toml", from, to);
        let (_, err, code) = run(&["space", &kernel, "M=1,N=1,K=1", "--device", "H100"]);
        assert!(code == 2 && err.contains(expected), "{code} {err}");
    }
}

#[test]
fn a_source_in_cuda_is_refused_at_once_on_a_device_that_runs_opencl_alone() {
    if !opencl_or_skip() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl").display().to_string();
    let asked = ["gemm_wg", "M=64,N=64,K=64", "--device", "opencl:0"];
    for verb in [&["validate", "models/gemm_wg-h200"][..], &["sweep", "-o", &path]] {
        let (out, err, code) =
            run(&[verb, &asked[..1], if verb[0] == "sweep" { &["--problems"] } else { &[] }, &asked[1..]].concat());
        assert_eq!((&*out, code), ("", 2), "{err}");
        assert!(err.contains("gemm_wg.cu is CUDA C++, which "), "{err}");
        assert!(!Path::new(&path).exists());
    }
}
