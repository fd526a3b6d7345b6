//! Problems that a page begins with.

use seqtune_kernel::ConfigSpace;
use seqtune_kernel::kernel_toml::spec::Field;
use seqtune_predict::{Device, Kernel, Problem};

/// One of these suits every shipped kernel: the first that the kernel takes and has configs for.
const USUAL: [&str; 17] = [
    "M=300,N=200,K=100",
    "N=16,C=64,H=28,W=28,K=64,R=3,S=3,pad_h=1,pad_w=1",
    "width=4096,height=4096",
    "m=512,k=1024,n=256,mat1_stride_0=1024,mat1_stride_1=1,mat2_stride_0=256,mat2_stride_1=1",
    "b=4,h=16,m=1024,n=64,kv_seq_length=1024,q_stride_0=1048576,q_stride_1=65536,q_stride_2=64,q_stride_3=1,subgraph_num_nodes=2,subgraph_num_args_used=5",
    "direction=F,N=16,C=64,H=28,W=28,K=128,R=1,S=1",
    "direction=W,N=16,C=64,H=28,W=28,K=128,R=1,S=1",
    "direction=F,N=16,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1",
    "direction=B,N=16,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1",
    "direction=W,N=16,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1",
    "direction=W,N=12,C=72,H=30,W=30,K=144,R=5,S=5,pad_h=2,pad_w=2,batch_loops=4",
    "direction=F,dtype=FP16,layout=NHWC,N=16,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1",
    "direction=B,dtype=FP16,layout=NHWC,N=16,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1",
    "direction=F,dtype=INT8,N=16,C=64,H=28,W=28,K=128,R=3,S=3,pad_h=1,pad_w=1",
    "direction=F,dtype=FP16,N=4,C=64,H=28,W=28,D=8,K=128,R=3,S=3,T=3,pad_h=1,pad_w=1,pad_d=1",
    "direction=B,dtype=FP16,N=4,C=64,H=28,W=28,D=8,K=128,R=3,S=3,T=3,pad_h=1,pad_w=1,pad_d=1",
    "direction=W,dtype=FP16,N=4,C=64,H=28,W=28,D=8,K=128,R=3,S=3,T=3,pad_h=1,pad_w=1,pad_d=1",
];

/// Sizes that are tried where nothing usual suits.
const SIZES: [u64; 8] = [1024, 256, 100, 32, 8, 4, 2, 1];

/// A problem of `kernel` that has legal configs on `device`, where one is found; else every field's default or least value.
pub fn start(kernel: &Kernel, device: &Device) -> Problem {
    let usual = USUAL.iter().filter_map(|text| kernel.problem(text).ok());
    let sizes = SIZES.iter().map(|size| even(kernel, *size)).filter(|problem| keeps_rules(kernel, problem));
    let is_open = |problem: &Problem| {
        ConfigSpace::new(kernel, problem, device).completions(&[]).is_ok_and(|open| !open.is_empty())
    };
    usual.chain(sizes).find(is_open).unwrap_or_else(|| even(kernel, 0))
}

/// Every size without a default at `size`, as far as its range allows.
fn even(kernel: &Kernel, size: u64) -> Problem {
    let value = |field: &Field| {
        let default = field.default.as_ref().and_then(|text| field.value(text).ok());
        // of a choice without a default, whose range is empty, the first
        default.unwrap_or(size.clamp(field.min, field.max.max(field.min)) as f64)
    };
    Problem { values: kernel.fields.iter().map(value).collect() }
}

fn keeps_rules(kernel: &Kernel, problem: &Problem) -> bool {
    let env = kernel.env(problem, None);
    kernel.rules.iter().all(|rule| rule.expr.eval(&env) == 1.0)
}
