//! What compilers without a GPU are told, and what they say: the work-group's size, definitions, and why a program does not compile.

use crate::common::test_generator;
use rand::Rng;
use seqtune_data::Resources;
use seqtune_kernel::{Define, Kernel};
use seqtune_measure::backends::cuda::nvrtc::{Nvrtc, architectures};
use seqtune_measure::backends::hip;
use seqtune_measure::compile::{Compiler, Job};

/// One GPU of each kind: compiled for by hipRTC where that knows it, else by clang.
const AMD: [&str; 4] = ["gfx90a", "gfx1030", "gfx942", "gfx1100"];

/// The compilers for AMD GPUs that open here, with a word on those that do not.
fn amd() -> Vec<(&'static str, Box<dyn Compiler>)> {
    let opened = AMD.iter().filter_map(|architecture| match hip::compiler(architecture) {
        Ok(compiler) => Some((*architecture, compiler)),
        Err(e) => {
            println!("skipped: {e}; `scripts/setup.sh amd` installs it");
            None
        }
    });
    opened.collect()
}

fn nvrtc_or_skip() -> bool {
    let there = !architectures().is_empty();
    if !there {
        println!("skipped: NVRTC does not open here; `scripts/setup.sh nvrtc` fetches it");
    }
    there
}

fn job<'a>(file: &'a str, source: &'a str, group: &[u32], defines: &'a [Define]) -> Job<'a> {
    Job { file, source, entry: "k", defines, group: group.into(), dynamic_local_bytes: 0 }
}

fn compiled(compiler: &dyn Compiler, job: &Job) -> Result<Resources, String> {
    compiler.compile(job).map(|binary| binary.resources).map_err(|fault| fault.detail)
}

/// A kernel that keeps so many floats at once, with `head` before its name.
fn many_floats(head: &str, count: usize) -> String {
    format!(
        "{head} k(__global float *p)
{{
    float a[{count}];
    const int at = get_local_id(0);
#pragma unroll
    for (int i = 0; i < {count}; ++i) a[i] = p[i * 64 + at];
    for (int r = 0; r < p[0]; ++r)
#pragma unroll
        for (int i = 0; i < {count}; ++i) a[i] = a[i] * a[(i + 7) % {count}] + a[(i + 13) % {count}];
#pragma unroll
    for (int i = 0; i < {count}; ++i) p[i * 64 + at] = a[i];
}}
"
    )
}

#[test]
fn a_kernel_that_states_no_work_group_gets_the_registers_of_the_one_that_it_is_launched_with() {
    for (architecture, compiler) in amd() {
        let source = many_floats("__kernel void", 120);
        let needs = |group: &[u32]| compiled(compiler.as_ref(), &job("k.cl", &source, group, &[])).unwrap();
        let (small, large, unknown) = (needs(&[64]), needs(&[32, 32]), needs(&[]));
        assert!(small.spill_bytes == 0 && small.registers > 120, "{architecture}: {small:?}");
        assert!(large.registers <= small.registers, "{architecture}: {large:?}");
        // what is not known is compiled for the largest
        assert_eq!((unknown.registers, unknown.spill_bytes), (large.registers, large.spill_bytes), "{architecture}");
        // what the source says counts
        let stated = many_floats("__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void", 120);
        let stated = compiled(compiler.as_ref(), &job("k.cl", &stated, &[64], &[])).unwrap();
        assert_eq!(stated.registers, small.registers, "{architecture}");
    }
}

/// A kernel of CUDA's and HIP's words; `T` and `U` are names that compilers' own headers use.
const WORDS: &str = "extern \"C\" __global__ void __launch_bounds__(WG) k(const float *__restrict__ a, float *b, int n)
{
    __shared__ float s[WG];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? fmaf(a[i], T, expf(a[i])) : 0.0f;
    __syncthreads();
    float x = s[threadIdx.x ^ 1] + fmaxf(0.0f, sqrtf(fabsf(s[0])));
    for (int m = warpSize / 2; m > 0; m /= 2) x += __shfl_xor(x, m);
    const float4 v = make_float4(x, x, x, x);
    atomicAdd(b, min(v.x, v.w));
    if (i < n) b[i] = x * U;
}
";

