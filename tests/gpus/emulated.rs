//! The programs of NVIDIA GPUs, run: the double of the driver takes what NVRTC makes of every kernel as PTX and runs it work-item by
//! work-item, with every access checked, on a GPU newer than any that NVRTC knows.

use crate::common::{assert_measured, build_double, configs_of_each, swept};
use seqtune_data::{Outcome, Record};
use seqtune_measure::backends::cuda::nvrtc::architectures;
use std::path::Path;
use std::sync::OnceLock;

/// The folder of the double, built once; `None`, with a word, where it or NVRTC is missing.
fn double() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    if architectures().is_empty() {
        println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
        return None;
    }
    let built = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        build_double("libcuda.c", &folder.path().join("libcuda.so.1")).then_some(folder)
    });
    built.as_ref().map(|folder| folder.path())
}

/// Every config of a kernel computes what its reference does, and touches nothing that it must not. Some of each problem are drawn.
fn assert_right(kernel: &str, problems: &[&str]) {
    let sample = configs_of_each(4).to_string();
    let Some(double) = double() else { return };
    let records = swept(kernel, problems, &sample, "cuda:0", Some(double));
    assert_measured(kernel, &records);
    let swept: std::collections::BTreeSet<&str> = records.iter().map(|r| &*r.problem).collect();
    assert_eq!(swept.len(), problems.len(), "{kernel}: {swept:?}");
    println!("{kernel}: {} configs right", records.len());
}

#[test]
fn products_are_right_for_odd_sizes_and_every_layout() {
    assert_right(
        "gemm",
        &[
            "M=1,N=1,K=1",
            "M=17,N=33,K=65",
            "M=64,N=64,K=32",
            "M=70,N=45,K=31,transA=T,transB=T,alpha=0.5,beta=2",
            "M=40,N=64,K=48,transB=T,dtype=f16",
            "M=96,N=30,K=20,transA=T,beta=1,dtype=f16",
            "M=136,N=128,K=72,transA=T",
            "M=128,N=136,K=40,transA=T,transB=T,dtype=f16",
        ],
    );
}

#[test]
fn convolutions_are_right_for_every_stride_padding_dilation_and_group() {
    assert_right(
        "conv2d",
        &[
            "N=1,C=1,H=1,W=1,K=1,R=1,S=1",
            "N=2,C=6,H=13,W=9,K=10,R=3,S=2,pad_h=1,stride_w=2,groups=2",
            "N=1,C=8,H=10,W=12,K=16,R=3,S=3,pad_h=2,pad_w=2,dilation_h=2,dilation_w=2,dtype=f16",
        ],
    );
}

#[test]
fn products_on_tensor_cores_are_right_for_odd_sizes_and_every_layout() {
    assert_right(
        "gemm_tc",
        &[
            "M=1,N=1,K=1",
            "M=17,N=33,K=65",
            "M=128,N=96,K=160",
            "M=77,N=54,K=31,transA=T,transB=T,alpha=0.5,beta=2",
            "M=64,N=128,K=96,transA=T,dtype=bf16",
            "M=100,N=72,K=200,transB=T,beta=1",
        ],
    );
}

/// Plants each fault, as (right, wrong, what is told of it), in a copy of the kernel, and sweeps `sample` configs of `problem` with it, of which
/// it must be told of `least`.
fn assert_found(
    (kernel, source): (&str, &str),
    problem: &str,
    (sample, least): (&str, usize),
    faults: &[(&str, &str, &str)],
) {
    for (right, wrong, expected) in faults {
        let folder = tempfile::tempdir().unwrap();
        for file in ["kernel.toml", "reference.cl", source] {
            let text = std::fs::read_to_string(Path::new("kernels").join(kernel).join(file)).unwrap();
            assert!(file != source || text.contains(right), "the kernel has no `{right}`");
            std::fs::write(folder.path().join(file), text.replace(right, wrong)).unwrap();
        }
        let Some(double) = double() else { return };
        let records = swept(&folder.path().display().to_string(), &[problem], sample, "cuda:0", Some(double));
        let told = |r: &&Record| matches!(&r.outcome, Outcome::Invalid(i) if i.detail.contains(expected));
        let outcomes: Vec<&Outcome> = records.iter().map(|r| &r.outcome).collect();
        assert!(records.iter().filter(told).count() >= least, "`{wrong}` for `{right}`: {outcomes:?}");
    }
}

#[test]
fn faults_in_gemm_tc_are_found_by_the_rule_that_they_break() {
    let faults = [
        ("    __syncthreads()\n", "    (void)0\n", "shared byte"),
        ("\"n\"(STAGES - 2)", "\"n\"(STAGES - 1)", "to which a copy is on its way"),
        ("filling = (STAGES - 1) * STAGE_BYTES;", "filling = 0;", "shared byte"),
        ("(LINES_ALONG_K ? run : line) < beside && ", "", "outside of global memory"),
        ("+ row) * B_STRIDE + part % 2 * 8)", "+ row) * B_STRIDE + part % 2 * 4)", "not aligned"),
        ("if (s < steps) a.step(s * STAGE_BYTES), ", "if (s < steps) ", "which nobody wrote"),
        ("+ lane / 4 + half * 8", "+ lane / 4 + half * 4", "the reference says"),
    ];
    assert_found(("gemm_tc", "gemm_tc.cu"), "M=130,N=72,K=200,transB=T", ("6", 3), &faults);
}

#[test]
fn faults_in_what_gemm_does_on_gpus_are_found_by_the_rule_that_they_break() {
    let faults = [
        ("barrier(CLK_LOCAL_MEM_FENCE)", "(void)0", "shared byte"),
        ("k0 + 2 * KWG <= K", "k0 < K", "outside of global memory"),
        ("to = local_at(line, run);", "to = 0;", "shared byte"),
        ("whole = pitch % (TURNED || INSIDE ? WORD / sizeof(real) : V) == 0 &&", "whole =", "not aligned"),
        ("min(line_of(c), beside - 1)", "line_of(c)", "outside of global memory"),
        ("from += step;", "from += step - 1;", "the reference says"),
    ];
    // not every config copies several elements at a time, or anything
    assert_found(("gemm", "gemm.cl"), "M=65,N=67,K=99", ("8", 1), &faults);
}
