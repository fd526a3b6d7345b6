#!/usr/bin/env bash
# Measures what a guided sweep gains, live, on this machine: sizes that models/gemm-cpu never saw, swept at random and
# guided by it; the share of the best speed that each found after so many measurements. Writes the figures into
# docs/results/tables/guided.md. Fine-tuning: scripts/figures/devices.sh.
# Takes about five minutes; leave the machine alone meanwhile. Called again, it goes on.
# usage: scripts/figures/guided.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release
seqtune=target/release/seqtune model=models/gemm-cpu
out=${1:-guided}
mkdir -p "$out"
problems=datasets/problems/gemm_guided.txt
"$seqtune" sweep gemm --problems "$problems" --sample 100 --pool 120 --private-share 0.05 --seed 7 -o "$out/random.jsonl"
"$seqtune" sweep gemm --problems "$problems" --sample 20 --guided "$model" --seed 7 -o "$out/guided.jsonl"
scripts/figures/curve.py "$out/curve.svg" random="$out/random.jsonl" guided="$out/guided.jsonl" | tee "$out/curve.md"
scripts/figures/put_figures.py guided.sh "$out/curve.md" docs/results/tables/guided.md
cp "$out/curve.svg" "$model/guided.svg"
