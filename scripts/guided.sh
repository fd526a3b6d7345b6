#!/usr/bin/env bash
# Shows what guiding a sweep is worth, live: problems that the model never saw, swept at random and guided by models/gemm-cpu, and
# the share of the best speed found by either after so many measurements. Takes about eight minutes; leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release
seqtune=target/release/seqtune
out=${1:-guided}
mkdir -p "$out"
problems=datasets/problems/gemm_guided.txt
"$seqtune" sweep gemm --problems "$problems" --sample 100 --pool 120 --fresh 0.05 --seed 7 -o "$out/random.jsonl"
"$seqtune" sweep gemm --problems "$problems" --sample 20 --guided models/gemm-cpu --seed 7 -o "$out/guided.jsonl"
python3 scripts/curve.py "$out/curve.svg" random="$out/random.jsonl" guided="$out/guided.jsonl" | tee "$out/curve.md"
