#!/usr/bin/env bash
# Compares the answers of the shipped models between this processor and others that qemu-user emulates: x86-64 with AVX2 and fused products, with
# neither, and aarch64.
#
#   scripts/checks/hosts.sh [SEQTUNE]     the program, target/debug/seqtune where none is named
#
# It asks models of every kind for 300 problems in all, as JSON, with one thread, with four, and for some one at a time. Emulated processors,
# which are a hundred times as slow, answer some of them. All must be the same bytes. For aarch64 a program without libraries in C is built, which
# prints the bits of all numbers. `scripts/setup.sh qemu` installs the emulator.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-target/debug/seqtune}")
qemu=$(command -v qemu-x86_64 || command -v qemu-x86_64-static || true)
[ -n "$qemu" ] || { echo "skipped: qemu-x86_64 is not here; \`scripts/setup.sh qemu\` installs it"; [ -z "${CI:-}" ]; exit; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# models, with the problems that emulated processors answer, and a problem whose places % take drawn sizes
cat >"$work/models" <<'EOF'
gemm-cpu fast epyc 10 M=%,N=%,K=%
gemm-cpu best epyc 1 M=%,N=%,K=%,transB=T
gemm-h200 auto H200 1 M=%,N=%,K=%
softmax-cpu auto epyc 2 rows=%,columns=%
conv2d-h200 auto H200 1 N=1,C=%,H=28,W=28,K=%,R=3,S=3,pad_h=1,pad_w=1
gemm_tc-h200 auto H200 1 M=%,N=%,K=%
EOF
RANDOM=1
while read -r model quality device emulated form; do
    for ((i = 0; i < 50; ++i)); do
        problem=
        for ((at = 0; at < ${#form}; ++at)); do
            character=${form:at:1}
            [ "$character" != % ] || character=$((1 + RANDOM % 4096))
            problem+=$character
        done
        echo "$problem"
    done >"$work/$model-$quality.50"
    head -"$emulated" "$work/$model-$quality.50" >"$work/$model-$quality.some"
    head -5 "$work/$model-$quality.50" >"$work/$model-$quality.5"
    echo "models/$model --quality $quality --device $device $model-$quality" >>"$work/asked"
done <"$work/models"

# asks all models for so many problems by a way to run the program, into a file
answers() {
    local into=$1 count=$2 threads=$3 model rest name
    shift 3
    while read -r model rest; do
        name=${rest##* } rest=${rest% *}
        # shellcheck disable=SC2086
        "$@" "$program" predict "$model" "$work/$name.$count" $rest --top 3 --json --threads "$threads" 2>"$work/log" \
            || { tail -3 "$work/log" >&2; exit 1; }
    done <"$work/asked" >"$into"
}
vectors=$(grep -om1 avx512f /proc/cpuinfo || grep -om1 avx2 /proc/cpuinfo || echo "no AVX2")
echo "hosts: this processor has $vectors"
answers "$work/here" 50 1
lines=$(wc -l <"$work/here")
[ "$lines" = 300 ] || { echo "hosts: $lines answers instead of 300" >&2; exit 1; }
status=0
compare() {
    local differ all
    all=$(wc -l <"$work/there")
    differ=$(comm -13 <(sort "$work/here") <(sort "$work/there") | wc -l)
    echo "hosts: $1: $differ of $all answers differ"
    [ "$differ" = 0 ] && [ "$all" -gt 10 ] || status=1
}
answers "$work/there" 50 4
compare "four threads"
# one problem at a time
while read -r model rest; do
    name=${rest##* } rest=${rest% *}
    while read -r problem; do
        # shellcheck disable=SC2086
        "$program" predict "$model" "$problem" $rest --top 3 --json 2>/dev/null
    done <"$work/$name.5"
done <"$work/asked" >"$work/there"
compare "one problem at a time"
for cpu in Haswell Nehalem; do
    answers "$work/there" some 1 "$qemu" -cpu "$cpu"
    compare "an emulated $cpu ($([ $cpu = Haswell ] && echo "AVX2 and FMA" || echo "neither AVX nor FMA"))"
done
# aarch64, by a program of its own on both processors
other=aarch64-unknown-linux-musl
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if [ -z "$emulator" ] || ! rustup target add $other >"$work/log" 2>&1; then
    echo "skipped: an emulated aarch64; it takes qemu-aarch64 and \`rustup target add $other\`"
    exit $status
fi
build=(cargo build --quiet -p seqtune-predict --example answers)
"${build[@]}"
# the compiler's own linker: there is no compiler for C of that processor
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld "${build[@]}" --target $other
built=${CARGO_TARGET_DIR:-target}
bits() {
    while read -r model quality device count _; do
        "$@" "models/$model" "$quality" "$device" "$work/$model-$quality.some"
    done <"$work/models"
}
bits "$built/debug/examples/answers" >"$work/here"
bits "$emulator" "$built/$other/debug/examples/answers" >"$work/there"
compare "an emulated aarch64"
exit $status
