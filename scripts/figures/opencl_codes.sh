#!/usr/bin/env bash
# Counts what PoCL compiles for two sweeps, each with a cache of its own, and how long they take: 16 configs of the guide's `scale` at a size of 4,000,000,
# and 4 configs of gemm at 15 sizes, some of which are primes. Prints a table.
#
#   scripts/figures/opencl_codes.sh [PROGRAM...]     programs to compare, in turns [default: target/release/seqtune]
#   ROUNDS=3 scripts/figures/opencl_codes.sh         so many turns [default: 1]
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit ;; esac
programs=("$@")
[ $# -gt 0 ] || programs=(target/release/seqtune)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/scale"
# the kernel of the guide
sed -n '/^\/\/ scale.cl/,/^\/\/ reference.cl/p' docs/guide/tour.md | sed '$d' > "$work/scale/scale.cl"
sed -n '/^\/\/ reference.cl/,/^```/p' docs/guide/tour.md | sed '$d' > "$work/scale/reference.cl"
"${programs[0]}" init "$work/scale" --source scale.cl --field n=1..100000000 --parameter WG=32,[64],128,256 --parameter V=1,2,4,8 \
    --global 'cdiv(n, WG * V) * WG' --local WG > "$work/init"
sizes=(M=64,N=96,K=32 M=100,N=60,K=40 M=127,N=31,K=17 M=48,N=112,K=80 M=200,N=72,K=16 M=90,N=90,K=90 M=131,N=64,K=64 M=75,N=125,K=25
    M=256,N=40,K=24 M=61,N=67,K=71 M=144,N=80,K=48 M=36,N=180,K=12 M=110,N=70,K=30 M=97,N=103,K=11 M=160,N=56,K=8)

# PROGRAM NAME WORDS...: one line of the table
swept() {
    local program=$1 name=$2 began codes seconds cache
    shift 2
    cache=$(mktemp -d -p "$work")
    began=$(date +%s.%N)
    SEQTUNE_CACHE=$cache env -u POCL_CACHE_DIR "$program" sweep "$@" --device live -o "$cache/sweep.jsonl" > "$cache/out" 2>&1 || { tail -5 "$cache/out" >&2; exit 1; }
    seconds=$(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    # a folder for each: KERNEL/X-Y-Z-goffs0-smallgrid
    codes=$(find "$cache/pocl" -type d -name '*-goffs0*' | wc -l)
    echo "| $program | $name | $(grep -c '"outcome"' "$cache/sweep.jsonl") | $codes | $seconds |"
}

echo '| program | sweep | records | codes of configs and references | seconds |'
echo '|---|---|---|---|---|'
for ((round = 0; round < ${ROUNDS:-1}; ++round)); do
    for program in "${programs[@]}"; do
        swept "$program" "scale, 4,000,000" "$work/scale" --exhaustive --problems n=4000000
        swept "$program" "gemm, 15 sizes" gemm --sample 4 --problems "${sizes[@]}"
    done
done
