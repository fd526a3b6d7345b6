#!/usr/bin/env bash
# Sweeps 24 sizes of gemm on the CPU twice while nothing else runs and once beside a program that keeps one or both cores
# busy at random times, and prints what the best of each sweep loses by the others: the figures that docs/results/speed.md
# states. Takes five minutes, more where nothing was compiled before.
# usage: scripts/figures/disturbed.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release
out=${1:-disturbed}
mkdir -p "$out"
rm -f "$out"/*.jsonl
grep -v '#\|trans\|dtype' datasets/problems/gemm_cpu.txt | awk 'NR % 5 == 0' | head -24 > "$out/problems.txt"
sweep() { # NAME
    target/release/seqtune sweep gemm --problems "$out/problems.txt" --sample 60 --pool 70 --private-share 0.02 -o "$out/$1.jsonl"
}
# the first one compiles beside measuring, and is not looked at
sweep compiled
sweep quiet-1
scripts/figures/disturbed.py --burn 1 &
trap 'kill %1 2>/dev/null || true' EXIT
sweep busy
kill %1
trap - EXIT
# what it started goes on for seconds
sleep 10
sweep quiet-2
scripts/figures/disturbed.py "$out"
