#!/usr/bin/env bash
# What learning on a new CPU is worth to models/gemm-cpu: it goes on with the shipped sweep of a CPU that it never saw, 10 configs or all 100 of 30 sizes,
# and is judged before and after on the 32 other sizes of that sweep. Nothing is measured anew. Writes the figures into models/gemm-cpu/README.md.
# Takes ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release
seqtune=target/release/seqtune model=models/gemm-cpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$seqtune" convert datasets/gemm/cpu-skylake-2c.sqt -o "$work/all.jsonl" > /dev/null
scripts/part.py "$work/all.jsonl" datasets/problems/gemm_quickstart.txt > "$work/judged.jsonl"
evaluate() { "$seqtune" evaluate "$1" "$work/judged.jsonl" --whole --json > "$2"; }
evaluate "$model" "$work/before.json"
for configs in 10 100; do
    scripts/part.py "$work/all.jsonl" datasets/problems/gemm_refine.txt "$configs" > "$work/learned-$configs.jsonl"
    "$seqtune" train datasets/gemm/cpu-epyc-2c.sqt datasets/gemm/cpu-xeon-2c.sqt "$work/learned-$configs.jsonl" --from "$model" -o "$work/refined-$configs" > /dev/null
    evaluate "$work/refined-$configs" "$work/after.json"
    echo "Learned: $configs random configs of each of 30 sizes. $(scripts/before_after.py "$work/before.json" "$work/after.json" | sed 's/^Share/Judged on 32 other sizes, share/')"
    echo
done | tee "$work/figures.md"
scripts/put_figures.py refined.sh "$work/figures.md" "$model/README.md"
