#!/usr/bin/env bash
# Evaluates models on a CPU that they never saw, and after fine-tuning on a little of it, by the shipped sweeps of gemm on
# three CPUs: each is left out in turn; then a model that was trained without it goes on with 10 or all 100 configs of 30
# of its sizes, and is evaluated on its other sizes. Nothing is measured anew. Writes the figures into docs/results/tables/unseen-cpus.md.
# Takes about 45 minutes on two cores. Works in target/devices: called again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train
work=target/devices cpus=(epyc xeon skylake)
mkdir -p "$work"
# copies, so that the programs can be built meanwhile
cp target/release/seqtune target/release/seqtune-train "$work"
seqtune=$work/seqtune
sweep() { echo "datasets/gemm/cpu-$1-2c.sqt"; }
"$seqtune" evaluate devices --worst 0 $(for cpu in "${cpus[@]}"; do sweep "$cpu"; done) --models "$work" > "$work/left-out.md"

comparisons=()
for cpu in "${cpus[@]}"; do
    all=$work/$cpu.jsonl learned=$work/$cpu-learned.txt judged=$work/$cpu-judged.txt
    "$seqtune" export dataset "$(sweep "$cpu")" -o "$all" --overwrite > /dev/null
    if [ "$cpu" = skylake ]; then
        cp datasets/problems/gemm_refine.txt "$learned"
        cp datasets/problems/gemm_quickstart.txt "$judged"
    else
        grep -v '^#' datasets/problems/gemm_cpu.txt | awk 'NR % 10 == 1 && NR < 300' > "$learned"
        grep -v '^#' datasets/problems/gemm_cpu.txt | grep -vxFf "$learned" > "$judged"
    fi
    device=$(head -1 "$all" | python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["name"].replace(" ", "-"))')
    scripts/gpu/part.py "$all" "$judged" > "$work/$cpu-judged.jsonl"
    evaluate() { "$seqtune" evaluate model "$1" "$work/$cpu-judged.jsonl" --all-problems --json > "$2"; }
    evaluate "$work/without-$device" "$work/$cpu-0.json"
    reports=("$work/$cpu-0.json")
    for configs in 10 100; do
        scripts/gpu/part.py "$all" "$learned" "$configs" > "$work/$cpu-$configs.jsonl"
        others=$(for other in "${cpus[@]}"; do [ "$other" = "$cpu" ] || sweep "$other"; done)
        "$seqtune" train $others "$work/$cpu-$configs.jsonl" --fine-tune "$work/without-$device" -o "$work/$cpu-with-$configs" --overwrite > /dev/null
        evaluate "$work/$cpu-with-$configs" "$work/$cpu-$configs.json"
        reports+=("$work/$cpu-$configs.json")
    done
    comparisons+=("${reports[*]}")
done
{
    cat "$work/left-out.md"
    echo
    scripts/figures/learned_table.py "${comparisons[@]}"
} | tee "$work/figures.md"
scripts/figures/put_figures.py devices.sh "$work/figures.md" docs/results/tables/unseen-cpus.md
