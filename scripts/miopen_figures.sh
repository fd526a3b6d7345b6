#!/usr/bin/env bash
# Judges the shipped models of MIOpen's solvers on the shapes that were held out, beside LightGBM, the nearest neighbour
# and, on the MI300X, classifiers of whole configs and MIOpen's own predictor; beside the networks too, where
# scripts/miopen.sh left all of a device. Writes models/miopen/README.md, docs/results.md and README's table. Takes an hour and a half on two cores.
# usage: scripts/miopen_figures.sh FOLDER [DEVICE...]    FOLDER: as of scripts/miopen.sh, with ktn/
#                                                        DEVICE: MI50, MI300X, "RX 6800 XT"; all where none is named
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/miopen_figures.sh FOLDER [DEVICE...]}")
shift
cd "$(dirname "$0")/.."
work=target/miopen
[ -e "$work/import.txt" ] || { echo "miopen_figures.sh: $work is missing: scripts/miopen.sh makes it" >&2; exit 1; }
devices=("$@")
[ $# -gt 0 ] || devices=(MI50 MI300X "RX 6800 XT")

judge() { # DEVICE
    local device=$1 data=() options=() networks=(--beside "$work/whole")
    local file=$work/figures/${device// /-}
    for folder in models/miopen/*/; do
        solver=$(basename "$folder")
        [ -e "$work/tuned/${device// /_}-$solver.sqt" ] || continue
        data+=("$work"/tuned/*-"$solver".sqt)
        [ -e "$work/whole/$solver/model.safetensors" ] || networks=()
    done
    [ "$device" != MI300X ] || options=(--whole-configs --ktn "$databases/ktn")
    mkdir -p "$work/figures"
    "$work/seqtune" evaluate models/miopen "${data[@]}" --device "$device" "${options[@]}" "${networks[@]}" > "$file.part"
    mv "$file.part" "$file.md"
    scripts/miopen_table.py "$file.md" > "$file.table"
    scripts/put_figures.py "miopen_figures.sh ${device// /-}" "$file.table" docs/results.md
    scripts/put_figures.py "miopen_figures.sh ${device// /-}" "$file.md" models/miopen/README.md
}
for device in "${devices[@]}"; do judge "$device"; done
scripts/summary.py