#[test]
fn a_cuda_kernel_compiles_for_every_amd_gpu_whatever_its_parameters_are_called() {
    let defines = ["WG", "T", "U"].map(|name| Define::new(name, if name == "WG" { "128" } else { "4" }));
    for (architecture, compiler) in amd() {
        let needs = compiled(compiler.as_ref(), &job("k.cu", WORDS, &[128], &defines));
        let needs = needs.unwrap_or_else(|why| panic!("{architecture}: {why}"));
        assert!(needs.local_bytes == 512 && needs.groups_per_unit > 0, "{architecture}: {needs:?}");
    }
    if nvrtc_or_skip() {
        // the lanes of a warp are asked for by another word there
        let source = WORDS.replace("__shfl_xor(x, m)", "__shfl_xor_sync(0xffffffffu, x, m)");
        let compiler = Nvrtc::open("sm_90").unwrap();
        assert_eq!(compiled(&compiler, &job("k.cu", &source, &[128], &defines)).unwrap().local_bytes, 512);
    }
}

#[test]
fn launch_bounds_take_effect_on_every_amd_gpu() {
    let head = |bounds: &str| {
        let text = many_floats(&format!("extern \"C\" __global__ void {bounds}"), 220);
        text.replace("__global float", "float").replace("get_local_id(0)", "threadIdx.x")
    };
    for (architecture, compiler) in amd() {
        let registers = |bounds: &str| {
            let source = head(bounds);
            compiled(compiler.as_ref(), &job("k.cu", &source, &[], &[])).unwrap().registers
        };
        let (none, few, pressed) =
            (registers(""), registers("__launch_bounds__(64)"), registers("__launch_bounds__(64, 8)"));
        assert!(few >= none, "{architecture}: {few} registers for 64 work-items, {none} for any number");
        assert!(pressed <= few, "{architecture}: {pressed} registers for eight wavefronts, {few} for any number");
        assert!(none < few || pressed < few, "{architecture}: neither does anything");
    }
}

#[test]
fn a_program_that_does_not_compile_says_what_is_wrong_first() {
    let wrong = "__kernel void k(__global float *p)\n{\n    p[0] = nothing_of_the_name;\n}\n";
    for (architecture, compiler) in amd() {
        let why = compiled(compiler.as_ref(), &job("k.cl", wrong, &[64], &[])).unwrap_err();
        let first = why.lines().next().unwrap();
        assert!(first.contains("error") && first.contains("nothing_of_the_name"), "{architecture}: {why}");
    }
    if !nvrtc_or_skip() {
        return;
    }
    let nvrtc = |architecture: &str, source: &str| {
        compiled(&Nvrtc::open(architecture).unwrap(), &job("k.cl", source, &[64], &[]))
    };
    assert!(nvrtc("sm_90", wrong).unwrap_err().contains("nothing_of_the_name"));
    // the assembler tells no reason where it tells what it made
    let floats = 12_288 + test_generator(1).random_range(1..2_000);
    let large = format!(
        "__kernel void k(__global float *p)\n{{\n    __local float t[{floats}];\n    t[get_local_id(0)] = p[0];\n    barrier(1);\n    p[1] = t[get_local_id(0) ^ 1];\n}}\n"
    );
    for architecture in ["sm_75", "sm_80", "sm_86", "sm_89"] {
        let why = nvrtc(architecture, &large).unwrap_err();
        assert!(
            why.starts_with("ptxas error") && why.contains(&format!("{:#x} bytes, 0xc000 max", 4 * floats)),
            "{why}"
        );
    }
    // these two may declare what others have to ask for at launch
    for architecture in ["sm_90", "sm_120"] {
        assert_eq!(nvrtc(architecture, &large).unwrap().local_bytes, 4 * floats, "{architecture}");
    }
    let beyond = large.replace(&format!("[{floats}]"), "[60000]");
    assert!(nvrtc("sm_90", &beyond).unwrap_err().contains("0x3a980 bytes"));
}

