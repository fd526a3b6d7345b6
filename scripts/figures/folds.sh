#!/usr/bin/env bash
# Cross-validates on PyTorch's measurements of Triton kernels and on the shipped sweep of gemm, with all defaults, and
# writes the figures into docs/results/tables/folds.md, a column after the other, and README's table at the end; each fold's model is
# distilled, and the small decoder judged too. Takes about three hours on two cores. Works in target/folds: called again,
# it goes on, and what is finished there is taken as it is. To begin anew, delete that folder.
# usage: scripts/figures/folds.sh FOLDER [NAME...]    FOLDER: of a100_mm.zip, flexattention_a100_data.zip, mixedmm_a100_data.zip
#                                             NAME: of these without .zip, or gemm; the other columns stay as they are
set -euo pipefail
zips=$(realpath "${1:?usage: scripts/figures/folds.sh FOLDER [NAME...]}")
shift
known="a100_mm flexattention_a100_data mixedmm_a100_data gemm"
names=("$@")
[ $# -gt 0 ] || read -ra names <<< "$known"
for name in "${names[@]}"; do
    [[ " $known " == *" $name "* ]] || { echo "folds.sh: there is no data named $name: name some of $known" >&2; exit 2; }
done
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train
work=target/folds reports=()
mkdir -p "$work"
# copies, so that the programs can be built meanwhile
cp target/release/seqtune target/release/seqtune-train "$work"

cross_validate() { # NAME DATASET
    local began=$SECONDS
    if [ ! "$work/$1.json" -nt "$2" ]; then
        "$work/seqtune" evaluate folds --folds 5 "$2" --models "$work/$1" --distil --json > "$work/$1.part"
        mv "$work/$1.part" "$work/$1.json"
        echo "$1: $(((SECONDS - began) / 60)) minutes" >&2
    fi
    reports+=("$work/$1.json")
    scripts/figures/folds_table.py docs/results/tables/folds.md "${reports[@]}" > "$work/table.md"
    scripts/figures/put_figures.py folds.sh "$work/table.md" docs/results/tables/folds.md
}
for name in "${names[@]}"; do
    if [ "$name" = gemm ]; then
        cross_validate gemm datasets/gemm/cpu-epyc-2c.sqt
    else
        [ -e "$work/$name.sqt" ] || "$work/seqtune" import autoheuristic "$zips/$name.zip" -o "$work/$name.sqt" > /dev/null
        cross_validate "$name" "$work/$name.sqt"
    fi
done
scripts/figures/summary.py > /dev/null
cat "$work/table.md"
