#!/usr/bin/env bash
# Compares the shipped models of the MI300X with what tuning the same problems another time chose: AMD's database holds two
# results for some thousand of its problems. Writes the table into docs/results/tables/miopen-tuned-twice.md. Takes five minutes on two cores.
# usage: scripts/figures/retuned.sh FOLDER    FOLDER: of gfx942130_2024-12.db.txt.bz2
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/figures/retuned.sh FOLDER}")
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-lab
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target/release/seqtune import miopen "$databases/gfx942130_2024-12.db.txt.bz2" -o "$work/tuned" --second-tuning "$work/again" > /dev/null
solvers=() datasets=()
for file in "$work"/again/*.sqt; do
    solver=$(basename "$file" .sqt)
    # of fewer problems nothing could be told
    [ "$(stat -c %s "$file")" -lt 3000 ] || { solvers+=("$file"); datasets+=("$work/tuned/$solver.sqt"); }
done
target/release/seqtune-lab tuned models/miopen "${datasets[@]}" --device MI300X --lightgbm=off --second-tuning "${solvers[@]}" > "$work/evaluate.md"
sed -n '/^| tuned twice/,/^$/p' "$work/evaluate.md" > "$work/table.md"
cat "$work/table.md"
scripts/figures/put_figures.py retuned.sh "$work/table.md" docs/results/tables/miopen-tuned-twice.md