/// All compilers that open here, by architecture.
fn all() -> Vec<(&'static str, Box<dyn Compiler>)> {
    let mut all = amd();
    if nvrtc_or_skip() {
        all.push(("sm_90", Box::new(Nvrtc::open("sm_90").unwrap())));
    }
    all
}

#[test]
fn variables_of_an_address_space_are_what_they_are_in_opencl_however_they_are_written() {
    let kernel = |body: &str| format!("#define LDS __local\nkernel void k(global float *p)\n{{\n    {body}\n}}\n");
    // bytes of local memory
    for (body, bytes) in [
        ("__local float a[64]; a[get_local_id(0)] = *p; barrier(1); p[1] = a[5];", 256),
        ("volatile local float a[64]; a[get_local_id(0)] = *p; barrier(1); p[1] = a[5];", 256),
        ("LDS float a[64]; a[get_local_id(0)] = *p; barrier(1); p[1] = a[5];", 256),
        ("__local float __attribute__((aligned(16))) a[64]; a[get_local_id(0)] = *p; barrier(1); p[1] = a[5];", 256),
        ("__local float sum; if (get_local_id(0) == 3) sum = *p; barrier(1); p[get_local_id(0)] = sum;", 4),
    ] {
        for (architecture, compiler) in all() {
            let needs = compiled(compiler.as_ref(), &job("k.cl", &kernel(body), &[64], &[])).unwrap();
            // NVIDIA's assembler counts with what alignment adds
            assert!((bytes..bytes + 16).contains(&needs.local_bytes), "{architecture}: {body}: {needs:?}");
        }
    }
    let table = "constant float t[12288] = {1};\n__constant float u[12288] = {2};\nkernel void k(global float *p) { *p = t[(int)p[0]] * u[(int)p[1]]; }\n";
    let three = "kernel void k(global float *p) { int is_as_in_opencl[sizeof(float3) == 16 && sizeof(uchar3) == 4 ? 1 : -1]; p[0] = is_as_in_opencl[0] = 1; }\n";
    for (architecture, compiler) in all() {
        let compile = |source: &str| compiled(compiler.as_ref(), &job("k.cl", source, &[64], &[]));
        assert!(compile(three).is_ok(), "{architecture}");
        // 64 KiB of constants are all that NVIDIA's GPUs have
        let found = compile(table).map_err(|why| why.contains("too much global constant data"));
        assert_eq!(found.map(|_| ()), if architecture == "sm_90" { Err(true) } else { Ok(()) }, "{architecture}");
    }
}

#[test]
fn headers_of_the_standard_library_are_there_and_those_of_cuda_where_they_are_installed() {
    let kernel =
        "extern \"C\" __global__ void k(float *p, uint64_t n) { p[0] = n > 1 ? INFINITY : (float)(int16_t)n; }\n";
    let standard = format!("#include <cstdint>\n#include <cmath>\n#include <hip/hip_runtime.h>\n{kernel}");
    for (architecture, compiler) in all() {
        let found = compiled(compiler.as_ref(), &job("k.cu", &standard, &[64], &[]));
        assert!(found.is_ok(), "{architecture}: {found:?}");
    }
    if nvrtc_or_skip() {
        let half = "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <mma.h>\n\
                    extern \"C\" __global__ void k(__half *p) { p[0] = __hadd(p[1], p[2]); }\n";
        let found = compiled(&Nvrtc::open("sm_90").unwrap(), &job("k.cu", half, &[64], &[]));
        match found {
            Err(why) if why.contains("cannot open source file") || why.contains("could not open source file") => {
                println!("skipped: {why}; `scripts/setup.sh nvrtc` fetches CUDA's headers")
            }
            found => assert!(found.is_ok(), "{found:?}"),
        }
    }
}

