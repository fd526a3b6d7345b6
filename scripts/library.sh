#!/usr/bin/env bash
# Sweeps the kernels of the library on this machine's processor through OpenCL and trains a model of each; goes on where it was stopped.
#
#   scripts/library.sh sweep [KERNEL...]    150 problems of each by 60 configs, into target/library/KERNEL.jsonl (some minutes each, on a quiet machine)
#   scripts/library.sh train [KERNEL...]    models of them, into target/library/KERNEL (needs seqtune-train)
#   scripts/library.sh judge [KERNEL...]    prints how good they are on the shapes that they held out
set -euo pipefail
cd "$(dirname "$0")/.."
program=${SEQTUNE:-target/release/seqtune}
verb=${1:-} out=target/library
[ $# = 0 ] || shift
kernels=("$@")
[ $# -gt 0 ] || kernels=(softmax gemv transpose reduction norm stencil2d spmv histogram scan nbody stencil3d depthwise batched_gemm attention)
mkdir -p "$out"
for kernel in "${kernels[@]}"; do
    case $verb in
    sweep)
        grep -v '^#' "datasets/problems/$kernel.txt" | head -n 150 > "$out/$kernel.txt"
        "$program" sweep "$kernel" --problems "$out/$kernel.txt" --sample 60 --pool 80 --fresh 0 --timeout 60s --device opencl:0 -o "$out/$kernel.jsonl"
        ;;
    train)
        "$program" train "$out/$kernel.jsonl" -o "$out/$kernel" --members 2
        ;;
    judge)
        "$program" evaluate "$out/$kernel" "$out/$kernel.jsonl" --worst 0
        ;;
    *)
        sed -n 's/^# \{0,1\}//p' "$0" | sed 1d >&2
        exit 2
        ;;
    esac
done
