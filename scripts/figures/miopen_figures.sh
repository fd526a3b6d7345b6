#!/usr/bin/env bash
# Judges the shipped models of MIOpen's solvers on the shapes that were held out, beside LightGBM, the nearest neighbour
# and, on the MI300X, classifiers of whole configs and MIOpen's own predictor; beside the networks too, where
# scripts/data/miopen.sh left all of a device. Writes docs/results/tables/miopen-*.md and README's tables. Takes an hour
# and a half on two cores.
# usage: scripts/figures/miopen_figures.sh FOLDER [DEVICE...]    FOLDER: as of scripts/data/miopen.sh, with ktn/
#                                                        DEVICE: MI50, MI300X, "RX 6800 XT"; all where none is named
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/figures/miopen_figures.sh FOLDER [DEVICE...]}")
shift
cd "$(dirname "$0")/../.."
work=target/miopen
[ -e "$work/import.txt" ] || { echo "miopen_figures.sh: $work is missing: scripts/data/miopen.sh makes it" >&2; exit 1; }
cargo build --release -p seqtune-lab
devices=("$@")
[ $# -gt 0 ] || devices=(MI50 MI300X "RX 6800 XT")

evaluate() { # FILE OPTION...
    local file=$1
    shift
    target/release/seqtune-lab tuned models/miopen "$@" > "$file.part"
    mv "$file.part" "$file"
}
judge() { # DEVICE
    local device=$1 data=() networks=(--baseline-model "$work/whole")
    local name=${device// /-} files=() said=() folder solver file
    mkdir -p "$work/figures/$name"
    for folder in models/miopen/*/; do
        solver=$(basename "$folder")
        [ -e "$work/tuned/${device// /_}-$solver.sqt" ] || continue
        # Winograd's trees learn without the MI300X: no other device has its 304 counts of work-groups
        mapfile -t -O "${#data[@]}" data < <(ls "$work"/tuned/*-"$solver".sqt | grep -v "/MI300X-")
        files+=("$work/figures/$name/$solver.md")
        [ -e "$work/whole/$solver/model.safetensors" ] || networks=()
    done
    if [ "$device" = MI300X ]; then
        # solver by solver: classifiers of a thousand classes take minutes each
        for file in "${files[@]}"; do
            solver=$(basename "$file" .md)
            local whole=(--config-classifiers)
            # of one parameter a config is its value
            [[ $solver != ConvBinWinograd* ]] || whole=()
            [ "$file" -nt "models/miopen/$solver/distilled.safetensors" ] \
                || evaluate "$file" "$work/tuned/MI300X-$solver.sqt" --device "$device" "${whole[@]}" --kernel-tuning-net "$databases/ktn" "${networks[@]}"
        done
        # what probabilities are worth, of all solvers together
        said=(--said "$work/figures/$name/said")
        evaluate "${said[1]}" "$work"/tuned/MI300X-*.sqt --device "$device" --lightgbm=off
    else
        files=("$work/figures/$name/all.md")
        evaluate "${files[0]}" "${data[@]}" --device "$device" "${networks[@]}"
    fi
    scripts/figures/miopen_table.py "${said[@]}" "${files[@]}" > "$work/figures/$name.table"
    scripts/figures/put_figures.py "miopen_figures.sh $name" "$work/figures/$name.table" "docs/results/tables/miopen-${name,,}.md"
}
for device in "${devices[@]}"; do judge "$device"; done
scripts/figures/summary.py
