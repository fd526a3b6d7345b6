#!/usr/bin/env bash
# Evaluates the shipped model of gemm on a sweep of another CPU, of whose sizes it saw none, and writes the figures into
# docs/results/tables/another-cpu.md. Nothing is measured anew; takes seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target/release/seqtune evaluate model models/gemm-cpu datasets/gemm/cpu-skylake-2c.sqt --all-problems --quality best > "$work/evaluate.md"
{
    sed -n '/^|/p' "$work/evaluate.md"
    echo
    sed -n '1p;/^First choices/p;/^Marked unsure/p' "$work/evaluate.md"
} | tee "$work/figures.md"
scripts/figures/put_figures.py elsewhere.sh "$work/figures.md" docs/results/tables/another-cpu.md
