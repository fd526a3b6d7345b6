#!/usr/bin/env bash
# Makes the figures of examples/triton-article/README.md. Without a GPU.
#
#   scripts/figures/triton_article.sh count     compiles the kernels by Triton 3.6.0, counts what their machine code does, and writes the verdicts down;
#                                       runs them in Triton's interpreter, too
#   scripts/figures/triton_article.sh cpu       sweeps the kernels in OpenCL on this machine's processor, and writes the best times down (some minutes)
#
# `count` needs 6 GB of disk for PyTorch (2.5 GB to fetch), kept under target/torch; `cpu` needs `cargo build --release`.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${SEQTUNE:-target/release/seqtune}
out=target/triton-article
mkdir -p "$out"
case ${1:-} in
count)
    source scripts/integrations/torch_environment.sh
    torch_alone
    TRITON_INTERPRET=1 "$torch_python" examples/triton-article/measure.py --dry
    TRITON_CACHE_DIR=$PWD/$out/cache "$torch_python" scripts/figures/triton_article.py count
    scripts/figures/triton_article.py table > "$out/table.md"
    scripts/figures/put_figures.py triton_article.py "$out/table.md" docs/results/tables/triton-article.md
    scripts/figures/triton_article.py check
    ;;
cpu)
    for kernel in naive transposed tiled; do
        "$program" sweep "./examples/triton-article/$kernel" --device opencl:0 --sample 16 --pool 16 --private-share 0 --timeout 60s -o "$out/$kernel.jsonl" \
            --problems M=128,N=128,K=128 M=256,N=256,K=256 M=384,N=384,K=384
    done
    # the peaks of this machine, and what a model of another kernel makes of the same product
    "$program" validate models/gemm-cpu gemm M=128,N=128,K=128 M=256,N=256,K=256 M=384,N=384,K=384 --device opencl:0 --top 3 --no-confirm |
        tee "$out/gemm.md"
    scripts/figures/triton_article.py cpu "$out" | tee "$out/cpu.md"
    scripts/figures/put_figures.py triton_article.sh "$out/cpu.md" docs/results/tables/triton-article-cpu.md
    ;;
*)
    sed -n 's/^# \{0,1\}//p' "$0" | sed 1d >&2
    exit 2
    ;;
esac
