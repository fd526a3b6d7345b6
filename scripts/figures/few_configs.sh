#!/usr/bin/env bash
# Few configs for many sizes, and rows for a changing size, by replay of sweeps, into docs/results/tables/few-configs.md and its plots. Models of
# sweeps without a shipped one are trained first, on four of ten sizes. Takes about an hour on two cores. Works in target/few-configs: called
# again, it goes on, and what is finished there is taken as it is. To begin anew, delete that folder.
# usage: scripts/figures/few_configs.sh [FOLDER]    FOLDER: of a100_mm.zip, flexattention_a100_data.zip and mixedmm_a100_data.zip; without it, what
#                                          needs these is left out
set -euo pipefail
zips=${1:+$(realpath "$1")}
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train -p seqtune-lab
work=target/few-configs
mkdir -p "$work"
cp target/release/seqtune target/release/seqtune-train target/release/seqtune-lab "$work"

# a model of NAME that learned from some of the sizes of a dataset, and some of what tells how far it is off
model() { # NAME DATASET TEST VALIDATION OPTIONS...
    [ -e "$work/$1" ] && return
    "$work/seqtune" train "$2" --test "$3" --validation "$4" "${@:5}" --members 1 -o "$work/$1.part" >&2
    mv "$work/$1.part" "$work/$1"
}

# KIND NAME MODEL DATASET OPTIONS...
judge() {
    local kind=$1 name=$2 model=$3 data=$4
    shift 4
    local out=$work/$kind-$name
    [ -e "$out.json" ] && return
    local began=$SECONDS
    "$work/seqtune-lab" "$kind" "$model" "$data" "$@" --plot "$out.svg" --force --json >"$out.part"
    mv "$out.part" "$out.json"
    echo "$kind $name: $((SECONDS - began)) s" >&2
}

# each problem is a line: sixty sizes of a hundred lines take minutes
lines=(--sizes 60 --problems 100)
names=(triton_matmul-h200 triton_mm-h200 xgemm xgemm_direct)
datasets=(datasets/triton_matmul/h200.sqt datasets/triton_mm/h200.sqt datasets/xgemm/cpu-xeon-2c.sqt datasets/xgemm_direct/cpu-xeon-2c.sqt)
fields=(M m M M)
if [ -n "$zips" ]; then
    for name in a100_mm flexattention_a100_data mixedmm_a100_data; do
        [ -e "$work/$name.sqt" ] || "$work/seqtune" import autoheuristic "$zips/$name.zip" -o "$work/$name.sqt" >&2
        names+=("$name") datasets+=("$work/$name.sqt")
    done
    fields+=(m "" m)
fi
for at in "${!names[@]}"; do
    name=${names[$at]} data=${datasets[$at]}
    own=()
    [ "$name" != triton_matmul-h200 ] || own=(--kernel examples/triton)
    # thousands of sizes teach as much as is needed in a few minutes
    case $data in *_a100* | *a100_*) model "$name" "$data" 0.88 0.02 ;; *) model "$name" "$data" 0.4 0.2 "${own[@]}" ;; esac
    judge selection "$name" "$work/$name" "$data" "${own[@]}"
    [ -z "${fields[$at]}" ] || judge breakpoints "$name" "$work/$name" "$data" --over "${fields[$at]}" "${lines[@]}" "${own[@]}"
done
# shipped models hold out a fifth of their sizes
for name in softmax gemv norm stencil2d; do
    case $name in softmax | norm) field=columns ;; gemv) field=M ;; stencil2d) field=W ;; esac
    judge breakpoints "$name-cpu" "models/$name-cpu" "datasets/$name/cpu-epyc-2c.sqt" --over $field "${lines[@]}"
done
for name in gemm_wg conv2d; do
    case $name in gemm_wg) field=M ;; conv2d) field=N ;; esac
    judge breakpoints "$name-h200" "models/$name-h200" "datasets/$name/h200.sqt" --over $field "${lines[@]}"
done
scripts/figures/few_configs_table.py "$work" >"$work/table.md"
scripts/figures/put_figures.py few_configs.sh "$work/table.md" docs/results/tables/few-configs.md
for plot in selection-a100_mm breakpoints-a100_mm; do
    [ ! -e "$work/$plot.svg" ] || cp "$work/$plot.svg" "docs/results/few-configs-$plot.svg"
done
cat "$work/table.md"
