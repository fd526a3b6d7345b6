#!/usr/bin/env bash
# The whole way on this machine: a first prediction, then a small sweep of gemm, a model of it, predictions for sizes outside the sweep, and
# their validation on the device. Interrupted and started again, it goes on where it was. Results are under quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."
began=$SECONDS
step() { printf '\n== %s\n   (%s; %d s gone)\n' "$1" "$2" $((SECONDS - began)) >&2; }
out=quickstart
mkdir -p "$out"

step "1/7 build the command line" "3 minutes the first time, 700 MB under target/"
command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.89 or newer (rustup.rs), then run this again" >&2; exit 1; }
cargo build --release
seqtune=target/release/seqtune

step "2/7 a first prediction, from the shipped model" "at once, nothing more on disk"
"$seqtune" predict models/gemm-cpu gemm M=300,N=200,K=100 --device epyc --top 3

step "3/7 get an OpenCL device and libtorch, where they are missing" "half a minute to 3 minutes, 600 MB"
scripts/setup.sh opencl libtorch
step "4/7 build the program that trains" "2 minutes the first time, 200 MB"
cargo build --release -p seqtune-train

step "5/7 sweep: 32 sizes of gemm, 50 configs each, on this machine's OpenCL device" "1 to 2 minutes, 1 MB"
"$seqtune" sweep gemm --problems datasets/problems/gemm_quickstart.txt --sample 50 --pool 70 --private-share 0.02 \
    -o "$out/gemm.jsonl" --pack "$out/gemm.sqt"
step "6/7 train a model of the sweep" "1 minute, 1 MB"
[ -e "$out/model/model.safetensors" ] || "$seqtune" train "$out/gemm.sqt" -o "$out/model" --epochs 24 --members 1

step "7/7 validate: predictions for sizes outside the sweep, the default and 12 random configs, measured side by side" "1 minute"
sizes=(M=200,N=300,K=100 M=512,N=512,K=512 M=1,N=768,K=768 M=96,N=1000,K=64,transB=T)
"$seqtune" validate "$out/model" gemm "${sizes[@]}" --top 5 --random 12 --plot "$out/validation.svg" --json > "$out/validation.jsonl"
scripts/quickstart_summary.py "$out" $((SECONDS - began))
