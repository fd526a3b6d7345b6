#!/usr/bin/env bash
# Tells how many problems are to be tuned on a new GPU: trains networks on 1, 3, 10, 30 and 100 % of a device's tuned records,
# alone and beside those of other devices, and judges them on its held-out shapes. Writes docs/results/tables/miopen-economy.md and docs/results/economy.svg.
# Takes half an hour on two cores. Works in target/economy: called again, it goes on.
# usage: scripts/figures/economy.sh FOLDER    FOLDER: as of scripts/data/miopen.sh
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/figures/economy.sh FOLDER}")
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train
export work=target/economy
mkdir -p "$work"
cp --remove-destination target/release/seqtune target/release/seqtune-train "$work"
source scripts/data/miopen_tuned.sh
import_tuned "$work" "$databases"
cases=(MI300X-ConvHipImplicitGemmGroupBwdXdlops MI50-ConvHipImplicitGemmBwdDataV1R1 RX_6800_XT-ConvOclDirectFwd RX_6800_XT-ConvHipImplicitGemmV4R1Fwd)
train() { # DEVICE-SOLVER PERCENT others|alone
    export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1
    local solver=${1#*-} out=$work/$1-$2-$3 files=("$work/$1-$2.jsonl") file
    [ ! -e "$out/model.safetensors" ] || return 0
    if [ "$3" = others ]; then
        for file in "$work"/tuned/*-"$solver".sqt; do [ "$(basename "$file")" = "$1.sqt" ] || files+=("$file"); done
        [ ${#files[@]} -gt 1 ] || return 0
    fi
    # so many passes that a few records are seen as often as a network needs
    local records passes
    records=$(($(wc -l < "${files[0]}") - 1))
    passes=$((200000 / records > 60 ? 60 : 200000 / records < 8 ? 8 : 200000 / records))
    [ "$3" = alone ] || passes=8
    "$work/seqtune" train "${files[@]}" -o "$out" --members 1 --epochs "$passes" --json > /dev/null 2> "$out.log" || { cat "$out.log" >&2; exit 1; }
}
export -f train
for case in "${cases[@]}"; do
    "$work/seqtune" export dataset "$work/tuned/$case.sqt" -o "$work/all.jsonl" --overwrite > /dev/null
    scripts/figures/economy.py part "$work/all.jsonl" "$work/$case" 1 3 10 30 100
    for percent in 1 3 10 30 100; do for with in alone others; do echo "$case $percent $with"; done; done
done | xargs -P "$(nproc)" -L 1 bash -euc 'train "$@"' -
scripts/figures/economy.py judge "$work/seqtune" "$work" docs/results/economy.svg "${cases[@]}" | tee "$work/table.md"
scripts/figures/put_figures.py economy.sh "$work/table.md" docs/results/tables/miopen-economy.md
