#!/usr/bin/env bash
# Lets the field's ways to tune and this program's play at equal budgets of seconds, by replay of the shipped sweeps, and writes docs/results/tables/tuners.md and the
# plots of docs/results. Needs the trainer and LightGBM (scripts/setup.sh). Takes about 50 minutes on two cores, nearly all of it training;
# called again, it finds the models. PACKAGES=1 lets strategies of Kernel Tuner's package play too (its environment is made by
# scripts/integrations/kernel_tuner.sh); what they measure is replayed first, which takes a quarter of an hour more.
# usage: [PACKAGES=1] scripts/figures/rivals.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-target/rivals}
mkdir -p "$out"
program=${SEQTUNE:-target/release/seqtune}
lab=$program-lab
[ -n "${SEQTUNE:-}" ] || cargo build --release -p seqtune -p seqtune-train -p seqtune-lab

# What those strategies of Kernel Tuner's package that found the most in docs/integrations/kernel-tuner.md measure of the unseen sizes of each seed
order() {
    local python=target/kernel-tuner/bin/python
    [ -x $python ] || { echo "rivals: $python is missing: scripts/integrations/kernel_tuner.sh makes it" >&2; exit 3; }
    rm -rf "$out/$1.caches"
    "$program" export kernel-tuner "$2" -o "$out/$1.caches"
    "$lab" tuners "$2" --first "$5" --seconds 1 --seeds 3 --json > "$out/$1.games.json"
    $python scripts/integrations/kernel_tuner_orders.py "$out/$1.caches" "$out/$1.games.json" "$out/$1.part.jsonl" "$5" bayes_opt genetic_algorithm pso
    mv "$out/$1.part.jsonl" "$out/$1.orders.jsonl"
}
# NAME DATASET SECONDS COMPILE FIRST: what a program takes on one core (docs/internals/measuring.md, docs/results/h200.md), and how many configs of each problem were
# drawn at random
play() {
    local orders=()
    if [ -n "${PACKAGES:-}" ]; then
        [ -s "$out/$1.orders.jsonl" ] || order "$@"
        orders=(--orders "$out/$1.orders.jsonl")
    fi
    "$lab" tuners "$2" --first "$5" --seconds "$3" --compile-time "$4" --seeds 3 --models "$out/$1" --epochs 8 --plot "docs/results/tuners-$1.svg" "${orders[@]}" \
        > "$out/$1.part.md"
    mv "$out/$1.part.md" "$out/$1.md"
}
play gemm-cpu datasets/gemm/cpu-epyc-2c.sqt 100,300,1000 0.6 100
play gemm-h200 datasets/gemm/h200.sqt 30,100,300 0.4 60
play conv2d-cpu datasets/conv2d/cpu-xeon-2c.sqt 100,300,1000 0.6 60
play conv2d-h200 datasets/conv2d/h200.sqt 30,100,300 0.4 60
# imported from CLBlast's own tuner
play xgemm-cpu datasets/xgemm/cpu-xeon-2c.sqt 30,100,300 0.6 144
for name in gemm-cpu gemm-h200 conv2d-cpu conv2d-h200 xgemm-cpu; do
    cat "$out/$name.md"
    printf '\n![%s](../tuners-%s.svg)\n\n' "First choices against seconds of tuning" "$name"
done > "$out/figures.md"
cat "$out/figures.md"
scripts/figures/put_figures.py rivals.sh "$out/figures.md" docs/results/tables/tuners.md
