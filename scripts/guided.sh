#!/usr/bin/env bash
# Shows what guiding a sweep and learning from what was measured are worth, live, to models/gemm-cpu on this machine.
# Guiding: sizes that the model never saw, swept at random and guided by it; the share of the best speed found by each after so many measurements.
# Learning: the eight best of 30 other sizes are measured here and learned; the model before and after, judged on the shipped sweep of another CPU and on
# 32 of its sizes, which neither saw, swept here.
# Takes about fifteen minutes; leave the machine alone meanwhile. Called again, it goes on.
# usage: scripts/guided.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release
seqtune=target/release/seqtune model=models/gemm-cpu
out=${1:-guided}
mkdir -p "$out"
problems=datasets/problems/gemm_guided.txt
"$seqtune" sweep gemm --problems "$problems" --sample 100 --pool 120 --fresh 0.05 --seed 7 -o "$out/random.jsonl"
"$seqtune" sweep gemm --problems "$problems" --sample 20 --guided "$model" --seed 7 -o "$out/guided.jsonl"
python3 scripts/curve.py "$out/curve.svg" random="$out/random.jsonl" guided="$out/guided.jsonl" | tee "$out/curve.md"

"$seqtune" sweep gemm --problems datasets/problems/gemm_quickstart.txt --sample 100 --pool 150 --fresh 0.02 -o "$out/judged.jsonl"
if [ ! -e "$out/learned.jsonl" ]; then
    "$seqtune" validate "$model" gemm datasets/problems/gemm_refine.txt --top 8 --learn "$out/learned.jsonl" > "$out/validated.md"
fi
began=$SECONDS
"$seqtune" train datasets/gemm/cpu-epyc-2c.sqt datasets/gemm/cpu-xeon-2c.sqt "$out/learned.jsonl" --from "$model" -o "$out/refined"
echo "refining took $((SECONDS - began)) s" >&2
for sweep in datasets/gemm/cpu-skylake-2c.sqt "$out/judged.jsonl"; do
    for one in "$model" "$out/refined"; do
        "$seqtune" evaluate "$one" "$sweep" --whole --json > "$out/$(basename "$one").json"
    done
    echo "Before and after refining, on $sweep:"
    scripts/before_after.py "$out/$(basename "$model").json" "$out/refined.json"
done | tee "$out/refined.md"