#[test]
fn a_kernel_of_another_name_is_told_by_the_names_that_are_there() {
    for (architecture, compiler) in all() {
        let why = |file: &str, source: &str| compiled(compiler.as_ref(), &job(file, source, &[64], &[])).unwrap_err();
        let other = why("k.cl", "// __kernel void k(\n__kernel void scale(__global float *p) { p[0] = 1; }\n");
        assert!(other.contains("no kernel k, which `entry` names; it has scale"), "{architecture}: {other}");
        let longer = why("k.cu", "__global__ void k(float *p) { p[0] = 1; }\n");
        assert!(longer.contains("write `extern \"C\"` before `__global__ void k`"), "{architecture}: {longer}");
    }
}

const KERNEL: &str = "name = 'k'\nmeaning = 'y = 2 x'\nfield = [{ name = 'n', kind = 'size', min = 1, max = 9, shape = true, meaning = 'n' }]\n\
    parameter = [{ name = 'WG', values = [1, 2], default = 1, meaning = 'group' }]\nwork = { flops = 'n', bytes = 'n' }\n\
    argument = [{ name = 'y', kind = 'out', length = 'n', element = '4' }]\nprogram = { file = 'k.cl', entry = 'k', global = ['n'], local = [] }\n\
    reference = { file = 'reference.cl', entry = 'k', global = ['n'], local = [] }\n";

#[test]
fn files_that_a_source_includes_from_its_folder_are_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("kernel.toml", KERNEL.to_string()),
        ("reference.cl", "__kernel void k(__global const float *x, __global float *y, int n) { y[0] = x[0]; }\n".into()),
        ("k.cl", "#include \"tile.h\"\n__kernel void k(__global const float *x, __global float *y, int n) { y[0] = TWO * x[0]; }\n".into()),
    ];
    for (name, text) in &files {
        crate::common::write(folder.path(), name, text.as_bytes());
    }
    let kernel = |header: &str| {
        crate::common::write(folder.path(), "tile.h", header.as_bytes());
        Kernel::open(&folder.path().display().to_string()).unwrap()
    };
    let (two, commented, three) =
        (kernel("#define TWO 2\n"), kernel("// twice\n#define TWO 2\n"), kernel("#define TWO 3\n"));
    assert_eq!(two.space_hash(), commented.space_hash());
    assert_ne!(two.space_hash(), three.space_hash());
    for (architecture, compiler) in all() {
        let source = &two.files["k.cl"];
        let found = compiled(compiler.as_ref(), &job("k.cl", source, &[64], &[]));
        assert!(found.is_ok(), "{architecture}: {found:?}");
    }
}

#[test]
fn numbers_that_opencl_c_names_are_there_and_in_cuda_without_an_include() {
    let nvidia = nvrtc_or_skip().then(|| Nvrtc::open("sm_90").unwrap());
    let nvidia = nvidia.map(|nvrtc| ("sm_90", Box::new(nvrtc) as Box<dyn Compiler>));
    for (architecture, compiler) in nvidia.into_iter().chain(amd()) {
        let numbers = "p[0] = INFINITY + NAN + FLT_MAX + FLT_MIN + FLT_EPSILON";
        let opencl = format!("__kernel void k(__global float *p) {{ {numbers} + MAXFLOAT + M_PI_F + HUGE_VALF; }}\n");
        let cuda = format!("extern \"C\" __global__ void k(float *p) {{ {numbers} + (float)M_PI; }}\n");
        let own = format!("#include <math.h>\n#define FLT_MAX 1e30f\n{cuda}");
        for (file, source) in [("k.cl", &opencl), ("k.cu", &cuda), ("k.cu", &own)] {
            let made = compiled(compiler.as_ref(), &job(file, source, &[64], &[]));
            assert!(made.is_ok(), "{architecture}, {file}: {made:?}");
        }
    }
}
