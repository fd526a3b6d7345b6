#!/usr/bin/env bash
# Imports MIOpen's tuned databases, trains three networks for each solver on all its devices, lets them go on with the few records
# of the RX 6800 XT alone, and distils them into models/miopen. Takes about three hours on two cores. Works in target/miopen, where
# the networks stay: called again, it goes on, and what is finished there is taken as it is. scripts/figures/miopen_figures.sh judges the
# models.
# usage: scripts/data/miopen.sh FOLDER [SOLVER...]    FOLDER: of gfx906_60.db.bz2, gfx900_56.db.bz2, gfx906_60.HIP.fdb.txt.bz2,
#                                                gfx1030_36.db.bz2, gfx942130_2024-12.db.txt.bz2
#                                                SOLVER: trains these, and leaves the others as they are
# MEMBERS=6 trains six networks for each.
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/data/miopen.sh FOLDER [SOLVER...]}")
shift
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train
export work=target/miopen
mkdir -p "$work/log" models/miopen
# copies, so that the programs can be built meanwhile
cp --remove-destination target/release/seqtune target/release/seqtune-train "$work"
source scripts/data/miopen_tuned.sh
import_tuned "$work" "$databases" --find-db "$databases"/gfx906_60.HIP.fdb.txt.bz2
solvers=("$@")
[ $# -gt 0 ] || mapfile -t solvers < <(cd "$work/tuned" && ls ./*.sqt | sed 's/.*-\(Conv.*\)\.sqt/\1/' | sort -u)

make_one() { # SOLVER; on one thread, beside another
    local solver=$1 began=$SECONDS passes=() refined=() few newest=$work/whole/$1/model.safetensors
    export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1
    if [ ! -e "$work/whole/$solver/model.safetensors" ]; then
        # of many records eight passes do what twelve do (docs/log/2026-11.md)
        [ "$(awk -v s="$solver" '$NF == s { n += $1 } END { print n }' "$work/import.txt")" -lt 20000 ] || passes=(--epochs 8)
        "$work/seqtune" train "$work"/tuned/*-"$solver".sqt -o "$work/whole/$solver" --members "${MEMBERS:-3}" "${passes[@]}" --json > "$work/log/$solver.train.json" 2> "$work/log/$solver.train"
        echo "$solver: trained in $(((SECONDS - began) / 60)) minutes"
    fi
    few=$work/tuned/RX_6800_XT-$solver.sqt
    if [ -e "$few" ]; then
        refined=(--fine-tuned "$work/refined/$solver") newest=$work/refined/$solver/model.safetensors
        [ -e "$newest" ] \
            || "$work/seqtune" train "$few" --fine-tune "$work/whole/$solver" -o "$work/refined/$solver" --json > "$work/log/$solver.refine.json" 2> "$work/log/$solver.refine"
    fi
    began=$SECONDS
    if [ ! "$work/log/$solver.distil.json" -nt "$newest" ]; then
        "$work/seqtune" distil "$work/whole/$solver" "$work"/tuned/*-"$solver".sqt "${refined[@]}" -o "models/miopen/$solver" --overwrite --json > "$work/log/$solver.part" 2> "$work/log/$solver.distil"
        mv "$work/log/$solver.part" "$work/log/$solver.distil.json"
        echo "$solver: distilled in $(((SECONDS - began) / 60)) minutes"
    fi
}
export -f make_one
printf '%s\n' "${solvers[@]}" | xargs -P "$(nproc)" -I{} bash -euc 'make_one "$1"' - {}
