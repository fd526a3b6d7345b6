#!/usr/bin/env bash
# Lets the field's ways to tune and this program's play at equal budgets of seconds, by replay of the shipped sweeps, and writes the figures and
# plots of docs/rivals.md. Needs the trainer and LightGBM (scripts/setup.sh). Takes about 40 minutes on two cores, nearly all of it training;
# called again, it finds the models.
# usage: scripts/rivals.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/rivals}
mkdir -p "$out"
program=${SEQTUNE:-target/release/seqtune}
[ -n "${SEQTUNE:-}" ] || cargo build --release -p seqtune -p seqtune-train

# NAME DATASET SECONDS COMPILE, which is what a program takes on one core (docs/measuring.md, docs/gpu.md)
play() {
    "$program" rivals "$2" --seconds "$3" --compile "$4" --seeds 3 --models "$out/$1" --epochs 8 --plot "docs/rivals-$1.svg" > "$out/$1.md"
}
play gemm-cpu datasets/gemm/cpu-epyc-2c.sqt 100,300,1000 0.6
play gemm-h200 datasets/gemm/h200.sqt 30,100,300 0.4
play conv2d-h200 datasets/conv2d/h200.sqt 30,100,300 0.4
for name in gemm-cpu gemm-h200 conv2d-h200; do
    cat "$out/$name.md"
    printf '\n![%s](rivals-%s.svg)\n\n' "First choices against seconds of tuning" "$name"
done > "$out/figures.md"
cat "$out/figures.md"
scripts/put_figures.py rivals.sh "$out/figures.md" docs/rivals.md
