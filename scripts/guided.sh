#!/usr/bin/env bash
# Shows what guiding a sweep and learning from what was measured are worth, live: sizes that models/gemm-cpu never saw, swept at random, guided
# by it, and guided by what it becomes when the eight best of 30 other sizes are measured here and learned; the share of the best speed
# found by each after so many measurements. Takes about ten minutes; leave the machine alone meanwhile.
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
if [ ! -e "$out/learned.jsonl" ]; then
    "$seqtune" validate "$model" gemm datasets/problems/gemm_refine.txt --top 8 --learn "$out/learned.jsonl" > "$out/validated.md"
fi
began=$SECONDS
"$seqtune" train datasets/gemm/cpu-xeon-2c.sqt "$out/learned.jsonl" --from "$model" -o "$out/refined"
echo "refining took $((SECONDS - began)) s" >&2
"$seqtune" sweep gemm --problems "$problems" --sample 20 --guided "$out/refined" --seed 7 -o "$out/refined.jsonl"
python3 scripts/curve.py "$out/curve.svg" random="$out/random.jsonl" guided="$out/guided.jsonl" "guided, refined=$out/refined.jsonl" | tee "$out/curve.md"
