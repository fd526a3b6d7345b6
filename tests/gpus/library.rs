//! The kernels of the library compute what their references do: on the CPU through OpenCL, and by the programs of NVIDIA GPUs, run work-item by
//! work-item in the double of the driver.

use crate::common::{assert_measured, build_double, opencl_or_skip, run, swept};
use seqtune_measure::backends::cuda::nvrtc::architectures;
use std::path::Path;

/// Small, odd problems of each kernel.
const PROBLEMS: [(&str, &[&str]); 14] = [
    ("attention", &["batch=1,heads=2,queries=9,keys=5", "batch=1,heads=1,queries=7,keys=19,causal=yes,dtype=f16"]),
    ("batched_gemm", &["batch=3,M=5,N=7,K=9", "batch=2,M=8,N=4,K=6,transA=T,transB=T,beta=0.5,dtype=f16"]),
    ("depthwise", &["N=1,C=2,H=7,W=7,pad_h=1,pad_w=1", "N=2,C=3,H=9,W=14,R=5,S=5,stride=2,pad_h=2,pad_w=2,dtype=f16"]),
    ("gemv", &["M=9,N=70", "M=70,N=9,trans=T,beta=0.5", "M=17,N=33,dtype=f16"]),
    ("histogram", &["n=300,batch=2,bins=16", "n=77,batch=5,bins=33,dtype=f16"]),
    ("nbody", &["targets=13,sources=9", "targets=40,sources=33,layout=soa"]),
    ("norm", &["rows=3,columns=70", "rows=5,columns=33,dtype=f16,kind=rms"]),
    ("reduction", &["rows=5,columns=77", "rows=33,columns=40,axis=rows", "rows=16,columns=128,dtype=f16"]),
    ("scan", &["rows=5,columns=77", "rows=16,columns=128,dtype=f16"]),
    ("softmax", &["rows=3,columns=70", "rows=5,columns=33,dtype=f16"]),
    ("spmv", &["rows=50,columns=50,nonzeros=250,band=15", "rows=37,columns=90,nonzeros=701,spread=50,band=60,run=3"]),
    ("stencil2d", &["H=1,W=37", "H=13,W=19,radius=2,points=box", "H=9,W=33,radius=3,dtype=f16"]),
    ("stencil3d", &["D=3,H=7,W=37", "D=5,H=9,W=18,radius=2,dtype=f16"]),
    ("transpose", &["rows=5,columns=7", "rows=40,columns=33,batch=2", "rows=64,columns=32,dtype=f16"]),
];

/// The three kernels of the article about Triton, and odd problems of theirs.
const ARTICLE: [&str; 3] =
    ["examples/triton-article/naive", "examples/triton-article/transposed", "examples/triton-article/tiled"];
const PRODUCTS: [&str; 3] = ["M=3,N=34,K=5", "M=17,N=33,K=9", "M=70,N=5,K=41"];

/// Sweeps so many configs of every kernel's problems, each of which must be right.
fn assert_right(device: &str, sample: usize, driver: Option<&Path>) {
    for (kernel, problems) in PROBLEMS.into_iter().chain(ARTICLE.map(|kernel| (kernel, &PRODUCTS[..]))) {
        let records = swept(kernel, problems, &sample.to_string(), device, driver);
        assert_measured(kernel, &records);
        assert_eq!(records.len(), problems.len() * sample, "{kernel}");
    }
}

#[test]
fn sampled_configs_of_every_kernel_agree_with_its_reference_on_the_cpu() {
    if opencl_or_skip() {
        assert_right("opencl:0", 2, None);
    }
}

#[test]
fn programs_for_nvidia_gpus_of_every_kernel_agree_with_its_reference() {
    if architectures().is_empty() {
        println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    if build_double("libcuda.c", &folder.path().join("libcuda.so.1")) {
        assert_right("cuda:0", 2, Some(folder.path()));
    }
}

#[test]
fn every_kernel_compiles_for_an_amd_gpu_whatever_its_parameters_are_called() {
    for (kernel, problems) in PROBLEMS {
        let args = ["space", kernel, problems[0], "--device", "MI50", "--compile", "--sample", "1"];
        let (out, err, code) = run(&args);
        if err.contains("not installed") {
            println!("skipped: {}; `scripts/setup.sh amd` installs it", err.trim());
            return;
        }
        assert_eq!(code, 0, "{kernel}: {out}{err}");
    }
}
