#!/usr/bin/env bash
# What it costs to tune a program: sweeps the three examples of docs/guide/programs.md, trains a model of each, and validates it on problems that are
# not in the sweep. Prints the seconds of each step beside what they bring. Takes some ten minutes; leave the machine alone meanwhile.
# usage: scripts/figures/programs.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-target/programs}
rm -rf "$out" && mkdir -p "$out"
program=${SEQTUNE:-target/release/seqtune}
[ -n "${SEQTUNE:-}" ] || cargo build --release -p seqtune -p seqtune-train

# NAME CONFIGS PROBLEMS... -- HELD OUT...
case_of() {
    local name=$1 configs=$2 folder=examples/programs/$1 began swept trained problems=() held_out=()
    shift 2
    while [ "$1" != -- ]; do problems+=("$1"); shift; done
    shift
    held_out=("$@")
    began=$SECONDS
    "$program" sweep "$folder" --problems "${problems[@]}" --sample "$configs" --private-share 0.3 -o "$out/$name.jsonl" > "$out/$name.sweep.txt"
    swept=$SECONDS
    "$program" train "$out/$name.jsonl" --kernel "$folder" -o "$out/$name" --epochs 60 --members 2 > "$out/$name.train.txt"
    trained=$SECONDS
    "$program" validate "$out/$name" "$folder" "${held_out[@]}" --top 3 --random 15 --no-confirm > "$out/$name.validate.txt"
    local records brings
    records=$(head -n 1 "$out/$name.sweep.txt" | cut -d' ' -f1)
    brings=$(sed -n 's/^[0-9]* problems\{0,1\}: first choice \([0-9.]*\) x the default (geometric mean), \([0-9.]*\) % of the best found, best of the top \([0-9.]*\) %.*/\1 | \2 | \3/p' "$out/$name.validate.txt")
    echo "| [$name](../../../examples/programs/$name/kernel.toml) | $records | $((swept - began)) | $((trained - swept)) | $((SECONDS - trained)) | ${#held_out[@]} | $brings |"
}

{
    echo "| program | configs | sweep, s | training, s | check, s | held-out problems | first choice x default | % of best found | best of 3, % |"
    echo "|---|---|---|---|---|---|---|---|---|"
    case_of openmp 24 side={100,180,320,560,800,1000,1400,2000,2800} -- side={140,440,1200,2400}
    case_of python 16 rows={20,100,500,2000},columns={2,10,40} rows=1000,columns=100 -- rows=50,columns=5 rows=300,columns=20 rows=1500,columns=30
    case_of sqlite 24 rows={2000,5000,10000,20000,40000,80000} rows=10000,inserts=50 rows=20000,lookups=200 -- rows=7000 rows=30000 rows=60000
} | tee "$out/costs.md"
scripts/figures/put_figures.py programs.sh "$out/costs.md" docs/results/tables/programs.md
