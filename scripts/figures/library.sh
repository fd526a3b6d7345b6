#!/usr/bin/env bash
# Sweeps the kernels of the library on this machine's processor through OpenCL and trains a model of each; goes on where it was stopped.
#
#   scripts/figures/library.sh sweep AS [KERNEL...] 150 problems of each by 60 configs, into datasets/KERNEL/AS.sqt (some minutes each, on a quiet machine);
#                                           with LIST=more those of datasets/problems/KERNEL_more.txt, into datasets/KERNEL/AS-more.sqt,
#                                           by the configs of AS.sqt where that is there
#   scripts/figures/library.sh train [KERNEL...]    models of all sweeps datasets/KERNEL/cpu-*.sqt, into target/library/KERNEL (needs seqtune-train)
#   scripts/figures/library.sh judge [KERNEL...]    prints how good they are on the shapes that they held out
#   scripts/figures/library.sh ship [KERNEL...]     puts them where they are shipped: models/KERNEL-cpu
#   scripts/figures/library.sh table                prints how good the shipped ones are, for docs/results/tables/ (needs LightGBM)
#   scripts/figures/library.sh together             trains one model of all shipped sweeps, in target/library/together, and prints it beside those of each
#   scripts/figures/library.sh together FILE        trains one model of the sweeps datasets/*/FILE (h200.sqt), in target/library/together-FILE, and prints how good it is
#   scripts/figures/library.sh others FILE          prints what each kernel's choices are worth by what the others taught: of the sweeps datasets/*/FILE
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${SEQTUNE:-target/release/seqtune}
verb=${1:-} out=target/library
usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
[ $# = 0 ] || shift
if [ "$verb" = sweep ]; then
    [ $# -gt 0 ] || usage
    as=$1
    shift
fi
kernels=("$@")
library=(conv2d softmax gemv transpose reduction norm stencil2d spmv histogram scan nbody stencil3d depthwise batched_gemm attention)
[ $# -gt 0 ] || kernels=("${library[@]}")

sweep() {
    # the end of a kernel's first list is for judging, of another list all are swept
    local list=$1 count=150 to=datasets/$1/$as.sqt pool=()
    if [ -n "${LIST:-}" ]; then
        # further problems compare with the first ones by the same configs
        [ ! -e "$to" ] || pool=(--pool-of "$to")
        list=$1_$LIST count=-0 to=datasets/$1/$as-$LIST.sqt
    fi
    if [ ! -e "datasets/problems/$list.txt" ]; then
        echo "library: no list of problems datasets/problems/$list.txt" >&2
        exit 2
    fi
    grep -v '^#' "datasets/problems/$list.txt" | head -n $count > "$out/$list.txt"
    "$program" sweep "$1" --problems "$out/$list.txt" --sample 60 --pool 80 "${pool[@]}" --private-share 0 --timeout 60s --device opencl:0 -o "$out/$list.jsonl"
    mkdir -p "datasets/$1"
    "$program" export dataset "$out/$list.jsonl" -o "$to" --overwrite
}

ship() {
    mkdir -p "models/$1-cpu"
    cp "$out/$1/model.safetensors" "models/$1-cpu/"
}

# Those of the sweeps datasets/KERNEL/FILE that are there: FILE KERNEL...
sweeps_of() {
    local file=$1 kernel
    shift
    for kernel; do
        [ ! -e "datasets/$kernel/$file" ] || echo "datasets/$kernel/$file"
    done
}

# kernels that compute something of their own: the tensor cores' and the warp groups' products are gemm again
others() {
    local file=$1 sweeps
    mapfile -t sweeps < <(sweeps_of "$file" gemm "${library[@]}")
    if [ ${#sweeps[@]} -lt 3 ]; then
        echo "library: fewer than three datasets/*/$file are there; name h200.sqt or cpu-epyc-2c.sqt" >&2
        exit 2
    fi
    "${program}-lab" kernels "${sweeps[@]}"
}

together() {
    local sweeps=() model kernel
    if [ $# -gt 0 ]; then
        # conv2d has problems enough for a model of its own
        mapfile -t sweeps < <(sweeps_of "$1" "${library[@]:1}")
        [ ${#sweeps[@]} -gt 0 ] || { echo "library: no datasets/*/$1 are there; name h200.sqt" >&2; exit 2; }
        model=$out/together-${1%.sqt}
        "$program" train "${sweeps[@]}" -o "$model" --together --members 2 --test "${TEST:-0.25}" --validation 0.1 --overwrite >&2
        scripts/figures/library_table.py "$program" "$model" "$1"
        return
    fi
    for model in models/*-cpu; do
        kernel=$(basename "$model" -cpu)
        [ "$kernel" = gemm ] || sweeps+=(datasets/"$kernel"/cpu-*.sqt)
    done
    "$program" train "${sweeps[@]}" -o "$out/together" --together --members 2 --overwrite >&2
    scripts/figures/library_table.py "$program" "$out/together"
}

case $verb in
    table) exec scripts/figures/library_table.py "$program" ;;
    others)
        [ $# = 1 ] || usage
        others "$1"
        exit
        ;;
    together)
        together "$@"
        exit
        ;;
    sweep | train | judge | ship) ;;
    *) usage ;;
esac
mkdir -p "$out"
for kernel in "${kernels[@]}"; do
    case $verb in
        # one of the same data stays as it is
        train) "$program" train "datasets/$kernel"/cpu-*.sqt -o "$out/$kernel" --members 2 --overwrite ;;
        judge) "$program" evaluate model "$out/$kernel" "datasets/$kernel"/cpu-*.sqt --worst 0 ;;
        *) "$verb" "$kernel" ;;
    esac
done
