#!/usr/bin/env bash
# The whole way on this machine: set-up, build, a small sweep of gemm, a model, predictions for sizes outside the sweep,
# and their validation on the device. Interrupted and started again, it goes on where it was. Results are under quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."
began=$SECONDS
step() { printf '\n== %s (%d s gone)\n' "$*" $((SECONDS - began)) >&2; }

step "1/6 set-up"
scripts/setup.sh
step "2/6 build"
cargo build --release
seqtune=target/release/seqtune
out=quickstart
mkdir -p "$out"

step "3/6 sweep: 32 sizes of gemm, 50 configs each, on this machine's OpenCL device"
"$seqtune" sweep gemm --problems datasets/problems/gemm_quickstart.txt --sample 50 --pool 70 --fresh 0.02 \
    -o "$out/gemm.jsonl" --pack "$out/gemm.sqt"
step "4/6 train"
[ -e "$out/model/model.safetensors" ] || "$seqtune" train "$out/gemm.sqt" -o "$out/model" --epochs 60 --members 2
step "5/6 predict sizes outside the sweep"
sizes=(M=200,N=300,K=100 M=512,N=512,K=512 M=1,N=768,K=768 M=640,N=48,K=256 M=96,N=1000,K=64,transB=T M=333,N=222,K=111)
"$seqtune" predict "$out/model" gemm "${sizes[@]}"
step "6/6 validate: top 5 predictions, the default and 30 random configs, measured side by side"
"$seqtune" validate "$out/model" gemm "${sizes[@]}" --top 5 --search 30 --plot "$out/validation.svg" | tee "$out/validation.md"
step "done; the table is in $out/validation.md, the plot in $out/validation.svg"
